// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "util/json.h"
#include "view/schema.h"
#include "view/svg.h"
#include "view/wall.h"

static const double factors[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, INFINITY };
#define FACTORS (sizeof(factors) / sizeof(factors[0]))

static const struct question {
	enum wall_view view;
	const char *name, *text;
} questions[] = {
	{ WALL_MEMORY, "memory", "The memory wall: computation is sped up, communication stays" },
	{ WALL_LOCAL, "local", "Accelerators against the system between them" },
	{ WALL_FUNCTIONS, "functions", "Functions, each with what it computes and reads of its own bytes" },
};
#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

static void show_speedup(struct buf *out, double s, unsigned columns)
{
	char text[32];

	if (isnan(s))
		snprintf(text, sizeof(text), "no limit");
	else
		snprintf(text, sizeof(text), s < 100 ? "%.2f" : "%.0f", s);
	text_pad_left(out, text, columns);
}

#define FIGURES 59 /* columns beside the name */

static unsigned name_columns(const struct text_style *s)
{
	return !s->width || s->width > FIGURES + 46 ? 46 : s->width < FIGURES + 20 ? 20 : s->width - FIGURES;
}

static void show_curve(const struct wall_curve *c, unsigned name, struct buf *out)
{
	static const double columns[] = { 2, 4, 16, 64, INFINITY };
	char text[40];

	text_name(out, c->label, name - 1, name);
	buf_addf(out, "%6.1f%%", 100 * c->share.value);
	if (c->share.high > c->share.low)
		snprintf(text, sizeof(text), "%.1f..%.1f", 100 * c->share.low, 100 * c->share.high);
	else
		snprintf(text, sizeof(text), "exact");
	text_pad_left(out, text, 13);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		show_speedup(out, wall_speedup(c->share.value, columns[i]), i == 4 ? 10 : 7);
	buf_addch(out, '\n');
}

void wall_text(const struct wall_shown *v, const struct text_style *s, struct buf *out)
{
	const struct wall *w = v->wall;
	double all = w->compute.value + w->local.value + w->global.value;

	if (v->trust)
		trust_text(v->trust, "", s, out);
	filtered_text(&v->filtered, "", s, out);
	buf_addf(
		out,
		"Of all cost, %.1f%% is computation, %.1f%% reads of a function's own bytes (local), %.1f%% of others' "
		"(global)\n",
		100 * w->compute.value / all, 100 * w->local.value / all, 100 * w->global.value / all);
	buf_addf(out, "(an arithmetic or logical instruction costs %g, a byte read %g; %s semantics, stack %sd)\n",
		 v->opts->op, v->opts->byte, flow_semantics_str(v->flow->semantics), flow_stack_str(v->flow->stack));
	if (w->unknown)
		buf_addf(out, "what %u functions compute that read bytes is not known: it is left out\n", w->unknown);
	for (size_t q = 0; q < QUESTIONS; q++) {
		if (!(v->views & questions[q].view))
			continue;
		buf_addch(out, '\n');
		text_hue_on(out, s, TEXT_BOLD);
		buf_addf(out, "%s\n", questions[q].text);
		text_name(out, "sped up k times", name_columns(s) - 1, name_columns(s));
		buf_addstr(out, "  share     interval    k=2      4     16     64     limit");
		text_hue_off(out, s, TEXT_BOLD);
		buf_addch(out, '\n');
		for (unsigned i = 0; i < w->count; i++)
			if (w->curves[i].view == questions[q].view)
				show_curve(&w->curves[i], name_columns(s), out);
	}
}

static void range_json(struct json *j, const char *key, struct wall_range r)
{
	json_obj(j, key);
	json_f64(j, "value", r.value);
	json_f64(j, "low", r.low);
	json_f64(j, "high", r.high);
	json_end(j);
}

static void curve_json(struct json *j, const struct flow *f, const struct wall_curve *c)
{
	static const char *const stores[] = { NULL, "private", "shared" };

	json_obj(j, NULL);
	for (size_t q = 0; q < QUESTIONS; q++)
		if (c->view == questions[q].view)
			json_str(j, "view", questions[q].name);
	json_str(j, "label", c->label);
	json_arr(j, "functions");
	for (unsigned i = 0; i < c->function_count; i++)
		json_str(j, NULL, f->funcs[c->functions[i]].name);
	json_end(j);
	json_str(j, "store", stores[c->store]);
	range_json(j, "share", c->share);
	range_json(j, "limit",
		   (struct wall_range){ wall_speedup(c->share.value, INFINITY), wall_speedup(c->share.low, INFINITY),
					wall_speedup(c->share.high, INFINITY) });
	json_arr(j, "speedup");
	for (size_t i = 0; i + 1 < FACTORS; i++)
		json_f64(j, NULL, wall_speedup(c->share.value, factors[i]));
	json_end(j);
	json_end(j);
}

