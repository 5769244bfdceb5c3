// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile as rows of ClickHouse's tables: which tables there are, and what of the profile goes into each. */
#include "daemon/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clickhouse.h"
#include "daemon/level_name.h"
#include "util/grow.h"
#include "util/labels.h"
#include "util/member.h"

#define STACKS_MOST 300u /* of a profile, the largest: what a flame graph has room for; by hand */
#define LONGEST_NS 1e20  /* of one stack, over all CPUs: more is no time */
#define LONGEST_S 1e9    /* thirty years: no recording lasts so long */

/* The columns that all tables begin with. */
#define KEY "host String, service String, segment String, began DateTime, "
static const struct {
	const char *name, *columns, *order;
} tables[FLEET_TABLES] = {
	[FLEET_FUNCTIONS] = { "accperf_functions",
			      KEY "weight Float64, function String, object String, self Float64, samples Float64",
			      "service, host, segment, function, object" },
	[FLEET_EDGES] = { "accperf_edges",
			  KEY "weight Float64, producer String, consumer String, bytes Nullable(Float64), "
			      "low Nullable(Float64), high Nullable(Float64), share Nullable(Float64)",
			  "service, host, segment, producer, consumer" },
	[FLEET_CALLS] = { "accperf_calls",
			  KEY "weight Float64, api String, name String, library String, variant String, "
			      "calls Nullable(Float64), bytes_in Nullable(Float64), bytes_out Nullable(Float64), "
			      "mean_ns Nullable(Float64), cpu_share Nullable(Float64)",
			  "service, host, segment, api, name, library, variant" },
	[FLEET_CANDIDATES] = { "accperf_candidates",
			       KEY
			       "weight Float64, function String, accelerator String, verdict String, samples Float64, "
			       "saved Float64, low Float64, high Float64",
			       "service, host, segment, function, accelerator" },
	[FLEET_STACKS] = { "accperf_stacks", KEY "weight Float64, stack String, ns Float64",
			   "service, host, segment, stack" },
	[FLEET_SEGMENTS] = { "accperf_segments",
			     KEY
			     "ended DateTime, weight Float64, samples Float64, lost Nullable(Float64), unit String, "
			     "container String, pod String",
			     "service, host, segment" },
};

const char *fleet_table_name(enum fleet_table t)
{
	return tables[t].name;
}

void fleet_insert(enum fleet_table t, struct buf *out)
{
	const char *at = tables[t].columns;

	buf_addf(out, "INSERT INTO %s (", tables[t].name);
	while (*at) { /* a name and a type each */
		size_t name = strcspn(at, " ");

		buf_addf(out, "%.*s", (int)name, at);
		at += name;
		at += strcspn(at, ",");
		if (*at)
			buf_addstr(out, ", ");
		at += strspn(at, ", ");
	}
	buf_addstr(out, ") FORMAT TabSeparated");
}

void fleet_schema(const char *cluster, struct buf *out)
{
	for (unsigned t = 0; t < FLEET_TABLES; t++) {
		buf_addf(
			out,
			"CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMM(began) "
			"ORDER BY (%s);\n\n",
			tables[t].name, tables[t].columns, tables[t].order);
		if (cluster)
			buf_addf(
				out,
				"CREATE TABLE IF NOT EXISTS %s_all AS %s ENGINE = Distributed('%s', currentDatabase(), %s, "
				"cityHash64(host));\n\n",
				tables[t].name, tables[t].name, cluster, tables[t].name);
	}
	/* the same rows by function and time, for a function's history over all hosts */
	buf_addstr(out, "CREATE MATERIALIZED VIEW IF NOT EXISTS accperf_history ENGINE = ReplacingMergeTree() "
			"PARTITION BY toYYYYMM(began) ORDER BY (function, object, service, began, host, segment) AS "
			"SELECT function, object, service, began, host, segment, weight, self, samples FROM "
			"accperf_functions;\n\n");
}

