// SPDX-License-Identifier: GPL-2.0-or-later
/* A flow as a matrix, writers by readers: text, JSON and SVG. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/json.h"
#include "view/flow_figures.h"
#include "view/schema.h"
#include "view/svg.h"

/* Functions with a row and a column: unless told, and at most, where cells are yet points; by hand. */
#define TOP 10
#define TOP_MOST 200

/* The last row and column are all other functions together. */
struct matrix {
	uint32_t *func; /* by position; count of them */
	unsigned count;
	double *bytes;                          /* [reader * (count + 1) + writer] */
	double *compute;                        /* by position; NaN unknown */
	double most, most_compute, all_compute; /* the last: of what is known */
};

struct flow_matrix_rank {
	uint32_t func;
	double compute, in;
};

static int by_compute(const void *a, const void *b)
{
	const struct flow_matrix_rank *x = a, *y = b;

	if (x->compute != y->compute)
		return x->compute < y->compute ? 1 : -1;
	if (x->in != y->in)
		return x->in < y->in ? 1 : -1;
	return (x->func > y->func) - (x->func < y->func);
}

static void matrix_release(struct matrix *m)
{
	free(m->func);
	free(m->bytes);
	free(m->compute);
}

static void add_compute(struct matrix *m, unsigned at, double compute)
{
	if (isnan(compute))
		return;
	m->compute[at] = isnan(m->compute[at]) ? compute : m->compute[at] + compute;
	m->most_compute = fmax(m->most_compute, m->compute[at]);
	m->all_compute += compute;
}

static int matrix_build(const struct flow_view *v, struct matrix *m)
{
	const struct flow *f = v->flow;
	struct flow_matrix_rank *r = calloc(f->func_count + 1u, sizeof(*r));
	uint32_t *place = calloc(f->func_count + 1u, sizeof(*place));
	unsigned top = v->top ? v->top : TOP, n = 0, side;

	*m = (struct matrix){ .func = calloc(f->func_count + 1u, sizeof(*m->func)) };
	for (uint32_t i = 0; r && i < f->func_count; i++) {
		const struct flow_func *fn = &f->funcs[i];

		if (!flow_is_pseudo(fn) && filter_code(v->filter, fn->name, fn->object) && flow_named(v, fn))
			r[n++] =
				(struct flow_matrix_rank){ i, flow_computes(fn).value > 0 ? flow_computes(fn).value : 0,
							   fn->in };
	}
	if (r)
		qsort(r, n, sizeof(*r), by_compute);
	top = top > TOP_MOST ? TOP_MOST : top;
	m->count = n < top ? n : top;
	side = m->count + 1;
	m->bytes = calloc((size_t)side * side, sizeof(*m->bytes));
	m->compute = calloc(side, sizeof(*m->compute));
	if (!r || !place || !m->func || !m->bytes || !m->compute) {
		free(r);
		free(place);
		matrix_release(m);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f->func_count; i++)
		place[i] = m->count;
	for (unsigned k = 0; k < side; k++)
		m->compute[k] = NAN;
	for (unsigned k = 0; k < m->count; k++) {
		m->func[k] = r[k].func;
		place[r[k].func] = k;
	}
	for (size_t i = 0; i < f->edge_count; i++)
		m->bytes[(size_t)place[f->edges[i].consumer] * side + place[f->edges[i].producer]] += f->edges[i].bytes;
	for (uint32_t i = 0; i < f->func_count; i++)
		add_compute(m, place[i], flow_computes(&f->funcs[i]).value);
	for (size_t i = 0; i < (size_t)side * side; i++)
		m->most = fmax(m->most, m->bytes[i]);
	free(r);
	free(place);
	return 0;
}

#define HEAD 34 /* columns of a row's number and name, */
#define CELL 10 /* and of each figure */

static const char *name_at(const struct flow_view *v, const struct matrix *m, unsigned k)
{
	return k < m->count ? v->flow->funcs[m->func[k]].name : "other";
}

/* Where amounts are not known, of all bytes. */
static void show_cell(const struct flow_view *v, double bytes, struct buf *out)
{
	char text[24];

	if (flow_has_amounts(v->flow) || !(bytes > 0)) {
		if (bytes > 0)
			text_amount(out, bytes, CELL);
		else
			text_pad_left(out, ".", CELL);
		return;
	}
	snprintf(text, sizeof(text), "%.2f%%", 100 * bytes / flow_whole(v->flow));
	text_pad_left(out, text, CELL);
}

