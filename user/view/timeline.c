// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "counts/counts_speed.h"
#include "util/clean.h"
#include "util/json.h"
#include "view/svg.h"
#include "view/timeline.h"

static double cell_value(const struct timeline_view *v, const struct timeline_row *r, uint32_t s)
{
	return v->metric == TIMELINE_READS    ? r->reads[s]
	       : v->metric == TIMELINE_WRITES ? r->writes[s]
					      : r->reads[s] + r->writes[s];
}

static const char *metric_name(const struct timeline_view *v)
{
	return v->metric == TIMELINE_READS ? "read" : v->metric == TIMELINE_WRITES ? "written" : "read and written";
}

static double rate_of_slice(const struct timeline *t, double bytes)
{
	/* bytes per second, or per thousand instructions */
	return t->instructions ? bytes / t->width * 1e3 : bytes / t->width * 1e9;
}

static void span(struct buf *out, const struct timeline *t, double width)
{
	if (t->instructions) {
		text_count(out, whole_number(width));
		buf_addstr(out, " instructions");
	} else {
		text_seconds(out, whole_number(width));
	}
}

/* Columns of the sparkline: slices side by side, several to a column where they do not fit. */
static void sparkline(const struct timeline_view *v, const struct timeline_row *r, unsigned columns, struct buf *out)
{
	static const char *const bars[] = { " ",      "\u2581", "\u2582", "\u2583", "\u2584",
					    "\u2585", "\u2586", "\u2587", "\u2588" };
	const struct timeline *t = v->t;
	double high = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned c = 0; c < columns; c++) {
			uint32_t from = (uint32_t)((uint64_t)c * t->slices / columns),
				 to = (uint32_t)((uint64_t)(c + 1) * t->slices / columns);
			double sum = 0;

			if (to == from)
				to++;
			for (uint32_t s = from; s < to && s < t->slices; s++)
				sum += cell_value(v, r, s);
			sum /= to - from;
			if (!pass)
				high = sum > high ? sum : high;
			else
				buf_addstr(out, bars[sum > 0 ? 1 + (int)(sum / high * 7.0 + 0.5) : 0]);
		}
	}
}

static double cell_seen_interval(const struct timeline_view *v, const struct timeline_row *r, uint32_t s, double *high)
{
	double low;

	timeline_interval(v->t, r, s, cell_value(v, r, s), &low, high);
	return low;
}

/* Of the whole recording, of which a filter leaves a part; NaN: none. */
static double all_bytes(const struct timeline_view *v)
{
	double sum = 0;

	for (uint32_t r = 0; r < v->t->row_count; r++)
		sum += v->t->rows[r].total;
	return sum > 0 ? (filter_any(v->filtered.by) ? sum / v->filtered.shown : sum) : NAN;
}

static void timeline_heading(const struct timeline_view *v, const struct text_style *s, unsigned name, unsigned columns,
			     struct buf *out)
{
	const struct timeline *t = v->t;

	buf_addf(out, "Bytes %s per function over ", metric_name(v));
	span(out, t, t->width * t->slices);
	buf_addf(out, " in %u slices of ", t->slices);
	span(out, t, t->width);
	buf_addstr(out, "; each line has its own height\n\n");
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "function", name - 1, name);
	buf_addf(out, "%-*s     part     bytes  peak/%s", (int)columns, "", t->instructions ? "kinst" : "s    ");
	if (!t->exact)
		buf_addf(out, "  of it, %.0f %%", TIMELINE_LEVEL * 100);
	text_hue_off(out, s, TEXT_BOLD);
	buf_addch(out, '\n');
}

/* What chance leaves open of the peak, in percent of it. */
static void peak_interval(const struct timeline_view *v, const struct timeline_row *r, uint32_t at, struct buf *out)
{
	double high, low = cell_seen_interval(v, r, at, &high), value = cell_value(v, r, at);
	char text[40];

	if (v->t->exact)
		return;
	snprintf(text, sizeof(text), "%.0f to %.0f %%", low / value * 100, high / value * 100);
	buf_addf(out, " %15s", text);
}

