// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "util/json.h"
#include "view/flow_diff.h"
#include "view/schema.h"

static bool takes(const struct diff_view *v, const struct diff_row *r)
{
	return filter_code(v->filter, r->a, r->a_object) || (r->b && filter_code(v->filter, r->b, r->b_object));
}

/* Bytes of the edges shown. */
static struct filtered diff_filtered(const struct diff_view *v)
{
	struct filtered out = { .by = v->filter, .of = "bytes", .alone = filter_asks_process(v->filter) };

	for (size_t i = 0; i < v->diff->edge_count; i++)
		if (takes(v, &v->diff->edges[i]))
			out.shown += v->diff->edges[i].other * v->kept;
	if (!v->diff->edge_count)
		out.shown = NAN;
	return out;
}

static void show_diff_rows(const struct diff_view *v, const struct diff_row *r, size_t n, const char *what,
			   const struct text_style *s, struct buf *out)
{
	unsigned shown = 0, name = s->width > 40 ? (s->width - 40) / 2 : 34;
	bool two = n && r[0].b;
	size_t noise = 0, taken = 0;

	if (name > 40)
		name = 40;
	if (!n) {
		buf_addf(out, "%s: neither profile has any\n\n", what);
		return;
	}
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, two ? "writer" : "function (time)", name - 1, name);
	if (two)
		text_name(out, "reader", name - 1, name);
	buf_addstr(out, "    base    other   change        q  verdict");
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < n; i++) {
		bool real = r[i].q <= DIFF_REAL;

		if (!takes(v, &r[i]))
			continue;
		taken++;
		noise += !real;
		if ((!real && !v->all) || shown >= v->rows)
			continue;
		shown++;
		text_name(out, r[i].a, name - 1, name);
		if (two)
			text_name(out, r[i].b, name - 1, name);
		buf_addf(out, "%7.2f%% %7.2f%% %+7.2f%% ", 100 * r[i].base, 100 * r[i].other,
			 100 * (r[i].other - r[i].base));
		if (isnan(r[i].q))
			buf_addstr(out, "       -");
		else
			buf_addf(out, "%8.2g", r[i].q);
		buf_addf(out, "  %s\n", diff_verdict(&r[i]));
	}
	if (!v->all && noise)
		buf_addf(out, "%zu of %zu %s did not change beyond noise%s\n", noise, taken, what,
			 shown ? "" : "; --all lists them");
	buf_addch(out, '\n');
}

void flow_diff_text(const struct diff_view *v, const struct text_style *s, struct buf *out)
{
	const struct flow_diff *d = v->diff;
	struct filtered of = diff_filtered(v);

	text_name(out, v->base, 0, 0);
	buf_addstr(out, " -> ");
	text_name(out, v->other, 0, 0);
	buf_addstr(out, ": bytes ");
	text_amount(out, d->base_total, 0);
	buf_addstr(out, " -> ");
	text_amount(out, d->other_total, 0);
	buf_addf(out, ", the flow changed by %.1f %% (total variation)\n\n", 100 * d->tv);
	programs_text(&v->programs, out);
	if (!isnan(v->seconds))
		buf_addf(out, "Bytes are those of the first %.1f s of the %s, which is longer: the %s has no more.\n\n",
			 v->seconds, v->base_is_longer ? "base" : "other", v->base_is_longer ? "other" : "base");
	filtered_text(&of, "", s, out);
	show_diff_rows(v, d->edges, d->edge_count, "edges", s, out);
	show_diff_rows(v, d->functions, d->function_count, "functions", s, out);
	buf_addstr(out,
		   "Shares of each profile's own total. q: of all changes with at most this q, that share is chance\n"
		   "(Benjamini-Yekutieli; errors of edges from halves of each recording, t tests); real: q <= 0.05.\n");
	if (v->time_bias)
		buf_addstr(out,
			   "Weighted by time: a function that became slower gains share without moving more bytes.\n");
}

static void interval_json(struct json *j, const char *low, const char *high, struct diff_interval of)
{
	json_f64(j, low, of.low);
	json_f64(j, high, of.high);
}

