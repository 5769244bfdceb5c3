// SPDX-License-Identifier: GPL-2.0-or-later
/* Where in a catalogue's text something stands. jansson keeps no positions, so a walk over the text finds them. */
#include "model/catalogue_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct catalogue_where_walk {
	const char *at, *end;
};

static void blanks(struct catalogue_where_walk *w)
{
	while (w->at < w->end && strchr(" \t\r\n", *w->at) && *w->at)
		w->at++;
}

static void skip_string(struct catalogue_where_walk *w)
{
	w->at++;
	while (w->at < w->end && *w->at != '"')
		w->at += *w->at == '\\' && w->end - w->at > 1 ? 2 : 1;
	if (w->at < w->end)
		w->at++;
}

/* Past one value: a string, or what brackets enclose, or up to what ends a number or word. */
static void value(struct catalogue_where_walk *w)
{
	unsigned depth = 0;

	blanks(w);
	do {
		if (w->at >= w->end)
			return;
		if (*w->at == '"') {
			skip_string(w);
		} else if (strchr("[{", *w->at) && *w->at) {
			depth++;
			w->at++;
		} else if (depth == 0 && strchr(",]} \t\r\n", *w->at)) {
			return;
		} else {
			depth -= *w->at == ']' || *w->at == '}';
			w->at++;
			if (depth == 0 && strchr("]}", w->at[-1]))
				return;
			continue;
		}
		if (depth == 0)
			return;
	} while (1);
}

/* From the start of an object or array to the value of a step; false: it is not there, w stays. */
static bool enter_level(struct catalogue_where_walk *w, const char *step, size_t len)
{
	struct catalogue_where_walk in = *w;
	bool object;
	unsigned long index = strtoul(step, NULL, 10);

	blanks(&in);
	if (in.at >= in.end || (*in.at != '{' && *in.at != '['))
		return false;
	object = *in.at++ == '{';
	for (unsigned long i = 0;; i++) {
		bool here = i == index;

		blanks(&in);
		if (in.at >= in.end || *in.at == '}' || *in.at == ']')
			return false;
		if (object) {
			const char *key = in.at + 1;

			skip_string(&in);
			here = (size_t)(in.at - 1 - key) == len && !memcmp(key, step, len);
			blanks(&in);
			in.at += in.at < in.end; /* the colon */
			blanks(&in);
		}
		if (here) {
			*w = in;
			return true;
		}
		value(&in);
		blanks(&in);
		if (in.at < in.end && *in.at == ',')
			in.at++;
	}
}

/* Line and column, from 1, of entry `entry`'s member at `path` ("offload.o", "thresholds.2"; "": the entry), or of the
 * deepest part of the path that is there. The text has been parsed: it is well-formed. */
static void catalogue_where(const struct catalogue_text *t, const char *path, unsigned *line, unsigned *column)
{
	struct catalogue_where_walk w = { t->text, t->text + t->len };
	char index[24];
	const char *start = t->text;

	snprintf(index, sizeof(index), "%zu", t->entry);
	if (enter_level(&w, "accelerators", 12) && enter_level(&w, index, strlen(index)))
		while (*path) {
			size_t len = strcspn(path, ".");

			if (!enter_level(&w, path, len))
				break;
			path += len + (path[len] == '.');
		}
	blanks(&w);
	*line = 1;
	for (const char *p = t->text; p < w.at; p++)
		if (*p == '\n') {
			++*line;
			start = p + 1;
		}
	*column = (unsigned)(w.at - start) + 1;
}

int catalogue_wrong(const struct catalogue_text *t, struct err *e, const char *path, const char *fmt, ...)
{
	unsigned line, column;
	char text[480];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	catalogue_where(t, path, &line, &column);
	return err_set(e, -EINVAL, "line %u, column %u: %s", line, column, text);
}