/* ---- rows */

static void number_field(struct buf *out, double v)
{
	if (isfinite(v))
		buf_addf(out, "\t%.17g", v);
	else
		buf_addstr(out, "\t\\N");
}

static void text_field(struct buf *out, const char *text)
{
	buf_addch(out, '\t');
	clickhouse_field(text, out);
}

struct row_head {
	const struct fleet_segment *s;
	int64_t began;
	double weight;
};

static void open_row(const struct row_head *h, struct buf *out)
{
	clickhouse_field(h->s->host, out);
	text_field(out, h->s->service);
	text_field(out, h->s->segment);
	buf_addf(out, "\t%" PRId64, h->began);
}

static void rows_of_functions(const struct row_head *h, const json_t *report, struct buf *out)
{
	double samples = member_number(report, "samples");
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "functions"), i, o)
	{
		double self = member_number(o, "self");

		if (!(self > 0))
			continue;
		open_row(h, out);
		number_field(out, h->weight);
		text_field(out, member_text(o, "name"));
		text_field(out, member_text(o, "object"));
		number_field(out, self);
		number_field(out, isfinite(samples) ? self * samples : 0);
		buf_addch(out, '\n');
	}
}

static void rows_of_edges(const struct row_head *h, const json_t *flow, struct buf *out)
{
	static const char *const figures[] = { "bytes", "low", "high", "share" };
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(flow, "edges"), i, o)
	{
		open_row(h, out);
		number_field(out, h->weight);
		text_field(out, member_text(o, "producer"));
		text_field(out, member_text(o, "consumer"));
		for (unsigned k = 0; k < 4; k++)
			number_field(out, member_number(o, figures[k]));
		buf_addch(out, '\n');
	}
}

static void rows_of_calls(const struct row_head *h, const json_t *offload, struct buf *out)
{
	static const char *const texts[] = { "api", "name", "library", "variant" };
	static const char *const figures[] = { "calls", "bytes_in", "bytes_out" };
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(offload, "calls"), i, o)
	{
		open_row(h, out);
		number_field(out, h->weight);
		for (unsigned k = 0; k < 4; k++)
			text_field(out, member_text(o, texts[k]));
		for (unsigned k = 0; k < 3; k++)
			number_field(out, member_number(o, figures[k]));
		number_field(out, member_number(json_object_get(o, "time_ns"), "mean"));
		number_field(out, member_number(o, "cpu_share"));
		buf_addch(out, '\n');
	}
}

/* Of S times as fast this is saved. */
static double saved_by(const json_t *speedup, const char *key)
{
	double s = member_number(speedup, key);

	return s > 0 ? 1 - 1 / s : NAN;
}

/* Its best option stands for a candidate, as in /metrics. */
static void rows_of_candidates(const struct row_head *h, const json_t *advice, double samples, struct buf *out)
{
	char name[LEVEL_NAME];
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(advice, "candidates"), i, o)
	{
		const json_t *best = json_array_get(json_object_get(o, "options"), 0);
		const json_t *gain = json_object_get(best, "process_speedup");
		double saved = saved_by(gain, "value"), low = saved_by(gain, "low"), high = saved_by(gain, "high");

		if (!isfinite(saved) || !isfinite(low) || !isfinite(high))
			continue;
		open_row(h, out);
		number_field(out, h->weight);
		text_field(out, level_name(o, name));
		text_field(out, member_text(best, "accelerator"));
		text_field(out, member_text(best, "verdict"));
		number_field(out, isfinite(samples) ? samples : 0);
		number_field(out, saved);
		number_field(out, low);
		number_field(out, high);
		buf_addch(out, '\n');
	}
}

struct folded {
	const char *at;
	size_t len;
	double ns;
};

static int by_ns(const void *a, const void *b)
{
	double x = ((const struct folded *)a)->ns, y = ((const struct folded *)b)->ns;

	return (x < y) - (x > y);
}