/* What a function computes; where amounts are not known, of all that is computed. */
static void show_compute(const struct flow_view *v, const struct matrix *m, unsigned c, struct buf *out)
{
	AUTO_BUF(text);

	if (isnan(m->compute[c]) || !(m->compute[c] >= 0))
		buf_addstr(&text, "?");
	else if (flow_has_amounts(v->flow))
		text_count(&text, whole_number(flow_amount(v->flow, m->compute[c])));
	else
		buf_addf(&text, "%.2f%%", 100 * m->compute[c] / m->all_compute);
	if (text.len > 9) {
		buf_clear(&text);
		buf_addf(&text, "%.3e", m->compute[c]);
	}
	text_pad_left(out, text.data ? text.data : "", CELL);
}

/* Columns from .. to of all rows. */
static void show_columns(const struct flow_view *v, const struct matrix *m, unsigned from, unsigned to,
			 const struct text_style *s, struct buf *out)
{
	unsigned side = m->count + 1;
	char number[16];

	text_name(out, "", 0, HEAD);
	for (unsigned c = from; c < to; c++) {
		snprintf(number, sizeof(number), c < m->count ? "%u" : "other", c + 1);
		text_pad_left(out, number, CELL);
	}
	buf_addch(out, '\n');
	for (unsigned r = 0; r < side; r++) {
		snprintf(number, sizeof(number), r < m->count ? "%3u  " : "     ", r + 1);
		buf_addstr(out, number);
		text_name(out, name_at(v, m, r), HEAD - 6, HEAD - 5);
		for (unsigned c = from; c < to; c++)
			show_cell(v, m->bytes[(size_t)r * side + c], out);
		buf_addch(out, '\n');
	}
	text_hue_on(out, s, TEXT_BOLD);
	text_name(out, "     computation", 0, HEAD);
	for (unsigned c = from; c < to; c++)
		show_compute(v, m, c, out);
	text_hue_off(out, s, TEXT_BOLD);
	buf_addstr(out, "\n\n");
}

int flow_matrix_text(const struct flow_view *v, const struct text_style *s, struct buf *out)
{
	struct matrix m;
	unsigned side, at_once;

	if (matrix_build(v, &m))
		return -ENOMEM;
	side = m.count + 1;
	at_once = s->width ? (s->width > HEAD + CELL ? (s->width - HEAD) / CELL : 1) : side;
	if (v->trust)
		trust_text(v->trust, "", s, out);
	buf_addstr(out,
		   "What the row's function reads of what the column's wrote last; by computation, the most first\n\n");
	for (unsigned c = 0; c < side; c += at_once)
		show_columns(v, &m, c, c + at_once < side ? c + at_once : side, s, out);
	buf_addf(out, "%s, %s semantics, stack %sd; arithmetic and logical instructions\n",
		 flow_engine_str(v->flow->engine), flow_semantics_str(v->flow->semantics),
		 flow_stack_str(v->flow->stack));
	matrix_release(&m);
	return 0;
}

int flow_matrix_json(const struct flow_view *v, struct buf *out)
{
	struct json j = { .out = out };
	struct matrix m;
	unsigned side;

	if (matrix_build(v, &m))
		return -ENOMEM;
	side = m.count + 1;
	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.matrix/1");
	json_str(&j, "source", v->source);
	json_str(&j, "engine", flow_engine_str(v->flow->engine));
	json_str(&j, "semantics", flow_semantics_str(v->flow->semantics));
	json_str(&j, "stack", flow_stack_str(v->flow->stack));
	trust_json(v->trust, &j);
	json_arr(&j, "functions");
	for (unsigned k = 0; k < side; k++)
		json_str(&j, NULL, name_at(v, &m, k));
	json_end(&j);
	json_arr(&j, "shares");
	for (unsigned r = 0; r < side; r++) {
		json_arr(&j, NULL);
		for (unsigned c = 0; c < side; c++)
			json_f64(&j, NULL, m.bytes[(size_t)r * side + c] / flow_whole(v->flow));
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "bytes");
	for (unsigned r = 0; r < side; r++) {
		json_arr(&j, NULL);
		for (unsigned c = 0; c < side; c++)
			json_f64(&j, NULL, flow_amount(v->flow, m.bytes[(size_t)r * side + c]));
		json_end(&j);
	}
	json_end(&j);
	json_arr(&j, "compute");
	for (unsigned c = 0; c < side; c++)
		json_f64(&j, NULL, flow_amount(v->flow, m.compute[c]));
	json_end(&j);
	json_arr(&j, "compute_shares");
	for (unsigned c = 0; c < side; c++)
		json_f64(&j, NULL, m.all_compute > 0 ? m.compute[c] / m.all_compute : NAN);
	json_end(&j);
	json_end(&j);
	buf_addch(out, '\n');
	matrix_release(&m);
	return 0;
}

