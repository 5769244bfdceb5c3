// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/compare.h"

#include <math.h>
#include <string.h>

#include "util/json.h"
#include "view/schema.h"

static void add_label(struct buf *out, const char *text)
{
	buf_addf(out, "  %-30s", text);
}

static void add_distance(struct buf *out, double v)
{
	if (isnan(v))
		buf_addstr(out, "unknown");
	else
		buf_addf(out, "%.4f", v);
}

static void add_percent_or_unknown(struct buf *out, double v)
{
	if (isnan(v))
		buf_addstr(out, "unknown");
	else
		buf_addf(out, "%.1f %%", 100 * v);
}

static void head(const struct compare_view *v, struct buf *out)
{
	const struct flow_compare *c = v->result;

	buf_addf(out, "Flow in %s semantics, stack %sd\n", flow_semantics_str(v->truth->semantics),
		 flow_stack_str(v->truth->stack));
	buf_addstr(out, "  true:      ");
	text_name(out, v->truth_path, 0, 0);
	buf_addf(out, " (%s)\n", flow_engine_str(v->truth->engine));
	buf_addstr(out, "  estimated: ");
	text_name(out, v->estimate_path, 0, 0);
	buf_addf(out, " (%s%s)\n\n", flow_engine_str(v->estimate->engine),
		 v->estimate->time_bias ? ", weighted by time" : "");
	programs_text(&v->programs, out);
	add_label(out, "bytes");
	buf_addstr(out, "true ");
	text_amount(out, flow_amount(v->truth, c->true_bytes), 0);
	buf_addstr(out, ", estimated ");
	text_amount(out, flow_amount(v->estimate, c->estimated_bytes), 0);
	if (flow_has_amounts(v->truth) && flow_has_amounts(v->estimate))
		buf_addf(out, " (x %.3f)\n", c->estimated_bytes / c->true_bytes);
	else
		buf_addstr(out, "; ?: how fast the code ran was not measured\n");
}

static void measures(const struct flow_compare *c, struct buf *out)
{
	add_label(out, "total variation");
	add_distance(out, c->tv);
	buf_addstr(out, "  without self edges ");
	add_distance(out, c->tv_off);
	buf_addch(out, '\n');
	add_label(out, "largest true edges found");
	buf_addf(out, "%u of %u, %u of %u\n", c->top5.found, c->top5.top, c->top10.found, c->top10.top);
	add_label(out, "error where 90 % of bytes go");
	buf_addstr(out, "median ");
	add_percent_or_unknown(out, c->rel90);
	buf_addstr(out, ", worst ");
	add_percent_or_unknown(out, c->worst90);
	buf_addf(out, " (%u edges)\n", c->rel90_edges);
	add_label(out, "rank correlation");
	buf_addstr(out, "IN ");
	add_distance(out, c->spearman_in);
	buf_addf(out, " (%u functions), OUT ", c->ranked_in);
	add_distance(out, c->spearman_out);
	buf_addf(out, " (%u)\n", c->ranked_out);
	add_label(out, "intervals that hold the truth");
	if (c->coverable)
		buf_addf(out, "%u of the %u largest\n", c->covered, c->coverable);
	else
		buf_addstr(out, "no intervals\n");
	add_label(out, "unresolved, missed, invented");
	buf_addf(out, "%u, %u, %u\n", c->unresolved, c->missed, c->invented);
	if (c->uma_functions) {
		add_label(out, "IN UMA within a factor of 2");
		add_percent_or_unknown(out, c->uma_within2);
		buf_addf(out, " of %u functions", c->uma_functions);
		if (c->uma_arrays && c->uma_arrays < c->uma_functions) {
			buf_addstr(out, ", ");
			add_percent_or_unknown(out, c->uma_arrays_within2);
			buf_addf(out, " of %u with arrays", c->uma_arrays);
		}
		buf_addch(out, '\n');
		if (c->uma_bounds) {
			add_label(out, "of them lower bounds, that hold");
			buf_addf(out, "%u, ", c->uma_bounds);
			add_percent_or_unknown(out, c->uma_bounds_held);
			buf_addch(out, '\n');
		}
	}
}

static bool pair_shown(const struct compare_view *v, const struct compare_pair *p)
{
	const struct compare_name *a = &v->result->names[p->producer], *b = &v->result->names[p->consumer];

	return filter_code(v->filtered.by, a->name, a->object) || filter_code(v->filtered.by, b->name, b->object);
}

