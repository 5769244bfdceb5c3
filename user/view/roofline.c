// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/roofline.h"

#include <math.h>
#include <stdio.h>

#include "util/json.h"
#include "view/schema.h"
#include "view/svg.h"

#define CURVE 49  /* points of a roof's line, evenly in the logarithm; by hand */
#define SHOWN 24  /* functions of a picture */
#define SHOWS .99 /* of a figure: what is nearer to it reads alike in three digits; by hand */

static void add_roof_rate(struct buf *out, double v, const char *unit)
{
	static const char *const scale[] = { "", "k", "M", "G", "T" };
	unsigned u = 0;

	for (; v >= 1000 && u + 1 < sizeof(scale) / sizeof(scale[0]); u++)
		v /= 1000;
	buf_addf(out, "%.3g %s%s/s", v, scale[u], unit);
}

/* ", 17.2 in the middle of its passes": what it usually has, where that shows. */
static void add_usual(struct buf *out, double most, double usual, const char *unit)
{
	if (usual < most * SHOWS) {
		buf_addstr(out, " (usually ");
		add_roof_rate(out, usual, unit);
		buf_addch(out, ')');
	}
}

static void add_level(struct buf *out, const struct roofline_level *l)
{
	if (l->bytes < 1 << 20)
		buf_addf(out, "%.0f KB", l->bytes / 1024);
	else
		buf_addf(out, "%.0f MB", l->bytes / (1 << 20));
}

static void roof_text(const struct roofline_view *v, struct buf *out)
{
	if (!v->roof) {
		buf_addf(out, "The roof is unknown: %s\n\n", v->why_no_roof);
		return;
	}
	buf_addstr(out, "One core at most: ");
	add_roof_rate(out, v->roof->ops_per_s, "ops");
	add_usual(out, v->roof->ops_per_s, v->roof->usual_ops, "ops");
	buf_addstr(out, ", arithmetic and logical instructions; by loads of 16 bytes from\n");
	for (int l = 0; l < ROOFLINE_LEVELS; l++) {
		buf_addstr(out, "  ");
		add_level(out, &v->roof->level[l]);
		buf_addstr(out, ": ");
		add_roof_rate(out, v->roof->level[l].bytes_per_s, "B");
		add_usual(out, v->roof->level[l].bytes_per_s, v->roof->level[l].usual_bytes, "B");
		buf_addf(out, ", enough from %.3g ops/byte on\n", v->roof->ops_per_s / v->roof->level[l].bytes_per_s);
	}
}

/* A figure and its ends: none where it was counted, "?" where they are unknown; "-": it is itself unknown. */
static void range_text(struct buf *out, double v, double low, double high, double unit, unsigned width)
{
	char text[64];

	if (isnan(v))
		snprintf(text, sizeof(text), "-");
	else if (isnan(low) || isnan(high))
		snprintf(text, sizeof(text), " %.3g [?]", v / unit);
	else if (low == high)
		snprintf(text, sizeof(text), " %.3g", v / unit);
	else
		snprintf(text, sizeof(text), " %.3g [%.2g..%.2g]", v / unit, low / unit, high / unit);
	text_pad_left(out, text, width);
}

static void row_text(const struct placed *p, unsigned name, struct buf *out)
{
	text_name(out, p->name, name - 1, name);
	range_text(out, p->ops_per_byte, p->per_byte_low, p->per_byte_high, 1, 20);
	range_text(out, p->ops_per_s, p->low, p->high, 1e9, 19);
	range_text(out, p->part, p->part_low, p->part_high, .01, 18);
	buf_addf(out, "  %s\n", placed_bound_str(p->bound));
}

void roofline_text(const struct roofline_view *v, const struct text_style *style, struct buf *out)
{
	unsigned name = style->width > 110 ? 40 : 24;
	bool unknown = false, few = false;

	roof_text(v, out);
	if (!v->file)
		return;
	buf_addch(out, '\n');
	if (!v->count) {
		buf_addstr(
			out,
			"No function's operations a byte are known: record where bursts can see the code, or `accperf exact`\n");
		return;
	}
	text_name(out, "function", name - 1, name);
	text_pad_left(out, "ops/byte", 20);
	text_pad_left(out, "Gops/s", 19);
	text_pad_left(out, "% of roof", 18);
	buf_addstr(out, "  bound by\n");
	for (size_t i = 0; i < v->count && i < v->rows; i++) {
		row_text(&v->at[i], name, out);
		unknown = unknown || isnan(v->at[i].ops_per_s);
		few = few || isnan(v->at[i].ops_per_byte);
	}
	if (v->count > v->rows)
		buf_addf(out, "%zu more: --all\n", v->count - v->rows);
	buf_addstr(
		out,
		"\nbytes: loaded and stored, the stack's left out; of roof: of what the nearest cache would allow;\n"
		"depends: on the level that its bytes come from, which no sample tells; [ends]: of 95 %, and of roof with\n"
		"what its passes differed by\n");
	if (unknown)
		buf_addstr(
			out,
			"-: unknown; Gops/s take amounts, which `record --counts auto` measures, and the machine's own time\n");
	if (few)
		buf_addstr(
			out,
			"no ops/byte: so few samples that it may be ten times as much, or as little: record for longer\n");
}