void wall_json(const struct wall_shown *v, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.wall/1");
	json_str(&j, "source", v->source);
	json_str(&j, "engine", flow_engine_str(v->flow->engine));
	json_str(&j, "semantics", flow_semantics_str(v->flow->semantics));
	json_str(&j, "stack", flow_stack_str(v->flow->stack));
	trust_json(v->trust, &j);
	filtered_json(&v->filtered, &j);
	json_f64(&j, "op_cost", v->opts->op);
	json_f64(&j, "byte_cost", v->opts->byte);
	range_json(&j, "compute", v->wall->compute);
	range_json(&j, "local", v->wall->local);
	range_json(&j, "global", v->wall->global);
	json_u64(&j, "unknown_functions", v->wall->unknown);
	json_arr(&j, "factors");
	for (size_t i = 0; i + 1 < FACTORS; i++)
		json_f64(&j, NULL, factors[i]);
	json_end(&j);
	json_arr(&j, "curves");
	for (unsigned i = 0; i < v->wall->count; i++)
		if (v->views & v->wall->curves[i].view)
			curve_json(&j, v->flow, &v->wall->curves[i]);
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

static void draw_question(const struct wall_shown *v, const struct question *q, double top, struct buf *out)
{
	struct svg_axes a = { 60, top + 25, 420, 220, 1, 1024, 1, 2 };
	unsigned shown = 0;

	for (unsigned i = 0; i < v->wall->count; i++) {
		double best = wall_speedup(v->wall->curves[i].share.value, 1024);

		while (v->wall->curves[i].view == q->view && a.y1 < best && a.y1 < 1024)
			a.y1 *= 2;
	}
	svg_label(out, 60, top, "start", q->text);
	svg_axes(out, &a, "sped up k times", "speed-up of the whole");
	for (unsigned i = 0; i < v->wall->count; i++) {
		const struct wall_curve *c = &v->wall->curves[i];
		double y[FACTORS];
		AUTO_BUF(label);

		if (c->view != q->view)
			continue;
		for (size_t k = 0; k < FACTORS; k++)
			y[k] = wall_speedup(c->share.value, factors[k]);
		svg_curve(out, &a, factors, y, FACTORS - 1, svg_colour(shown));
		buf_addf(out, "<rect x=\"500\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
			 top + 25 + shown * 20, svg_colour(shown));
		text_name(&label, c->label, 44, 0);
		buf_addf(&label, isnan(y[FACTORS - 1]) ? ": no limit" : ": at most %.3g", y[FACTORS - 1]);
		svg_label(out, 518, top + 36 + shown * 20, "start", label.data ? label.data : "");
		shown++;
	}
}

void wall_svg(const struct wall_shown *v, struct buf *out)
{
	AUTO_BUF(title);
	unsigned n = 0;

	for (size_t q = 0; q < QUESTIONS; q++)
		n += (v->views & questions[q].view) != 0;
	buf_addf(&title, "How much faster at most: %s", v->source);
	svg_begin(out, 900, 40 + n * 310, title.data ? title.data : "");
	n = 0;
	for (size_t q = 0; q < QUESTIONS; q++)
		if (v->views & questions[q].view)
			draw_question(v, &questions[q], 50 + 310.0 * n++, out);
	svg_end(out);
}

#define RANGE                                                                                                                          \
	"{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"value\",\"low\",\"high\"],\"properties\":{\"value\":" NUM \
	",\"low\":" NUM ",\"high\":" NUM "}}"
const char wall_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.wall/1\",\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"schema\",\"source\",\"compute\",\"local\",\"global\",\"factors\",\"curves\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.wall/1\"},\"source\":{\"type\":\"string\"},\"engine\":{\"type\":\"string\"},"
	"\"semantics\":{\"enum\":[\"quad\",\"ke\"]},\"stack\":{\"enum\":[\"exclude\",\"include\"]}," TRUST_SCHEMA
	"," FILTERED_SCHEMA ","
	"\"op_cost\":" NUM ",\"byte_cost\":" NUM ",\"compute\":" RANGE ",\"local\":" RANGE ",\"global\":" RANGE ","
	"\"unknown_functions\":{\"type\":\"integer\"},\"factors\":{\"type\":\"array\",\"items\":" NUM "},"
	"\"curves\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"view\",\"label\",\"functions\",\"store\",\"share\",\"limit\",\"speedup\"],\"properties\":{"
	"\"view\":{\"enum\":[\"memory\",\"local\",\"functions\"]},\"label\":{\"type\":\"string\"},"
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"store\":{\"enum\":[\"private\",\"shared\",null]},"
	"\"share\":" RANGE ",\"limit\":" RANGE ",\"speedup\":{\"type\":\"array\",\"items\":" NUM "}}}}}}";