static void phase_line(const struct timeline_view *v, uint32_t p, struct buf *out)
{
	const struct timeline *t = v->t;
	const struct timeline_phase *f = &t->phase_of[p];
	double all = f->reads + f->writes;

	buf_addf(out, "%c  from ", 'A' + (int)p);
	span(out, t, f->first * t->width);
	buf_addstr(out, ", lasts ");
	span(out, t, f->slices * t->width);
	if (!(all > 0)) {
		buf_addstr(out, ": nothing moves\n");
		return;
	}
	buf_addf(out, ": reads %.0f %%, writes %.0f %%; ", f->reads / all * 100, f->writes / all * 100);
	for (uint32_t i = 0; i < f->most_count; i++) {
		buf_addstr(out, i ? ", " : "");
		text_name(out, f->most[i], 32, 0);
		buf_addf(out, " %.0f %%", f->part[i] * 100);
	}
	buf_addch(out, '\n');
}

static void rests_on(const struct timeline_view *v, struct buf *out)
{
	const struct timeline *t = v->t;
	double all = all_bytes(v);

	buf_addf(out, "%u phase%s (%s); %s", t->phases, t->phases == 1 ? "" : "s",
		 t->exact ? "slices with like mixes of functions"
			  : "stretches whose mix of functions differs by more than chance",
		 t->exact ? "counted by the exact engine" : "estimated from ");
	if (!t->exact) {
		text_count(out, whole_number(t->samples));
		buf_addf(out, " samples with accesses%s", v->time_bias ? ", weighted by time" : "");
	}
	buf_addstr(out, "; ");
	text_name(out, v->source, 0, 0);
	buf_addch(out, '\n');
	if (t->undated > 0)
		buf_addf(
			out,
			"%.1f %% of the bytes are missing: no sample met the functions, so when they moved is unknown\n",
			t->undated / (all > 0 ? all + t->undated : t->undated) * 100);
}

void timeline_text(const struct timeline_view *v, const struct text_style *s, struct buf *out)
{
	const struct timeline *t = v->t;
	unsigned name = 24, columns = (s->width ? s->width : 100) - name - 46, shown = 0;
	double all = all_bytes(v);

	trust_text(v->trust, "", s, out);
	filtered_text(&v->filtered, "", s, out);
	if (columns > t->slices)
		columns = t->slices;
	timeline_heading(v, s, name, columns, out);
	for (uint32_t r = 0; r < t->row_count && shown < v->rows; r++) {
		double total = 0;
		uint32_t peak = 0;

		for (uint32_t i = 0; i < t->slices; i++) {
			total += cell_value(v, &t->rows[r], i);
			peak = cell_value(v, &t->rows[r], i) > cell_value(v, &t->rows[r], peak) ? i : peak;
		}
		if (!(total > 0))
			continue;
		shown++;
		text_name(out, t->rows[r].name, name - 1, name);
		sparkline(v, &t->rows[r], columns, out);
		buf_addf(out, " %6.1f %%", total / all * 100);
		text_amount(out, t->amounts ? total : NAN, 10);
		text_amount(out, t->amounts ? rate_of_slice(t, cell_value(v, &t->rows[r], peak)) : NAN, 12);
		peak_interval(v, &t->rows[r], peak, out);
		buf_addch(out, '\n');
	}
	text_name(out, "phase", name - 1, name);
	for (unsigned c = 0; c < columns; c++)
		buf_addch(out, (char)('A' + t->phase[(uint64_t)c * t->slices / columns]));
	buf_addstr(out, "\n\n");
	for (uint32_t p = 0; p < t->phases; p++)
		phase_line(v, p, out);
	buf_addch(out, '\n');
	if (t->row_count > shown)
		buf_addf(out, "%u more functions; --rows N lists more\n", t->row_count - shown);
	rests_on(v, out);
	if (!t->amounts)
		text_no_amounts(out, t->speed_seconds, s->width);
	text_amounts_spread(out, t->speed_low, t->speed_high, s->width);
}

static void csv_interval(const struct timeline *t, const struct timeline_row *r, uint32_t s, double bytes, double all,
			 struct buf *out)
{
	double low, high;

	timeline_interval(t, r, s, bytes, &low, &high);
	buf_addf(out, ",%.6g,%.6g", low / all, high / all);
}

