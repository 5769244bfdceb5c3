// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Speed-up over granularity in the manner of the LogCA paper's figures: both axes logarithmic, observed
 * points, the curve, its bounds, g1 and gA/2, and the optimisation regions coloured and labelled.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "view/logca_plane.h"
#include "view/svg.h"

/* One hue a set of letters, light enough to read on. */
static const char *tint(const char *letters)
{
	static const char *const hue[16] = {
		/* none, L, o, Lo */ "#f4f4f4",     "#fff0c2", "#d6e6f7", "#e2dff2",
		/* C, LC, oC, LoC */ "#fde0c5",     "#fbd3b0", "#cfe3d4", "#d3e0f3",
		/* A, LA, oA, LoA */ "#fff3c4",     "#f7ecc9", "#c9e4ea", "#d3dbef",
		/* CA, LCA, oCA, LoCA */ "#f9d9d3", "#f3e0c0", "#dcd3ec", "#e6d6c8",
	};
	unsigned set = 0;

	for (int i = 0; i < LOGCA_LETTERS; i++)
		if (strchr(letters, LOGCA_LETTER_NAMES[i]))
			set |= 1u << i;
	return hue[set];
}

/* Regions between the exact cut-offs, not on the grid of powers of two. */
static void draw_regions(struct buf *b, const struct logca_view *v, const struct logca_plane *f, int *row)
{
	double edge[2 + 4 * LOGCA_LETTERS] = { v->lo, v->hi };
	int n = 2;

	for (int i = 0; i < LOGCA_LETTERS; i++) {
		double iv[2][2];

		for (int k = 0, cuts = logca_cut(&v->p, (enum logca_letter)i, v->lo, v->hi, iv); k < cuts; k++) {
			edge[n++] = iv[k][0];
			edge[n++] = iv[k][1];
		}
	}
	qsort(edge, (size_t)n, sizeof(*edge), by_double);
	for (int i = 0; i + 1 < n; i++) {
		double a = plane_x(f, edge[i]), z = plane_x(f, edge[i + 1]), y;
		char letters[LOGCA_LETTERS + 1];

		if (z - a < .05)
			continue;
		logca_letters(&v->p, sqrt(edge[i] * edge[i + 1]), letters);
		buf_addf(b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", a, Y0, z - a,
			 Y1 - Y0, tint(letters));
		/* a narrow region's label goes a line up so that neighbours do not run together */
		y = Y0 - 6 - (z - a < 8. * (double)strlen(letters) + 4 && (*row)++ % 2 == 0 ? 13 : 0);
		buf_addf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"r\">%s</text>\n", (a + z) / 2, y,
			 *letters ? letters : "none");
		if (i)
			buf_addf(b, "<path d=\"M%.1f %dV%d\" class=\"cut\"/>\n", a, Y0, Y1);
	}
}

static void draw_mark(struct buf *b, const struct logca_plane *f, double g, double s, const char *name, int line)
{
	AUTO_BUF(size);
	double x = plane_x(f, g);
	bool left = x > X1 - 110;

	logca_size(&size, g);
	buf_addf(b, "<path d=\"M%.1f %.1fV%d\" class=\"mark\"/>\n", x, plane_y(f, s), Y1);
	buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#c04a00\"/>\n", x, plane_y(f, s));
	buf_addf(b, "<text x=\"%.1f\" y=\"%d\" class=\"%s\">%s = %s</text>\n", x + (left ? -6 : 6), Y1 - 10 - 15 * line,
		 left ? "me" : "m", name, size.data);
}