/* White to blue by the logarithm, over four powers of ten. */
static void matrix_cell(struct buf *out, double x, double y, double part)
{
	double dark = part > 0 ? fmax(0, 1 + log10(part) / 4) : 0;

	buf_addf(out,
		 "<rect x=\"%.1f\" y=\"%.1f\" width=\"33\" height=\"21\" fill=\"rgb(%d,%d,%d)\" stroke=\"#ddd\"/>\n", x,
		 y, (int)(255 - 220 * dark), (int)(255 - 160 * dark), (int)(255 - 70 * dark));
}

int flow_matrix_svg(const struct flow_view *v, struct buf *out)
{
	struct matrix m;
	unsigned side;
	double left = 250, top = 190, all = flow_whole(v->flow);

	if (matrix_build(v, &m))
		return -ENOMEM;
	side = m.count + 1;
	svg_begin(out, (unsigned)fmax(left + side * 33 + 60, 620), (unsigned)top + side * 21 + 80,
		  "What rows read of what columns wrote, and what columns compute");
	for (unsigned k = 0; k < side; k++) {
		svg_label(out, left - 8, top + 21.0 * k + 15, "end", name_at(v, &m, k));
		buf_addf(out, "<g transform=\"translate(%.1f,%.1f) rotate(-55)\">\n", left + 33.0 * k + 18, top - 6);
		svg_label(out, 0, 0, "start", name_at(v, &m, k));
		buf_addstr(out, "</g>\n");
	}
	for (unsigned r = 0; r < side; r++)
		for (unsigned c = 0; c < side; c++) {
			double bytes = m.bytes[(size_t)r * side + c];

			matrix_cell(out, left + 33.0 * c, top + 21.0 * r, m.most > 0 ? bytes / m.most : 0);
			if (all > 0 && bytes / all >= 0.001) {
				char text[16];

				snprintf(text, sizeof(text), "%.1f", 100 * bytes / all);
				buf_addf(out, "<g font-size=\"10\" fill=\"%s\">",
					 bytes / m.most > 0.1 ? "white" : "black");
				svg_label(out, left + 33.0 * c + 16, top + 21.0 * r + 14, "middle", text);
				buf_addstr(out, "</g>\n");
			}
		}
	svg_label(out, left - 8, top + 21.0 * side + 29, "end", "computation");
	for (unsigned c = 0; c < side; c++)
		matrix_cell(out, left + 33.0 * c, top + 21.0 * side + 14,
			    m.most_compute > 0 && m.compute[c] > 0 ? m.compute[c] / m.most_compute : 0);
	svg_label(out, left, top + 21.0 * side + 60, "start", "per cent of all bytes; shades by the logarithm");
	svg_end(out);
	matrix_release(&m);
	return 0;
}

const char flow_matrix_schema[] =
	"{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"title\":\"accperf.matrix/1\",\"type\":\"object\",\"additionalProperties\":false,"
	"\"required\":[\"schema\",\"source\",\"functions\",\"shares\",\"bytes\",\"compute\"],\"properties\":{"
	"\"schema\":{\"const\":\"accperf.matrix/1\"},\"source\":{\"type\":\"string\"},\"engine\":{\"type\":\"string\"},"
	"\"semantics\":{\"enum\":[\"quad\",\"ke\"]},\"stack\":{\"enum\":[\"exclude\",\"include\"]}," TRUST_SCHEMA ","
	"\"functions\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":\"the last is all others\"},"
	"\"shares\":{\"type\":\"array\",\"items\":" NUMS ",\"description\":\"rows read, columns wrote\"},"
	"\"bytes\":{\"type\":\"array\",\"items\":" NUMS "},\"compute\":" NUMS ",\"compute_shares\":" NUMS "}}";
