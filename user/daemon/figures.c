// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/figures.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/level_name.h"
#include "util/clean.h"
#include "util/member.h"

#define NS 1e-9 /* a nanosecond, in seconds */

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
	struct figures_row row = { .v = { [OF_FUNCTION_SELF] = member_number(o, "self") } };

	set_row_name(&row, 0, member_text(o, "name"));
	set_row_name(&row, 1, member_text(o, "object"));
	if (row.v[0] > 0)
		take_top_row(&f->top[FIGURES_FUNCTIONS], &row, 1);
}

static void take_edge(struct figures *f, const json_t *o)
{
	static const char *const names[FIGURES_NAMES] = { "producer", "producer_object", "consumer",
							  "consumer_object" };
	struct figures_row row = { .v = { [OF_EDGE_SHARE] = member_number(o, "share"),
					  [OF_EDGE_RATE] = member_number(o, "bytes") / f->seconds } };

	for (unsigned i = 0; i < FIGURES_NAMES; i++)
		set_row_name(&row, i, member_text(o, names[i]));
	if (row.v[0] >= FIGURES_FLOOR)
		take_top_row(&f->top[FIGURES_EDGES], &row, 2);
	else if (row.v[0] > 0)
		f->top[FIGURES_EDGES].other += row.v[0];
}

static void take_call(struct figures *f, const json_t *o)
{
	static const char *const names[FIGURES_NAMES] = { "api", "name", "library", "variant" };
	const json_t *time = json_object_get(o, "time_ns");
	struct figures_row row = { .v = { [OF_CALLS_RATE] = member_number(o, "calls") / f->seconds,
					  [OF_CALLS_IN] = member_number(o, "bytes_in_estimate") / f->seconds,
					  [OF_CALLS_OUT] = member_number(o, "bytes_out_estimate") / f->seconds,
					  [OF_CALLS_MEAN] = member_number(time, "mean") * NS,
					  [OF_CALLS_P99] = member_number(time, "p99") * NS,
					  [OF_CALLS_CPU] = member_number(o, "cpu_share"),
					  [OF_CALLS_FAILED] = member_number(o, "failed") / f->seconds } };
	char name[LEVEL_NAME];

	for (unsigned i = 0; i < FIGURES_NAMES; i++)
		set_row_name(&row, i, i == 1 ? level_name(o, name) : member_text(o, names[i]));
	if (row.v[0] > 0)
		take_top_row(&f->top[FIGURES_CALLS], &row, 1);
}

/* What was fitted to calls; o and L are times, L a byte's where the kind says so. */
static void take_fit(struct figures *f, const json_t *o)
{
	const json_t *p = json_object_get(o, "params");
	struct figures_row row = { .v = { [OF_FIT_CALLS] = member_number(o, "accelerated_calls"),
					  [OF_FIT_O] = member_number(p, "o") * NS,
					  [OF_FIT_L] = member_number(p, "L") * NS,
					  [OF_FIT_A] = member_number(p, "A"),
					  [OF_FIT_BETA] = member_number(p, "beta"),
					  [OF_FIT_FROM] = member_number(o, "from"),
					  [OF_FIT_ERROR] = member_number(o, "fit_error") } };

	set_row_name(&row, 0, member_text(o, "api"));
	set_row_name(&row, 1, member_text(o, "name"));
	set_row_name(&row, 2, member_text(p, "kind"));
	if (json_is_object(p) && row.v[0] > 0)
		take_top_row(&f->top[FIGURES_FITS], &row, 1);
}

/* The verdict of its best option stands for a candidate; one without options is none, which has a reason. */
static void take_candidate(struct figures *f, const json_t *o)
{
	const json_t *best = json_array_get(json_object_get(o, "options"), 0);
	const json_t *gain = json_object_get(best, "process_speedup");
	struct figures_row verdict = { .v = { [OF_VERDICT_COUNT] = 1 } };
	char name[LEVEL_NAME];
	struct figures_row row = { .v = { [OF_GAIN_PROCESS] = member_number(gain, "value"),
					  [OF_GAIN_LOW] = member_number(gain, "low"),
					  [OF_GAIN_HIGH] = member_number(gain, "high") } };

	set_row_name(&verdict, 0, best ? member_text(best, "verdict") : "none");
	take_top_row(&f->top[FIGURES_VERDICTS], &verdict, 1);
	set_row_name(&row, 0, level_name(o, name));
	set_row_name(&row, 1, member_text(best, "accelerator"));
	set_row_name(&row, 2, member_text(best, "verdict"));
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
	*f = (struct figures){ .samples = member_number(all, "samples"),
			       .lost = member_number(all, "lost"),
			       .seconds = member_number(all, "duration_ns") * NS,
			       .slowdown = member_number(json_object_get(all, "cost"), "target_slowdown"),
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
	snprintf(f->trust[source], sizeof(f->trust[source]), "%s", member_text(json_object_get(all, "trust"), "mark"));
	if (source == FIGURES_FLOW) {
		f->loads = member_number(sampled, "loads");
		f->windows = member_number(sampled, "windows");
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
