// SPDX-License-Identifier: GPL-2.0-or-later
/* How compute and flow grow with the input (model/growth.h): text, JSON and SVG. */
#include <math.h>
#include <stdio.h>

#include "util/json.h"
#include "view/schema.h"
#include "view/svg.h"
#include "view/wall.h"

#define VALUE_COLUMNS 11 /* 999,999,999 */
#define SHARE_COLUMNS 9  /* 100.0%, or a size above it, and a gap */

static void show_share(struct buf *out, double share)
{
	char text[24];

	snprintf(text, sizeof(text), isnan(share) ? "?" : "%.1f%%", 100 * share);
	text_pad_left(out, text, SHARE_COLUMNS);
}

/* 1,327,104; what is wider than the column, or is no whole number, in short. */
static void show_number(struct buf *out, double v, unsigned columns)
{
	AUTO_BUF(text);

	if (isnan(v))
		buf_addch(&text, '?');
	else if (v >= 0 && v < 1e15 && v == floor(v))
		text_count(&text, (uint64_t)v);
	if (!text.len || text.len > columns) {
		buf_clear(&text);
		buf_addf(&text, "%.*g", (int)columns - (int)sizeof("e+06"), v);
	}
	text_pad_left(out, text.data ? text.data : "", columns);
}

static void show_sizes(const struct growth *g, struct buf *out)
{
	for (unsigned p = 0; p < g->profiles; p++) {
		buf_addch(out, ' ');
		show_number(out, g->n[p], SHARE_COLUMNS - 1);
	}
}

static bool part_shown(const struct growth_shown *v, const struct growth_part *p)
{
	return filter_code(v->filtered.by, p->name, p->object);
}

static bool row_shown(const struct growth_shown *v, const struct growth_row *r)
{
	return filter_code(v->filtered.by, r->name, r->object) ||
	       (r->reader && filter_code(v->filtered.by, r->reader, r->reader_object));
}

static struct filtered growth_filtered(const struct growth_shown *v)
{
	struct filtered f = v->filtered;
	unsigned last = v->growth->profiles - 1;
	double part = 0;

	for (size_t i = 0; i < v->growth->part_count; i++) {
		const struct growth_part *p = &v->growth->parts[i];
		double share = f.alone ? p->bytes[last] : p->compute[last];

		part += part_shown(v, p) && share > 0 ? share : 0;
	}
	f.of = f.alone ? "bytes" : "computation";
	f.shown *= part;
	return f;
}

static void show_parts(const struct growth_shown *v, const struct text_style *s, struct buf *out)
{
	const struct growth *g = v->growth;

	for (int bytes = 0; bytes < 2; bytes++) {
		text_hue_on(out, s, TEXT_BOLD);
		text_name(out, bytes ? "part of all communication, n =" : "part of all computation, n =", 0, 36);
		show_sizes(g, out);
		text_hue_off(out, s, TEXT_BOLD);
		buf_addch(out, '\n');
		for (size_t i = 0, shown = 0; i < g->part_count && shown < v->rows; i++) {
			const double *share = bytes ? g->parts[i].bytes : g->parts[i].compute;
			double most = 0;

			for (unsigned p = 0; p < g->profiles; p++)
				most = fmax(most, share[p]);
			if (most < 0.005 || !part_shown(v, &g->parts[i]))
				continue;
			text_name(out, g->parts[i].name, 35, 36);
			for (unsigned p = 0; p < g->profiles; p++)
				show_share(out, share[p]);
			buf_addch(out, '\n');
			shown++;
		}
		buf_addch(out, '\n');
	}
}

static void show_row(const struct growth *g, const struct growth_row *r, struct buf *out)
{
	AUTO_BUF(name);
	char text[48];

	text_name(&name, r->name, 30, 0);
	if (r->reader) {
		buf_addstr(&name, " -> ");
		text_name(&name, r->reader, 30, 0);
	}
	text_name(out, name.data ? name.data : "", 46, 47);
	buf_addf(out, "%-9s", r->of == GROWTH_EDGE ? "bytes" : growth_of_str(r->of));
	if (isnan(r->power))
		snprintf(text, sizeof(text), "?");
	else if (isnan(r->low))
		snprintf(text, sizeof(text), "%.2f", r->power);
	else
		snprintf(text, sizeof(text), "%.2f [%.2f, %.2f]", r->power, r->low, r->high);
	buf_addf(out, "%-21s", text);
	for (unsigned p = 0; p < g->profiles; p++) {
		buf_addch(out, ' ');
		show_number(out, r->values[p], VALUE_COLUMNS);
	}
	buf_addch(out, '\n');
}

void growth_text(const struct growth_shown *v, const struct text_style *s, struct buf *out)
{
	const struct growth *g = v->growth;
	const struct filtered filtered = growth_filtered(v);
	size_t shown = 0, more = 0;

	filtered_text(&filtered, "", s, out);
	buf_addf(out, "%u profiles; n is %s\n\n", g->profiles,
		 v->by_work ? "what was computed in all (--size gives the sizes of the problem)" : "as given");
	show_parts(v, s, out);
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "grows as a power of n; at n =", 46, 47);
	buf_addf(out, "%-9s%-21s", "what", "power [95 %]");
	for (unsigned p = 0; p < g->profiles; p++) {
		buf_addch(out, ' ');
		show_number(out, g->n[p], VALUE_COLUMNS);
	}
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
	for (size_t i = 0; i < g->count; i++) {
		if (!row_shown(v, &g->rows[i]))
			continue;
		if (shown < v->rows) {
			show_row(g, &g->rows[i], out);
			shown++;
		} else {
			more++;
		}
	}
	if (more)
		buf_addf(out, "%zu more; --rows N lists more\n", more);
	if (g->profiles < 3)
		buf_addstr(out, "two sizes make a power, three an interval\n");
	if (v->estimated)
		buf_addstr(out, "estimated from samples: the interval is of the fit alone\n");
}