static void stack_row(const struct row_head *h, const char *stack, double ns, struct buf *out)
{
	open_row(h, out);
	number_field(out, h->weight);
	text_field(out, stack);
	number_field(out, ns);
	buf_addch(out, '\n');
}

/* text: lines of "frame;frame nanoseconds". */
static int rows_of_stacks(const struct row_head *h, const char *text, struct buf *out)
{
	struct folded *all = NULL;
	size_t count = 0, cap = 0;
	double rest = 0;

	for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
		const char *space = memrchr(at, ' ', (size_t)(end - at));
		struct folded one = { at, space ? (size_t)(space - at) : 0, space ? strtod(space, NULL) : 0 };

		if (one.len && one.ns > 0 && one.ns < LONGEST_NS && !PUSH(all, count, cap, 256, one)) {
			free(all);
			return -ENOMEM;
		}
	}
	if (count)
		qsort(all, count, sizeof(*all), by_ns);
	for (size_t i = 0; i < count; i++) {
		AUTO_BUF(stack);

		if (i >= STACKS_MOST) {
			rest += all[i].ns;
			continue;
		}
		buf_add(&stack, all[i].at, all[i].len);
		buf_addch(&stack, 0);
		if (!buf_failed(&stack))
			stack_row(h, stack.data, all[i].ns, out);
	}
	free(all);
	if (rest > 0)
		stack_row(h, "[other]", rest, out);
	return 0;
}

/* 0: not known, or longer than any recording. */
static double seconds_of(const json_t *report)
{
	double s = member_number(report, "duration_ns") / 1e9;

	return s > 0 && s < LONGEST_S ? s : 0;
}

int fleet_rows(const struct fleet_segment *s, const char *const text[FLEET_TEXTS], struct buf rows[FLEET_TABLES],
	       struct err *e)
{
	json_t *told[FLEET_OF_STACKS];
	const json_t *r, *labels;
	struct row_head h;
	double seconds, samples;
	struct buf *segment = &rows[FLEET_SEGMENTS];

	for (unsigned i = 0; i < FLEET_OF_STACKS; i++)
		told[i] = json_loads(text[i], 0, NULL);
	r = told[FLEET_OF_REPORT];
	labels = json_object_get(r, "labels");
	seconds = seconds_of(r);
	samples = member_number(r, "samples");
	h = (struct row_head){ s, s->ended - (int64_t)seconds,
			       labels_weight(member_text(labels, LABELS_RESTED), s->segment, seconds) };
	if (!json_is_array(json_object_get(r, "functions"))) {
		err_set(e, -EINVAL, "%s is no profile that report can read", s->segment);
	} else {
		rows_of_functions(&h, r, &rows[FLEET_FUNCTIONS]);
		rows_of_edges(&h, told[FLEET_OF_FLOW], &rows[FLEET_EDGES]);
		rows_of_calls(&h, told[FLEET_OF_OFFLOAD], &rows[FLEET_CALLS]);
		rows_of_candidates(&h, told[FLEET_OF_ADVISE], samples, &rows[FLEET_CANDIDATES]);
		if (rows_of_stacks(&h, text[FLEET_OF_STACKS], &rows[FLEET_STACKS]))
			err_set(e, -ENOMEM, "out of memory");
		open_row(&h, segment);
		buf_addf(segment, "\t%" PRId64, s->ended);
		number_field(segment, h.weight);
		number_field(segment, isfinite(samples) ? samples : 0);
		number_field(segment, member_number(r, "lost"));
		text_field(segment, member_text(labels, "unit"));
		text_field(segment, member_text(labels, "container"));
		text_field(segment, member_text(labels, "pod"));
		buf_addch(segment, '\n');
	}
	for (unsigned i = 0; i < FLEET_OF_STACKS; i++)
		json_decref(told[i]);
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		if (buf_failed(&rows[t]))
			err_set(e, -ENOMEM, "out of memory");
	return e->code;
}