/* From where to where a ten times better parameter counts, as horizontal arrows: the head is where it ceases to. */
static void arrows(struct buf *b, const struct logca_view *v, const struct logca_plane *f)
{
	int y = Y0 + 12;

	for (int i = 0; i < LOGCA_LETTERS; i++) {
		double iv[2][2];
		int cuts = logca_cut(&v->p, (enum logca_letter)i, v->lo, v->hi, iv);

		for (int k = 0; k < cuts; k++) {
			double a = plane_x(f, iv[k][0]), z = plane_x(f, iv[k][1]);
			bool begins = iv[k][0] > v->lo * (1 + 1e-9), ends = iv[k][1] < v->hi * (1 - 1e-9);

			buf_addf(b, "<path d=\"M%.1f %dH%.1f\" class=\"reach\"/>\n", a, y, z);
			if (ends || !begins)
				buf_addf(b, "<path d=\"M%.1f %dl-6 -3v6z\" class=\"tip\"/>\n", z, y);
			if (begins)
				buf_addf(b, "<path d=\"M%.1f %dl6 -3v6z\" class=\"tip\"/>\n", a, y);
			buf_addf(b, "<text x=\"%.1f\" y=\"%d\" class=\"n\">%c</text>\n", (a + z) / 2, y - 2,
				 LOGCA_LETTER_NAMES[i]);
		}
		y += cuts ? 13 : 0;
	}
}

static int legend(struct buf *b, const struct logca_view *v, bool observed)
{
	static const char *const meaning[LOGCA_LETTERS] = { "L latency", "o overhead", "C work per byte",
							    "A acceleration" };
	int y = Y0 + 10;

	if (observed) {
		buf_addf(
			b,
			"<circle cx=\"%d\" cy=\"%d\" r=\"3.5\" class=\"seen\"/><text x=\"%d\" y=\"%d\" class=\"l\">observed</text>\n",
			X1 + 26, y, X1 + 44, y + 4);
		y += 20;
	}
	buf_addf(b, "<path d=\"M%d %dh24\" class=\"curve\"/><text x=\"%d\" y=\"%d\" class=\"l\">%s</text>\n", X1 + 14,
		 y, X1 + 44, y + 4, v->fit ? "LogCA, fitted" : "LogCA");
	y += 20;
	buf_addf(b, "<path d=\"M%d %dh24\" class=\"bound\"/><text x=\"%d\" y=\"%d\" class=\"l\">bound</text>\n",
		 X1 + 14, y, X1 + 44, y + 4);
	y += 30;
	buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">worth improving:</text>\n", X1 + 14, y);
	for (int i = 0; i < LOGCA_LETTERS; i++)
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">%s</text>\n", X1 + 24, y += 17, meaning[i]);
	return y + 28;
}

/* Two lines for each stretch: there may be eight. */
static void stretch_values(struct buf *b, const struct logca_view *v, int y)
{
	const struct logca *p = &v->p;

	buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">", X1 + 14, y);
	logca_size(b, v->fit->gmin);
	buf_addstr(b, " to ");
	logca_size(b, v->fit->gmax);
	buf_addf(b, "</text>\n<text x=\"%d\" y=\"%d\" class=\"l\">%s ", X1 + 20, y + 15,
		 v->fit->near_one && !v->fit->zero_used ? "A eff." : "A");
	if (isinf(p->A))
		buf_addstr(b, "unbounded");
	else
		buf_addf(b, "%.3g", p->A);
	buf_addf(b, ", misfit %.0f %%</text>\n", v->fit->error * 100);
}

static void values(struct buf *b, const struct logca_view *v, int y)
{
	const struct logca *p = &v->p;

	buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">beta = %.3f</text>\n", X1 + 14, y, p->beta);
	buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">C = %.4g %s</text>\n", X1 + 14, y += 17, p->C, v->unit);
	if (p->t0 > 0)
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">t0 = %.4g</text>\n", X1 + 14, y += 17, p->t0);
	if (v->fit && p->kind == LOGCA_INDEP && !v->fit->submit_used)
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">o + L = %.4g</text>\n", X1 + 14, y += 17, p->o + p->L);
	else
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">o = %.4g, L = %.4g%s</text>\n", X1 + 14, y += 17, p->o,
			 p->L, p->kind == LOGCA_DEP ? "/B" : "");
	if (isinf(p->A))
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">A has no upper bound</text>\n", X1 + 14, y += 17);
	else
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">%s = %.4g</text>\n", X1 + 14, y += 17,
			 v->fit && v->fit->near_one && !v->fit->zero_used ? "A effective" : "A", p->A);
	if (v->fit)
		buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"l\">misfit %.1f %%</text>\n", X1 + 14, y += 17,
			 v->fit->error * 100);
}