static void numbers_json(struct json *j, const char *key, const double *x, unsigned n)
{
	json_arr(j, key);
	for (unsigned i = 0; i < n; i++)
		json_f64(j, NULL, x[i]);
	json_end(j);
}

void growth_json(const struct growth_shown *v, struct buf *out)
{
	const struct growth *g = v->growth;
	const struct filtered filtered = growth_filtered(v);
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.scale/1");
	filtered_json(&filtered, &j);
	json_arr(&j, "sources");
	for (unsigned p = 0; p < g->profiles; p++)
		json_str(&j, NULL, v->sources[p]);
	json_end(&j);
	numbers_json(&j, "n", g->n, g->profiles);
	json_str(&j, "n_is", v->by_work ? "compute" : "given");
	json_bool(&j, "estimated", v->estimated);
	numbers_json(&j, "compute", g->compute, g->profiles);
	numbers_json(&j, "bytes", g->bytes, g->profiles);
	json_arr(&j, "parts");
	for (size_t i = 0; i < g->part_count; i++) {
		if (!part_shown(v, &g->parts[i]))
			continue;
		json_obj(&j, NULL);
		json_str(&j, "name", g->parts[i].name);
		json_str(&j, "object", g->parts[i].object);
		numbers_json(&j, "compute", g->parts[i].compute, g->profiles);
		numbers_json(&j, "bytes", g->parts[i].bytes, g->profiles);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "powers");
	for (size_t i = 0; i < g->count; i++) {
		const struct growth_row *r = &g->rows[i];

		if (!row_shown(v, r))
			continue;
		json_obj(&j, NULL);
		json_str(&j, "of", growth_of_str(r->of));
		json_str(&j, "name", r->name);
		json_str(&j, "object", r->object);
		json_str(&j, "reader", r->reader);
		json_str(&j, "reader_object", r->reader_object);
		json_f64(&j, "power", r->power);
		json_f64(&j, "low", r->low);
		json_f64(&j, "high", r->high);
		json_f64(&j, "scale", r->scale);
		numbers_json(&j, "values", r->values, g->profiles);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

/* One bar a profile, as the paper's figure 3: computation light, communication dark, by function. */
static void draw_bar(const struct growth *g, unsigned p, unsigned top, double y, struct buf *out)
{
	double x = 120, wide = 620;

	for (int bytes = 0; bytes < 2; bytes++) {
		double rest = 1;

		for (size_t i = 0; i < g->part_count && i < top; i++) {
			double share = bytes ? g->parts[i].bytes[p] : g->parts[i].compute[p];

			if (!(share > 0))
				continue;
			buf_addf(
				out,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" fill=\"%s\" fill-opacity=\"%s\"/>\n",
				x, y, wide / 2 * share, svg_colour((unsigned)i), bytes ? "1" : "0.45");
			x += wide / 2 * share;
			rest -= share;
		}
		rest = fmax(0, rest);
		buf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"22\" fill=\"#ccc\"/>\n", x, y,
			 wide / 2 * rest);
		x = 120 + wide / 2;
	}
}

void growth_svg(const struct growth_shown *v, struct buf *out)
{
	const struct growth *g = v->growth;
	unsigned top = g->part_count < 8 ? (unsigned)g->part_count : 8;

	svg_begin(out, 800, 90 + g->profiles * 30 + top * 20, "Parts of computation and of communication, by size");
	svg_label(out, 275, 45, "middle", "computation");
	svg_label(out, 585, 45, "middle", "communication");
	for (unsigned p = 0; p < g->profiles; p++) {
		char text[32];

		snprintf(text, sizeof(text), "n = %.6g", g->n[p]);
		svg_label(out, 112, 68 + 30.0 * p, "end", text);
		draw_bar(g, p, top, 52 + 30.0 * p, out);
	}
	for (unsigned i = 0; i < top; i++) {
		double y = 70 + 30.0 * g->profiles + 20.0 * i;

		buf_addf(out, "<rect x=\"120\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", y,
			 svg_colour(i));
		svg_label(out, 138, y + 11, "start", g->parts[i].name);
	}
	svg_end(out);
}

#define TEXT_OR_NULL "{\"type\":[\"string\",\"null\"]}"
const char growth_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.scale/1\",\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"schema\",\"sources\",\"n\",\"parts\",\"powers\"],\"properties\":{\"schema\":{\"const\":\"accperf.scale/1\"}," FILTERED_SCHEMA
	",\"sources\":{\"type\":\"array\",\"items\":" TEXT "},\"n\":" NUMS
	",\"n_is\":{\"enum\":[\"compute\",\"given\"]},"
	"\"estimated\":{\"type\":\"boolean\"},\"compute\":" NUMS ",\"bytes\":" NUMS ","
	"\"parts\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"name\",\"object\",\"compute\",\"bytes\"],"
	"\"properties\":{\"name\":" TEXT ",\"object\":" TEXT ",\"compute\":" NUMS ",\"bytes\":" NUMS "}}},"
	"\"powers\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"of\",\"name\",\"object\",\"power\",\"low\",\"high\",\"values\"],\"properties\":{"
	"\"of\":{\"enum\":[\"compute\",\"in\",\"out\",\"edge\"]},\"name\":" TEXT ",\"object\":" TEXT
	",\"reader\":" TEXT_OR_NULL ",\"reader_object\":" TEXT_OR_NULL ",\"power\":" NUM ",\"low\":" NUM
	",\"high\":" NUM ",\"scale\":" NUM ",\"values\":" NUMS "}}}}}";
