// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/figures.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clean.h"

static double number_in(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static void copy_name(const json_t *o, const char *key, char out[FIGURES_NAME + 1])
{
	const char *s = json_string_value(json_object_get(o, key));

	snprintf(out, FIGURES_NAME + 1, "%.*s", (int)FIGURES_NAME, s ? s : "");
}

static void take_function(struct figures *f, const json_t *o)
{
	double self = number_in(o, "self");
	unsigned at = f->top_count;

	if (!(self > 0))
		return;
	while (at && f->top[at - 1].self < self)
		at--;
	if (at == FIGURES_TOP) {
		f->other += self;
		return;
	}
	if (f->top_count == FIGURES_TOP)
		f->other += f->top[--f->top_count].self;
	memmove(&f->top[at + 1], &f->top[at], (f->top_count - at) * sizeof(f->top[0]));
	f->top_count++;
	copy_name(o, "name", f->top[at].function);
	copy_name(o, "object", f->top[at].object);
	f->top[at].self = self;
}

int figures_take(const char *json, size_t len, struct figures *f)
{
	json_t *all = json_loadb(json, len, 0, NULL), *functions = json_object_get(all, "functions"), *o;
	size_t i;

	memset(f, 0, sizeof(*f));
	if (!json_is_array(functions)) {
		json_decref(all);
		return -EINVAL;
	}
	f->known = true;
	f->samples = number_in(all, "samples");
	f->lost = number_in(all, "lost");
	f->seconds = number_in(all, "duration_ns") / 1e9;
	f->slowdown = number_in(json_object_get(all, "cost"), "target_slowdown");
	json_array_foreach(functions, i, o) take_function(f, o);
	json_decref(all);
	return 0;
}

/* Names are a target's: what cannot be shown, or is half a character because a name was cut, is '?'. */
void figures_label(const char *text, struct buf *out)
{
	AUTO_BUF(clean);

	clean_add(&clean, text, CLEAN_TEXT);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '"' || clean.data[i] == '\\')
			buf_addch(out, '\\');
		buf_addch(out, clean.data[i]);
	}
}

void figures_value(double v, struct buf *out)
{
	if (isnan(v))
		buf_addstr(out, "NaN");
	else
		buf_addf(out, "%.9g", v);
}