void roofline_svg(const struct roofline_view *v, struct buf *out)
{
	struct svg_axes a = { 80, 60, 560, 330, 1. / 64, 64, 1e7, 1e10 };
	double x[CURVE], y[CURVE];
	unsigned drawn = 0, unknown = 0;

	for (size_t i = 0; i < v->count && i < SHOWN; i++) {
		const struct placed *p = &v->at[i];

		a.x0 = p->ops_per_byte > 0 ? fmin(a.x0, p->ops_per_byte / 2) : a.x0;
		a.x1 = p->ops_per_byte > 0 ? fmax(a.x1, p->ops_per_byte * 2) : a.x1;
		a.y0 = p->ops_per_s > 0 ? fmin(a.y0, p->ops_per_s / 2) : a.y0;
		a.y1 = p->ops_per_s > 0 ? fmax(a.y1, p->ops_per_s * 2) : a.y1;
	}
	a.y1 = v->roof ? fmax(a.y1, v->roof->ops_per_s * 2) : a.y1;
	svg_begin(out, 960, 460, "Functions under the roof of one core");
	svg_axes(out, &a, "operations per byte loaded and stored", "operations per second");
	for (int k = 0; k < CURVE; k++)
		x[k] = a.x0 * pow(a.x1 / a.x0, k / (CURVE - 1.));
	for (int l = 0; l < ROOFLINE_LEVELS && v->roof; l++) {
		AUTO_BUF(name);

		for (int k = 0; k < CURVE; k++)
			y[k] = fmax(a.y0, placed_roof(v->roof, l, x[k]));
		svg_curve(out, &a, x, y, CURVE, svg_colour((unsigned)l));
		add_level(&name, &v->roof->level[l]);
		buf_addf(out, "<rect x=\"664\" y=\"%d\" width=\"14\" height=\"4\" fill=\"%s\"/>\n", 66 + 18 * l,
			 svg_colour((unsigned)l));
		svg_label(out, 684, 72 + 18 * l, "start", name.data ? name.data : "");
	}
	if (!v->roof)
		svg_label(out, 664, 72, "start", "the roof was not measured here");
	for (size_t i = 0; i < v->count && i < SHOWN; i++) {
		const struct placed *p = &v->at[i];
		double px = a.left + a.width * log(p->ops_per_byte / a.x0) / log(a.x1 / a.x0);
		double py = a.top + a.height * (1 - log(p->ops_per_s / a.y0) / log(a.y1 / a.y0));

		if (!isfinite(px) || !isfinite(py)) {
			unknown++;
			continue;
		}
		buf_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"#7a5c4d\" stroke=\"#fff\"/>\n", px, py);
		drawn++;
		svg_label(out, px + 8, py + 4, "start", p->name);
	}
	if (unknown) {
		AUTO_BUF(text);

		buf_addf(&text, "%u functions more: their operations a second are unknown", unknown);
		svg_label(out, 664, 180, "start", text.data ? text.data : "");
	}
	if (!drawn && !unknown)
		svg_label(out, 664, 180, "start", "no function's operations are known");
	svg_end(out);
}

void roofline_json(const struct roofline_view *v, struct buf *out)
{
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.roofline/1");
	json_str(&j, "machine", v->roof ? v->roof->machine : NULL);
	json_str(&j, "why_no_roof", v->roof ? NULL : v->why_no_roof);
	json_f64(&j, "ops_per_s", v->roof ? v->roof->ops_per_s : NAN);
	json_f64(&j, "usual_ops_per_s", v->roof ? v->roof->usual_ops : NAN);
	json_arr(&j, "levels");
	for (int l = 0; l < ROOFLINE_LEVELS && v->roof; l++) {
		json_obj(&j, NULL);
		json_f64(&j, "bytes", v->roof->level[l].bytes);
		json_f64(&j, "bytes_per_s", v->roof->level[l].bytes_per_s);
		json_f64(&j, "usual_bytes_per_s", v->roof->level[l].usual_bytes);
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "functions");
	for (size_t i = 0; i < v->count; i++) {
		const struct placed *p = &v->at[i];

		json_obj(&j, NULL);
		json_str(&j, "name", p->name);
		json_str(&j, "object", p->object);
		json_f64(&j, "self_ns", p->self_ns);
		json_f64(&j, "ops_per_byte", p->ops_per_byte);
		json_f64(&j, "ops_per_byte_low", p->per_byte_low);
		json_f64(&j, "ops_per_byte_high", p->per_byte_high);
		json_f64(&j, "ops_per_s", p->ops_per_s);
		json_f64(&j, "ops_per_s_low", p->low);
		json_f64(&j, "ops_per_s_high", p->high);
		json_f64(&j, "part_of_roof", p->part);
		json_f64(&j, "part_of_roof_low", p->part_low);
		json_f64(&j, "part_of_roof_high", p->part_high);
		json_str(&j, "bound", placed_bound_str(p->bound));
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

const char roofline_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.roofline/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"machine\",\"ops_per_s\",\"levels\",\"functions\"],\"additionalProperties\":false,\"properties\":{"
	"\"schema\":{\"const\":\"accperf.roofline/1\"},\"machine\":" STR ",\"why_no_roof\":" STR ",\"ops_per_s\":" NUM
	",\"usual_ops_per_s\":" NUM ","
	"\"levels\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"bytes\",\"bytes_per_s\"],\"properties\":{\"bytes\":" NUM
	",\"bytes_per_s\":" NUM ",\"usual_bytes_per_s\":" NUM
	"}}},\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"ops_per_byte\",\"ops_per_s\",\"bound\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},\"self_ns\":" NUM
	",\"ops_per_byte\":" NUM ",\"ops_per_byte_low\":" NUM ",\"ops_per_byte_high\":" NUM ",\"ops_per_s\":" NUM
	",\"ops_per_s_low\":" NUM ",\"ops_per_s_high\":" NUM ",\"part_of_roof\":" NUM ",\"part_of_roof_low\":" NUM
	",\"part_of_roof_high\":" NUM ",\"bound\":{\"enum\":[\"memory\",\"depends\",\"computation\",\"unknown\"]}}}}}}";
