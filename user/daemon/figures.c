// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/figures.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clean.h"

#define NS 1e-9 /* a nanosecond, in seconds */

static double number_in(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *text_in(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void set_row_name(struct figures_row *row, unsigned which, const char *text)
{
	snprintf(row->name[which], sizeof(row->name[which]), "%.*s", (int)FIGURES_NAME, text);
}

/* ---- the ten largest */

static unsigned find_named(const struct figures_top *t, const struct figures_row *row)
{
	unsigned i = 0;

	while (i < t->count && memcmp(t->at[i].name, row->name, sizeof(row->name)))
		i++;
	return i;
}

static void take_out(struct figures_top *t, unsigned at)
{
	t->count--;
	memmove(&t->at[at], &t->at[at + 1], (t->count - at) * sizeof(t->at[0]));
}

/* Two of one name, static functions of two files, are one series: the first `sums` values are added. */
static void take_top_row(struct figures_top *t, const struct figures_row *given, unsigned sums)
{
	struct figures_row row = *given;
	unsigned same = find_named(t, &row), at;

	if (same < t->count) {
		for (unsigned i = 0; i < sums; i++)
			row.v[i] += t->at[same].v[i];
		take_out(t, same);
	}
	for (at = t->count; at && t->at[at - 1].v[0] < row.v[0]; at--)
		;
	if (at == FIGURES_TOP) {
		t->other += row.v[0];
		return;
	}
	if (t->count == FIGURES_TOP)
		t->other += t->at[--t->count].v[0];
	memmove(&t->at[at + 1], &t->at[at], (t->count - at) * sizeof(t->at[0]));
	t->count++;
	t->at[at] = row;
}

/* ---- what each command prints */

static void take_function(struct figures *f, const json_t *o)
{
	struct figures_row row = { .v = { [OF_FUNCTION_SELF] = number_in(o, "self") } };

	set_row_name(&row, 0, text_in(o, "name"));
	set_row_name(&row, 1, text_in(o, "object"));
	if (row.v[0] > 0)
		take_top_row(&f->top[FIGURES_FUNCTIONS], &row, 1);
}

static void take_edge(struct figures *f, const json_t *o)
{
	static const char *const names[FIGURES_NAMES] = { "producer", "producer_object", "consumer",
							  "consumer_object" };
	struct figures_row row = {
		.v = { [OF_EDGE_SHARE] = number_in(o, "share"), [OF_EDGE_RATE] = number_in(o, "bytes") / f->seconds }
	};

	for (unsigned i = 0; i < FIGURES_NAMES; i++)
		set_row_name(&row, i, text_in(o, names[i]));
	if (row.v[0] >= FIGURES_FLOOR)
		take_top_row(&f->top[FIGURES_EDGES], &row, 2);
	else if (row.v[0] > 0)
		f->top[FIGURES_EDGES].other += row.v[0];
}

static void take_call(struct figures *f, const json_t *o)
{
	static const char *const names[FIGURES_NAMES] = { "api", "name", "library", "variant" };
	const json_t *time = json_object_get(o, "time_ns");
	struct figures_row row = { .v = { [OF_CALLS_RATE] = number_in(o, "calls") / f->seconds,
					  [OF_CALLS_IN] = number_in(o, "bytes_in_estimate") / f->seconds,
					  [OF_CALLS_OUT] = number_in(o, "bytes_out_estimate") / f->seconds,
					  [OF_CALLS_MEAN] = number_in(time, "mean") * NS,
					  [OF_CALLS_P99] = number_in(time, "p99") * NS,
					  [OF_CALLS_CPU] = number_in(o, "cpu_share"),
					  [OF_CALLS_FAILED] = number_in(o, "failed") / f->seconds } };

	for (unsigned i = 0; i < FIGURES_NAMES; i++)
		set_row_name(&row, i, text_in(o, names[i]));
	if (row.v[0] > 0)
		take_top_row(&f->top[FIGURES_CALLS], &row, 1);
}

/* What was fitted to calls; o and L are times, L a byte's where the kind says so. */
static void take_fit(struct figures *f, const json_t *o)
{
	const json_t *p = json_object_get(o, "params");
	struct figures_row row = { .v = { [OF_FIT_CALLS] = number_in(o, "accelerated_calls"),
					  [OF_FIT_O] = number_in(p, "o") * NS,
					  [OF_FIT_L] = number_in(p, "L") * NS,
					  [OF_FIT_A] = number_in(p, "A"),
					  [OF_FIT_BETA] = number_in(p, "beta"),
					  [OF_FIT_FROM] = number_in(o, "from"),
					  [OF_FIT_ERROR] = number_in(o, "fit_error") } };

	set_row_name(&row, 0, text_in(o, "api"));
	set_row_name(&row, 1, text_in(o, "name"));
	set_row_name(&row, 2, text_in(p, "kind"));
	if (json_is_object(p) && row.v[0] > 0)
		take_top_row(&f->top[FIGURES_FITS], &row, 1);
}

/* The verdict of its best option stands for a candidate; one without options is none, which has a reason. */
static void take_candidate(struct figures *f, const json_t *o)
{
	const json_t *best = json_array_get(json_object_get(o, "options"), 0);
	const json_t *gain = json_object_get(best, "process_speedup");
	struct figures_row verdict = { .v = { [OF_VERDICT_COUNT] = 1 } };
	struct figures_row row = { .v = { [OF_GAIN_PROCESS] = number_in(gain, "value"),
					  [OF_GAIN_LOW] = number_in(gain, "low"),
					  [OF_GAIN_HIGH] = number_in(gain, "high") } };

	set_row_name(&verdict, 0, best ? text_in(best, "verdict") : "none");
	take_top_row(&f->top[FIGURES_VERDICTS], &verdict, 1);
	set_row_name(&row, 0, text_in(o, "name"));
	set_row_name(&row, 1, text_in(best, "accelerator"));
	set_row_name(&row, 2, text_in(best, "verdict"));
	if (row.v[0] > 0)
		take_top_row(&f->top[FIGURES_GAINS], &row, 0);
}

static void take_each(struct figures *f, const json_t *rows, void (*take)(struct figures *f, const json_t *o))
{
	const json_t *o;
	size_t i;

	json_array_foreach(rows, i, o) take(f, o);
}

static void take_numbers_of_report(struct figures *f, const json_t *all)
{
	*f = (struct figures){ .samples = number_in(all, "samples"),
			       .lost = number_in(all, "lost"),
			       .seconds = number_in(all, "duration_ns") * NS,
			       .slowdown = number_in(json_object_get(all, "cost"), "target_slowdown"),
			       .loads = NAN,
			       .windows = NAN };
}

int figures_take(struct figures *f, enum figures_source source, const char *json, size_t len)
{
	static const char *const rows[FIGURES_SOURCES] = { "functions", "edges", "calls", "candidates" };
	json_t *all = json_loadb(json, len, 0, NULL), *sampled = json_object_get(all, "samples");

	if (source == FIGURES_REPORT)
		take_numbers_of_report(f, all);
	if (!json_is_array(json_object_get(all, rows[source]))) {
		json_decref(all);
		return -EINVAL;
	}
	f->known[source] = true;
	snprintf(f->trust[source], sizeof(f->trust[source]), "%s", text_in(json_object_get(all, "trust"), "mark"));
	if (source == FIGURES_FLOW) {
		f->loads = number_in(sampled, "loads");
		f->windows = number_in(sampled, "windows");
	}
	take_each(f, json_object_get(all, rows[source]),
		  source == FIGURES_REPORT    ? take_function
		  : source == FIGURES_FLOW    ? take_edge
		  : source == FIGURES_OFFLOAD ? take_call
					      : take_candidate);
	if (source == FIGURES_OFFLOAD)
		take_each(f, json_object_get(all, "verdicts"), take_fit);
	json_decref(all);
	return 0;
}

/* ---- as OpenMetrics writes them */

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