/* With what the edges that are listed have of it. */
static struct filtered filtered_of(const struct compare_view *v)
{
	struct filtered f = v->filtered;
	double part = 0;

	for (size_t i = 0; i < v->result->pair_count; i++)
		part += pair_shown(v, &v->result->pairs[i]) ? v->result->pairs[i].truth : 0;
	f.shown *= part;
	return f;
}

void compare_text(const struct compare_view *v, const struct text_style *style, struct buf *out)
{
	const struct flow_compare *c = v->result;
	const struct filtered filtered = filtered_of(v);
	unsigned room = style->width > 60 ? (style->width - 36) / 2 : style->width ? 16 : 0;
	size_t shown = 0;

	filtered_text(&filtered, "", style, out);
	head(v, out);
	measures(c, out);
	for (size_t i = 0; i < c->pair_count && shown < v->offenders; i++) {
		const struct compare_pair *p = &c->pairs[i];

		if (p->estimate == p->truth) /* so are all that follow */
			break;
		if (!pair_shown(v, p))
			continue;
		if (!shown++) {
			buf_addch(out, '\n');
			text_hue_on(out, style, TEXT_BOLD);
			buf_addstr(out, "     true  estimated       off  producer -> consumer");
			text_hue_off(out, style, TEXT_BOLD);
			buf_addch(out, '\n');
		}
		buf_addf(out, "  %6.2f%%   %7.2f%%  %+7.2f%%  ", 100 * p->truth, 100 * p->estimate,
			 100 * (p->estimate - p->truth));
		text_name(out, c->names[p->producer].name, room, 0);
		buf_addstr(out, " -> ");
		text_name(out, c->names[p->consumer].name, room, 0);
		buf_addstr(out, p->resolved ? "\n" : " *\n");
	}
	if (c->unresolved && v->offenders)
		buf_addstr(out, "  * unresolved: the estimator's own methods disagree\n");
}

static void found_json(struct json *j, const char *key, struct compare_found f)
{
	json_obj(j, key);
	json_u64(j, "found", f.found);
	json_u64(j, "of", f.top);
	json_end(j);
}

static void pairs_json(const struct compare_view *v, struct json *j)
{
	const struct flow_compare *c = v->result;

	json_arr(j, "offenders");
	for (size_t i = 0, shown = 0; i < c->pair_count && shown < v->offenders; i++) {
		const struct compare_pair *p = &c->pairs[i];

		if (!pair_shown(v, p))
			continue;
		shown++;
		json_obj(j, NULL);
		json_str(j, "producer", c->names[p->producer].name);
		json_str(j, "producer_object", c->names[p->producer].object);
		json_str(j, "consumer", c->names[p->consumer].name);
		json_str(j, "consumer_object", c->names[p->consumer].object);
		json_f64(j, "true", p->truth);
		json_f64(j, "estimated", p->estimate);
		json_f64(j, "low", p->low);
		json_f64(j, "high", p->high);
		json_bool(j, "resolved", p->resolved);
		json_end(j);
	}
	json_end(j);
}