static void json_rows(struct json *j, const char *key, const struct diff_view *v, const struct diff_row *r, size_t n)
{
	json_arr(j, key);
	for (size_t i = 0; i < n; i++) {
		if (!takes(v, &r[i]))
			continue;
		json_obj(j, NULL);
		json_str(j, r[i].b ? "producer" : "name", r[i].a);
		json_str(j, r[i].b ? "producer_object" : "object", r[i].a_object);
		if (r[i].b) {
			json_str(j, "consumer", r[i].b);
			json_str(j, "consumer_object", r[i].b_object);
		}
		json_f64(j, "base", r[i].base);
		interval_json(j, "base_low", "base_high", r[i].of_base);
		json_f64(j, "other", r[i].other);
		interval_json(j, "other_low", "other_high", r[i].of_other);
		interval_json(j, "change_low", "change_high", r[i].of_change);
		json_f64(j, r[i].b ? "base_bytes" : "base_ns", r[i].base_value);
		json_f64(j, r[i].b ? "other_bytes" : "other_ns", r[i].other_value);
		json_f64(j, "error", r[i].error);
		json_f64(j, "z", r[i].z);
		json_f64(j, "p", r[i].p);
		json_f64(j, "q", r[i].q);
		json_str(j, "verdict", diff_verdict(&r[i]));
		json_end(j);
	}
	json_end(j);
}

void flow_diff_json(const struct diff_view *v, struct buf *out)
{
	struct filtered of = diff_filtered(v);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.diff/1");
	json_str(&j, "base", v->base);
	json_str(&j, "other", v->other);
	text_json_labels(&j, "base_labels", v->base_labels);
	text_json_labels(&j, "other_labels", v->other_labels);
	programs_json(&v->programs, &j);
	json_f64(&j, "base_bytes", v->diff->base_total);
	json_f64(&j, "other_bytes", v->diff->other_total);
	json_f64(&j, "tv", v->diff->tv);
	json_f64(&j, "tv_noise", v->diff->tv_noise);
	json_f64(&j, "flow_seconds", v->seconds);
	json_str(&j, "bias", v->time_bias ? "time" : NULL);
	filtered_json(&of, &j);
	json_rows(&j, "edges", v, v->diff->edges, v->diff->edge_count);
	json_rows(&j, "functions", v, v->diff->functions, v->diff->function_count);
	json_end(&j);
	buf_addch(out, '\n');
}

#define INTERVALS                                                                                                      \
	",\"base_low\":" NUM ",\"base_high\":" NUM ",\"other_low\":" NUM ",\"other_high\":" NUM ",\"change_low\":" NUM \
	",\"change_high\":" NUM
const char flow_diff_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.diff/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"base\",\"other\",\"tv\",\"edges\",\"functions\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.diff/1\"},\"base\":{\"type\":\"string\"},\"other\":{\"type\":\"string\"},"
	"\"base_labels\":" LABELS_SCHEMA ",\"other_labels\":" LABELS_SCHEMA "," PROGRAMS_SCHEMA ",\"base_bytes\":" NUM
	",\"other_bytes\":" NUM ",\"tv\":" NUM ",\"tv_noise\":" NUM
	",\"flow_seconds\":{\"type\":[\"number\",\"null\"],\"description\":\"of the longer recording flows are those of its first so many seconds, as many as the shorter one has; null: both are as long\"}"
	",\"bias\":{\"enum\":[\"time\",null]}," FILTERED_SCHEMA ","
	"\"edges\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"producer\",\"consumer\",\"base\",\"other\",\"q\",\"verdict\"],"
	"\"properties\":{\"producer\":{\"type\":\"string\"},\"producer_object\":{\"type\":\"string\"},"
	"\"consumer\":{\"type\":\"string\"},\"consumer_object\":{\"type\":\"string\"},\"base\":" NUM
	",\"other\":" NUM INTERVALS ",\"base_bytes\":" NUM ",\"other_bytes\":" NUM ",\"error\":" NUM ",\"z\":" NUM
	",\"p\":" NUM ",\"q\":" NUM ",\"verdict\":{\"enum\":[\"real\",\"noise\",\"small\",\"unknown\"]}}}},"
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"base\",\"other\",\"q\",\"verdict\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"base\":" NUM
	",\"other\":" NUM INTERVALS ",\"base_ns\":" NUM ",\"other_ns\":" NUM ",\"error\":" NUM ",\"z\":" NUM
	",\"p\":" NUM ",\"q\":" NUM ",\"verdict\":{\"enum\":[\"real\",\"noise\",\"small\",\"unknown\"]}}}}}}";
