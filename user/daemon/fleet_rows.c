// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "daemon/clickhouse.h"
#include "util/labels.h"

#define LONGEST_S 1e9 /* thirty years: no recording lasts so long */

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

static double fleet_figure(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const char *fleet_word(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

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
	double samples = fleet_figure(report, "samples");
	const json_t *o;
	size_t i;

	json_array_foreach(json_object_get(report, "functions"), i, o)
	{
		double self = fleet_figure(o, "self");

		if (!(self > 0))
			continue;
		open_row(h, out);
		number_field(out, h->weight);
		text_field(out, fleet_word(o, "name"));
		text_field(out, fleet_word(o, "object"));
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
		text_field(out, fleet_word(o, "producer"));
		text_field(out, fleet_word(o, "consumer"));
		for (unsigned k = 0; k < 4; k++)
			number_field(out, fleet_figure(o, figures[k]));
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
			text_field(out, fleet_word(o, texts[k]));
		for (unsigned k = 0; k < 3; k++)
			number_field(out, fleet_figure(o, figures[k]));
		number_field(out, fleet_figure(json_object_get(o, "time_ns"), "mean"));
		number_field(out, fleet_figure(o, "cpu_share"));
		buf_addch(out, '\n');
	}
}

/* 0: not known, or longer than any recording. */
static double seconds_of(const json_t *report)
{
	double s = fleet_figure(report, "duration_ns") / 1e9;

	return s > 0 && s < LONGEST_S ? s : 0;
}

int fleet_rows(const struct fleet_segment *s, const char *report, const char *flow, const char *offload,
	       struct buf rows[FLEET_TABLES], struct err *e)
{
	json_t *r = json_loads(report, 0, NULL), *f = json_loads(flow, 0, NULL), *o = json_loads(offload, 0, NULL);
	const json_t *labels = json_object_get(r, "labels");
	double seconds = seconds_of(r), samples = fleet_figure(r, "samples");
	struct row_head h = { s, s->ended - (int64_t)seconds,
			      labels_weight(fleet_word(labels, LABELS_RESTED), s->segment, seconds) };
	struct buf *segment = &rows[FLEET_SEGMENTS];

	if (!json_is_array(json_object_get(r, "functions"))) {
		err_set(e, -EINVAL, "%s is no profile that report can read", s->segment);
	} else {
		rows_of_functions(&h, r, &rows[FLEET_FUNCTIONS]);
		rows_of_edges(&h, f, &rows[FLEET_EDGES]);
		rows_of_calls(&h, o, &rows[FLEET_CALLS]);
		open_row(&h, segment);
		buf_addf(segment, "\t%" PRId64, s->ended);
		number_field(segment, h.weight);
		number_field(segment, isfinite(samples) ? samples : 0);
		number_field(segment, fleet_figure(r, "lost"));
		text_field(segment, fleet_word(labels, "unit"));
		text_field(segment, fleet_word(labels, "container"));
		text_field(segment, fleet_word(labels, "pod"));
		buf_addch(segment, '\n');
	}
	json_decref(r);
	json_decref(f);
	json_decref(o);
	for (unsigned t = 0; t < FLEET_TABLES; t++)
		if (buf_failed(&rows[t]))
			err_set(e, -ENOMEM, "out of memory");
	return e->code;
}