void timeline_csv(const struct timeline_view *v, struct buf *out)
{
	const struct timeline *t = v->t;
	double all = all_bytes(v);

	buf_addf(out,
		 "slice,start_%s,phase,function,object,read_bytes,written_bytes,read_share,written_share,"
		 "read_share_low,read_share_high,written_share_low,written_share_high\n",
		 t->instructions ? "instructions" : "ns");
	for (uint32_t s = 0; s < t->slices; s++) {
		for (uint32_t r = 0; r < t->row_count; r++) {
			const struct timeline_row *row = &t->rows[r];

			if (!(row->reads[s] + row->writes[s] > 0))
				continue;
			buf_addf(out, "%u,%.0f,%c,", s, t->start + s * t->width, 'A' + t->phase[s]);
			clean_add(out, row->name, CLEAN_CSV);
			buf_addch(out, ',');
			clean_add(out, row->object, CLEAN_CSV);
			if (t->amounts)
				buf_addf(out, ",%.0f,%.0f", row->reads[s], row->writes[s]);
			else
				buf_addstr(out, ",,");
			if (all > 0) {
				buf_addf(out, ",%.6g,%.6g", row->reads[s] / all, row->writes[s] / all);
				csv_interval(t, row, s, row->reads[s], all, out);
				csv_interval(t, row, s, row->writes[s], all, out);
			} else {
				buf_addstr(out, ",,,,,,");
			}
			buf_addch(out, '\n');
		}
	}
}

static void svg_text(struct buf *out, const char *s)
{
	AUTO_BUF(name);

	text_name(&name, s, 40, 0);
	clean_add(out, name.data, CLEAN_XML);
}

#define LEFT 220 /* of the picture: names */
#define WIDE 720 /* and slices, of its viewBox; by hand */

/* The intervals of the slices, behind them; cut where they leave the row. */
static void svg_band(const struct timeline_view *v, const struct timeline_row *r, double base, double scale,
		     struct buf *out)
{
	for (uint32_t s = 0; s < v->t->slices; s++) {
		double up, low = cell_seen_interval(v, r, s, &up) * scale, high = fmin(up * scale, 32);

		buf_addf(
			out,
			"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"#0072b2\" opacity=\".25\"/>\n",
			LEFT + (double)WIDE * s / v->t->slices, base - high, (double)WIDE / v->t->slices,
			fmax(high - low, 0));
	}
}