/* g1 and gA/2 (or half of the attainable peak), where they lie in the part drawn. */
static void marks(struct buf *b, const struct logca_view *v, const struct logca_plane *f, int *lines)
{
	double root[2], pg, ps;

	for (int i = 0, n = logca_solve(&v->p, 1, root); i < n; i++)
		if (root[i] > v->lo && root[i] < v->hi)
			draw_mark(b, f, root[i], 1, n > 1 && i ? "g1 (end)" : "g1", (*lines)++);
	if (isfinite(v->p.A) && v->p.A > 1) {
		for (int i = 0, n = logca_solve(&v->p, v->p.A / 2, root); i < n; i++)
			if (root[i] > v->lo && root[i] < v->hi)
				draw_mark(b, f, root[i], v->p.A / 2, "gA/2", (*lines)++);
	} else {
		logca_peak(&v->p, v->lo, v->hi, &pg, &ps);
		root[0] = logca_half_peak(&v->p, ps);
		if (root[0] > v->lo && root[0] < v->hi)
			draw_mark(b, f, root[0], ps / 2, "half peak", (*lines)++);
	}
}

static struct logca_plane plot_frame(const struct logca_view *v, const double *seen, size_t n)
{
	double lo = INFINITY, hi = 0;

	for (int i = 0; i <= 240; i++) {
		double at = v->lo * pow(v->hi / v->lo, i / 240.);
		struct logca_view part = logca_part(v, logca_part_of(v, at));
		double s = logca_speedup(&part.p, at);

		lo = fmin(lo, s);
		hi = fmax(hi, s);
	}
	for (size_t i = 0; i < n; i++) {
		lo = fmin(lo, seen[i]);
		hi = fmax(hi, seen[i]);
	}
	if (!v->seg && isfinite(v->p.A) && v->p.A < hi * 4)
		hi = fmax(hi, v->p.A);
	return plane_of(v->lo, v->hi, lo, hi);
}

void logca_svg(struct buf *b, const struct logca_view *v)
{
	double g[512], seen[512];
	size_t points = v->pts ? logca_observed(v->pts, g, seen, 512) : 0;
	struct logca_plane f = plot_frame(v, seen, points);
	int parts = v->seg ? v->segs : 1, lines = 0, row = 0, y, height = PLANE_HEIGHT;

	if (v->seg) /* what stands beside the plane needs the room */
		height = (int)fmax(PLANE_HEIGHT, 260 + 38 * parts);

	plane_begin(b, PLANE_WIDTH, height);
	for (int i = 0; i < parts; i++) {
		struct logca_view part = logca_part(v, i);

		draw_regions(b, &part, &f, &row);
		if (i)
			buf_addf(b, "<path d=\"M%.1f %dV%d\" class=\"change\"/>\n", plane_x(&f, part.lo), Y0, Y1);
	}
	plane_grid(b, &f);
	plane_title(b, v->name ? v->name : "LogCA");
	plane_one(b, &f);
	for (int i = 0; i < parts; i++) {
		struct logca_view part = logca_part(v, i);

		plane_curve(b, &f, &part, true, "class=\"bound\"");
		plane_curve(b, &f, &part, false, "class=\"curve\"");
	}
	for (size_t i = 0; i < points; i++)
		buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" class=\"seen\"/>\n", plane_x(&f, g[i]),
			 plane_y(&f, seen[i]));
	for (int i = 0; i < parts; i++) {
		struct logca_view part = logca_part(v, i);

		marks(b, &part, &f, &lines);
	}
	if (!v->seg)
		arrows(b, v, &f);
	plane_axes(b);
	y = legend(b, v, points > 0);
	for (int i = 0; i < parts; i++) {
		struct logca_view part = logca_part(v, i);

		v->seg ? stretch_values(b, &part, y + 38 * i) : values(b, &part, y);
	}
	svg_end(b);
}