void compare_json(const struct compare_view *v, struct buf *out)
{
	const struct flow_compare *c = v->result;
	const struct filtered filtered = filtered_of(v);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.compare/1");
	json_str(&j, "true_profile", v->truth_path);
	json_str(&j, "estimated_profile", v->estimate_path);
	programs_json(&v->programs, &j);
	filtered_json(&filtered, &j);
	json_str(&j, "true_engine", flow_engine_str(v->truth->engine));
	json_str(&j, "engine", flow_engine_str(v->estimate->engine));
	json_str(&j, "bias", v->estimate->time_bias ? "time" : NULL);
	json_str(&j, "semantics", flow_semantics_str(v->truth->semantics));
	json_str(&j, "stack", flow_stack_str(v->truth->stack));
	json_f64(&j, "true_bytes", flow_amount(v->truth, c->true_bytes));
	json_f64(&j, "estimated_bytes", flow_amount(v->estimate, c->estimated_bytes));
	json_obj(&j, "before_attach");
	json_f64(&j, "true", c->true_before);
	json_f64(&j, "estimated", c->estimated_before);
	json_bool(&j, "one_side", flow_compare_one_began_late(c));
	json_end(&j);
	json_f64(&j, "tv", c->tv);
	json_f64(&j, "tv_off", c->tv_off);
	found_json(&j, "top5", c->top5);
	found_json(&j, "top10", c->top10);
	json_f64(&j, "rel90", c->rel90);
	json_f64(&j, "worst90", c->worst90);
	json_u64(&j, "rel90_edges", c->rel90_edges);
	json_f64(&j, "spearman_in", c->spearman_in);
	json_f64(&j, "spearman_out", c->spearman_out);
	json_obj(&j, "coverage");
	json_f64(&j, "level", c->coverable ? v->estimate->level : NAN);
	json_u64(&j, "covered", c->covered);
	json_u64(&j, "of", c->coverable);
	json_end(&j);
	json_u64(&j, "unresolved", c->unresolved);
	json_u64(&j, "missed", c->missed);
	json_u64(&j, "invented", c->invented);
	json_f64(&j, "uma_within2", c->uma_within2);
	json_u64(&j, "uma_functions", c->uma_functions);
	json_f64(&j, "uma_arrays_within2", c->uma_arrays_within2);
	json_u64(&j, "uma_arrays", c->uma_arrays);
	json_u64(&j, "uma_bounds", c->uma_bounds);
	json_f64(&j, "uma_bounds_held", c->uma_bounds_held);
	pairs_json(v, &j);
	json_end(&j);
	buf_addch(out, '\n');
}

#define SHARE "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
#define RANK "{\"type\":[\"number\",\"null\"],\"minimum\":-1.000001,\"maximum\":1.000001}"
#define FOUND                                                                                                          \
	"{\"type\":\"object\",\"required\":[\"found\",\"of\"],\"properties\":{\"found\":" UINT ",\"of\":" UINT "}}"

const char compare_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.compare/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"semantics\",\"stack\",\"tv\",\"tv_off\",\"top5\",\"top10\",\"rel90\",\"spearman_in\","
	"\"spearman_out\",\"coverage\",\"offenders\"],\"properties\":{\"schema\":{\"const\":\"accperf.compare/1\"}," PROGRAMS_SCHEMA
	"," FILTERED_SCHEMA ",\"true_profile\":" TEXT ",\"estimated_profile\":" TEXT ",\"true_engine\":" TEXT
	",\"engine\":" TEXT ","
	"\"bias\":{\"enum\":[\"time\",null]},\"semantics\":{\"enum\":[\"quad\",\"ke\"]},"
	"\"stack\":{\"enum\":[\"exclude\",\"include\"]},\"true_bytes\":" SHARE ",\"estimated_bytes\":" SHARE ","
	"\"tv\":" SHARE ",\"tv_off\":" SHARE ",\"top5\":" FOUND ",\"top10\":" FOUND ",\"rel90\":" SHARE
	",\"worst90\":" SHARE ","
	"\"rel90_edges\":" UINT ",\"spearman_in\":" RANK ",\"spearman_out\":" RANK ","
	"\"coverage\":{\"type\":\"object\",\"required\":[\"level\",\"covered\",\"of\"],\"properties\":{\"level\":" SHARE
	","
	"\"covered\":" UINT ",\"of\":" UINT "}},\"unresolved\":" UINT ",\"missed\":" UINT ",\"invented\":" UINT ","
	"\"uma_within2\":" SHARE ",\"uma_functions\":" UINT ",\"uma_arrays_within2\":" SHARE ",\"uma_arrays\":" UINT ","
	"\"before_attach\":{\"type\":\"object\",\"properties\":{\"true\":" SHARE ",\"estimated\":" SHARE
	",\"one_side\":{\"type\":\"boolean\"}}},"
	"\"uma_bounds\":" UINT ",\"uma_bounds_held\":" SHARE ","
	"\"offenders\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"producer\",\"consumer\",\"true\","
	"\"estimated\",\"low\",\"high\",\"resolved\"],\"properties\":{\"producer\":" TEXT ",\"producer_object\":" TEXT
	","
	"\"consumer\":" TEXT ",\"consumer_object\":" TEXT ",\"true\":" SHARE ",\"estimated\":" SHARE ","
	"\"low\":{\"type\":[\"number\",\"null\"]},\"high\":{\"type\":[\"number\",\"null\"]},\"resolved\":{\"type\":\"boolean\"}}}}}}";