void timeline_svg(const struct timeline_view *v, struct buf *out)
{
	static const char *const tint[] = { "#eef4fb", "#fdf0d5", "#e3f5ee", "#fbeaf3", "#eef0f2", "#fff6cc" };
	const struct timeline *t = v->t;
	unsigned rows = t->row_count < v->rows ? t->row_count : v->rows, high = 36, left = LEFT, wide = WIDE;

	buf_addf(out,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" " SVG_FRAME
		 " font-size=\"12\">\n",
		 left + wide + 100, rows * high + 70, left + wide + 100, rows * high + 70);
	buf_addstr(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
	buf_addf(
		out,
		"<text x=\"10\" y=\"20\" font-size=\"14\">Bytes %s per function (own scale each; tint = phase%s)</text>\n",
		metric_name(v), t->exact ? "" : "; pale: what chance leaves open, 90 %");
	for (uint32_t s = 0; s < t->slices; s++)
		buf_addf(out, "<rect x=\"%.2f\" y=\"32\" width=\"%.2f\" height=\"%u\" fill=\"%s\"/>\n",
			 left + (double)wide * s / t->slices, (double)wide / t->slices + 0.3, rows * high,
			 tint[t->phase[s] % 6]);
	for (unsigned r = 0; r < rows; r++) {
		double peak = 0, total = 0, base = 32 + (double)(r + 1) * high - 4;

		for (uint32_t s = 0; s < t->slices; s++) {
			peak = fmax(peak, cell_value(v, &t->rows[r], s));
			total += cell_value(v, &t->rows[r], s);
		}
		buf_addf(out, "<text x=\"%u\" y=\"%.1f\" text-anchor=\"end\">", left - 8, base - 8);
		svg_text(out, t->rows[r].name);
		buf_addstr(out, "</text>\n");
		if (!t->exact && peak > 0)
			svg_band(v, &t->rows[r], base, (high - 8) / peak, out);
		buf_addf(out, "<polygon fill=\"#0072b2\" points=\"%u,%.1f", left, base);
		for (uint32_t s = 0; s < t->slices && peak > 0; s++) {
			double y = base - cell_value(v, &t->rows[r], s) / peak * (high - 8);

			buf_addf(out, " %.2f,%.1f %.2f,%.1f", left + (double)wide * s / t->slices, y,
				 left + (double)wide * (s + 1) / t->slices, y);
		}
		buf_addf(out, " %u,%.1f\"/>\n<text x=\"%u\" y=\"%.1f\" fill=\"#555\">", left + wide, base,
			 left + wide + 8, base - 8);
		text_amount(out, t->amounts ? total : NAN, 0);
		buf_addstr(out, "</text>\n");
	}
	buf_addf(
		out,
		"<text x=\"%u\" y=\"%u\" fill=\"#555\">0</text><text x=\"%u\" y=\"%u\" fill=\"#555\" text-anchor=\"end\">",
		left, rows * high + 50, left + wide, rows * high + 50);
	span(out, t, t->width * t->slices);
	buf_addstr(out, "</text>\n");
	svg_end(out);
}

static void numbers(struct json *j, const char *key, const double *x, const struct timeline *t)
{
	json_arr(j, key);
	for (uint32_t i = 0; i < t->slices; i++) {
		if (t->amounts)
			json_u64(j, NULL, whole_number(x[i]));
		else
			json_null(j, NULL);
	}
	json_end(j);
}

static void shares(struct json *j, const char *key, const double *x, uint32_t slices, double all)
{
	json_arr(j, key);
	for (uint32_t i = 0; i < slices; i++)
		json_f64(j, NULL, x[i] / all);
	json_end(j);
}

struct bounds_of {
	const struct timeline *t;
	double all;
	bool upper;
};

static void bounds(struct json *j, const char *key, const struct bounds_of *b, const struct timeline_row *r,
		   const double *x)
{
	json_arr(j, key);
	for (uint32_t i = 0; i < b->t->slices; i++) {
		double low, high;

		timeline_interval(b->t, r, i, x[i], &low, &high);
		json_f64(j, NULL, (b->upper ? high : low) / b->all);
	}
	json_end(j);
}

static void phases_json(const struct timeline *t, struct json *j)
{
	json_arr(j, "phase_list");
	for (uint32_t p = 0; p < t->phases; p++) {
		const struct timeline_phase *f = &t->phase_of[p];
		double all = f->reads + f->writes;

		json_obj(j, NULL);
		json_u64(j, "phase", p);
		json_u64(j, "first_slice", f->first);
		json_u64(j, "slices", f->slices);
		json_f64(j, "read_part", all > 0 ? f->reads / all : NAN);
		json_arr(j, "most");
		for (uint32_t i = 0; i < f->most_count; i++) {
			json_obj(j, NULL);
			json_str(j, "function", f->most[i]);
			json_f64(j, "part", f->part[i]);
			json_end(j);
		}
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

void timeline_json(const struct timeline_view *v, struct buf *out)
{
	const struct timeline *t = v->t;
	double all = all_bytes(v);
	struct bounds_of lower = { t, all, false }, upper = { t, all, true };
	struct counts_speed_note note;
	struct json j = { .out = out };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.timeline/1");
	json_str(&j, "unit", t->instructions ? "instructions" : "ns");
	json_f64(&j, "start", t->start);
	json_f64(&j, "slice", t->width);
	json_u64(&j, "slices", t->slices);
	json_bool(&j, "exact", t->exact);
	json_f64(&j, "samples", t->samples);
	json_str(&j, "bias", v->time_bias ? "time" : NULL);
	json_bool(&j, "amounts_known", t->amounts);
	json_str(&j, "amounts_note", t->amounts ? NULL : counts_speed_note(&note, t->speed_seconds));
	json_f64(&j, "amounts_low", t->speed_low);
	json_f64(&j, "amounts_high", t->speed_high);
	trust_json(v->trust, &j);
	filtered_json(&v->filtered, &j);
	json_u64(&j, "phases", t->phases);
	json_arr(&j, "phase");
	for (uint32_t s = 0; s < t->slices; s++)
		json_u64(&j, NULL, t->phase[s]);
	json_end(&j);
	phases_json(t, &j);
	json_f64(&j, "undated_share", all > 0 || t->undated > 0 ? t->undated / (fmax(all, 0) + t->undated) : NAN);
	json_f64(&j, "level", t->exact ? NAN : TIMELINE_LEVEL);
	json_arr(&j, "functions");
	for (uint32_t r = 0; r < t->row_count; r++) {
		json_obj(&j, NULL);
		json_str(&j, "name", t->rows[r].name);
		json_str(&j, "object", t->rows[r].object);
		numbers(&j, "read_bytes", t->rows[r].reads, t);
		numbers(&j, "written_bytes", t->rows[r].writes, t);
		shares(&j, "read_share", t->rows[r].reads, t->slices, all);
		shares(&j, "written_share", t->rows[r].writes, t->slices, all);
		bounds(&j, "read_share_low", &lower, &t->rows[r], t->rows[r].reads);
		bounds(&j, "read_share_high", &upper, &t->rows[r], t->rows[r].reads);
		bounds(&j, "written_share_low", &lower, &t->rows[r], t->rows[r].writes);
		bounds(&j, "written_share_high", &upper, &t->rows[r], t->rows[r].writes);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
}

const char timeline_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.timeline/1\",\"type\":\"object\","
	"\"required\":[\"schema\",\"unit\",\"start\",\"slice\",\"slices\",\"exact\",\"phases\",\"phase\",\"functions\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.timeline/1\"},\"unit\":{\"enum\":[\"ns\",\"instructions\"]},\"start\":{\"type\":\"number\"},"
	"\"slice\":{\"type\":\"number\"},\"slices\":{\"type\":\"integer\"},\"exact\":{\"type\":\"boolean\"},"
	"\"amounts_low\":{\"type\":[\"number\",\"null\"]},\"amounts_high\":{\"type\":[\"number\",\"null\"]},"
	"\"samples\":{\"type\":[\"number\",\"null\"]},\"bias\":{\"enum\":[\"time\",null]},\"amounts_known\":{\"type\":\"boolean\"},\"amounts_note\":{\"type\":[\"string\",\"null\"]}," TRUST_SCHEMA
	"," FILTERED_SCHEMA ",\"phases\":{\"type\":\"integer\"},"
	"\"phase\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
	"\"phase_list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"phase\",\"first_slice\",\"slices\",\"read_part\",\"most\"],"
	"\"properties\":{\"phase\":{\"type\":\"integer\"},\"first_slice\":{\"type\":\"integer\"},\"slices\":{\"type\":\"integer\"},"
	"\"read_part\":{\"type\":[\"number\",\"null\"]},\"most\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"function\",\"part\"],\"properties\":{\"function\":{\"type\":\"string\"},\"part\":{\"type\":\"number\"}}}}}}},"
	"\"undated_share\":{\"type\":[\"number\",\"null\"]},\"level\":{\"type\":[\"number\",\"null\"]},"
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"name\",\"object\",\"read_bytes\",\"written_bytes\"],"
	"\"properties\":{\"name\":{\"type\":\"string\"},\"object\":{\"type\":\"string\"},"
	"\"read_bytes\":{\"type\":\"array\",\"items\":{\"type\":[\"integer\",\"null\"]}},\"written_bytes\":{\"type\":\"array\",\"items\":{\"type\":[\"integer\",\"null\"]}},"
	"\"read_share\":{\"type\":\"array\",\"items\":{\"type\":[\"number\",\"null\"]}},\"written_share\":{\"type\":\"array\",\"items\":{\"type\":[\"number\",\"null\"]}},"
	"\"read_share_low\":{\"type\":\"array\",\"items\":{\"type\":[\"number\",\"null\"]}},\"read_share_high\":{\"type\":\"array\",\"items\":{\"type\":[\"number\",\"null\"]}},"
	"\"written_share_low\":{\"type\":\"array\",\"items\":{\"type\":[\"number\",\"null\"]}},\"written_share_high\":{\"type\":\"array\",\"items\":{\"type\":[\"number\",\"null\"]}}}}}}}";
