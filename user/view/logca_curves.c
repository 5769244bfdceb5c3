// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/logca_curves.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/clean.h"
#include "view/logca_plane.h"
#include "view/svg.h"

#define SAMPLES 240     /* points of a curve from which its extent is taken; by hand */
#define NAME_COLUMNS 28 /* of the table's 80; by hand */

void logca_curves_of_improvements(struct logca_curves *c, const struct logca_view *v)
{
	static const char *const label[] = { "L / 10", "o / 10", "C x 10", "A x 10" };

	*c = (struct logca_curves){ .title = v->name, .count = 1 + LOGCA_LETTERS };
	for (unsigned i = 0; i < c->count; i++) {
		c->at[i] = (struct logca_view){
			.name = i ? label[i - 1] : "as it is", .unit = v->unit, .p = v->p, .lo = v->lo, .hi = v->hi
		};
		if (i)
			logca_improve(&c->at[i].p, (enum logca_letter)(i - 1), LOGCA_IMPROVE);
	}
}

static double half_size(const struct logca_view *v, double *value)
{
	double g[2], pg, ps;

	if (isfinite(v->p.A) && v->p.A > 1 && logca_solve(&v->p, v->p.A / 2, g)) {
		*value = v->p.A / 2;
		return g[0];
	}
	logca_peak(&v->p, v->lo, v->hi, &pg, &ps);
	*value = ps / 2;
	return logca_half_peak(&v->p, ps);
}

static void sized(struct buf *b, double g, int width)
{
	AUTO_BUF(text);

	if (isnan(g))
		buf_addstr(&text, "none");
	else
		logca_size(&text, g);
	text_pad_left(b, text.data ? text.data : "", (unsigned)width);
}

static void curve_name(struct buf *b, const struct logca_curves *c, unsigned i)
{
	text_name(b, c->at[i].name, NAME_COLUMNS - 1, NAME_COLUMNS);
	buf_addstr(b, c->doubtful[i] ? "(!) " : "    ");
}

static void speedups(struct buf *b, const struct logca_curves *c, const struct text_style *s)
{
	text_hue_on(b, s, TEXT_BOLD);
	buf_addf(b, "%-*s", NAME_COLUMNS + 4, "speed-up at");
	for (double g = c->at[0].lo; g <= c->at[0].hi * (1 + 1e-9); g *= 32)
		sized(b, g, 9);
	text_hue_off(b, s, TEXT_BOLD);
	buf_addch(b, '\n');
	for (unsigned i = 0; i < c->count; i++) {
		curve_name(b, c, i);
		for (double g = c->at[0].lo; g <= c->at[0].hi * (1 + 1e-9); g *= 32)
			buf_addf(b, "%9.3g", logca_speedup(&c->at[i].p, g));
		buf_addch(b, '\n');
	}
}

void logca_curves_text(struct buf *b, const struct logca_curves *c, const struct text_style *s)
{
	bool doubtful = false;

	text_hue_on(b, s, TEXT_BOLD);
	buf_addstr(b, "LogCA: ");
	text_name(b, c->title, 0, 0);
	text_hue_off(b, s, TEXT_BOLD);
	buf_addstr(b, "\n\n");
	text_hue_on(b, s, TEXT_BOLD);
	buf_addf(b, "%-*s%10s%10s%10s%10s  %s", NAME_COLUMNS + 4, "", "g1", "half", "of", "largest", "at");
	text_hue_off(b, s, TEXT_BOLD);
	buf_addch(b, '\n');
	for (unsigned i = 0; i < c->count; i++) {
		const struct logca_view *v = &c->at[i];
		double root[2], half, size = half_size(v, &half), pg, ps;

		logca_peak(&v->p, v->lo, v->hi, &pg, &ps);
		curve_name(b, c, i);
		sized(b, logca_solve(&v->p, 1, root) ? root[0] : NAN, 10);
		sized(b, size, 10);
		buf_addf(b, "%10.3g%10.3g  ", 2 * half, ps);
		logca_size(b, pg);
		buf_addch(b, '\n');
		doubtful |= c->doubtful[i];
	}
	buf_addch(b, '\n');
	speedups(b, c, s);
	buf_addstr(b,
		   "\ng1: the first size that pays; half: the size with half of A, or of the largest speed-up where\n"
		   "A/2 is not reached; largest: within the sizes shown\n");
	if (doubtful)
		buf_addstr(b,
			   "(!) published figures that contradict each other: `accperf logca show -d NAME` says how\n");
}

static const char *hue(unsigned i)
{
	static const char *const of[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6100",
					  "#56b4e9", "#e69f00", "#7a5c4d", "#334155", "#6c757d" };

	return of[i % (sizeof(of) / sizeof(of[0]))];
}

/* A curve beyond the tenth has a hue that was there: its dashes tell. */
static const char *dashes(unsigned i)
{
	return i >= 10 ? "7 4" : "none";
}

static void curves_legend(struct buf *b, const struct logca_curves *c)
{
	int y = Y0 + 10;

	for (unsigned i = 0; i < c->count; i++, y += 19) {
		buf_addf(b,
			 "<path d=\"M%d %dh20\" stroke=\"%s\" stroke-width=\"2.2\" stroke-dasharray=\"%s\"/>"
			 "<text x=\"%d\" y=\"%d\">",
			 X1 + 10, y, hue(i), dashes(i), X1 + 34, y + 4);
		clean_add(b, c->at[i].name, CLEAN_XML);
		buf_addf(b, "%s</text>\n", c->doubtful[i] ? " (!)" : "");
	}
	buf_addf(b, "<text x=\"%d\" y=\"%d\">dots: speed-up 1, and half of A</text>\n", X1 + 10, y + 14);
}

static void draw_root(struct buf *b, const struct logca_plane *f, const struct logca_view *v, double g, double s,
		      unsigned i)
{
	if (g > v->lo && g < v->hi && log(s) > f->y0 && log(s) < f->y1)
		buf_addf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", plane_x(f, g), plane_y(f, s),
			 hue(i));
}

void logca_curves_svg(struct buf *b, const struct logca_curves *c)
{
	double lo = INFINITY, hi = 0;
	struct logca_plane f;

	for (unsigned i = 0; i < c->count; i++)
		for (int k = 0; k <= SAMPLES; k++) {
			const struct logca_view *v = &c->at[i];
			double s = logca_speedup(&v->p, v->lo * pow(v->hi / v->lo, k / (double)SAMPLES));

			lo = fmin(lo, s);
			hi = fmax(hi, s);
		}
	f = plane_of(c->at[0].lo, c->at[0].hi, lo, hi);
	plane_begin(b, PLANE_WIDTH + 90, PLANE_HEIGHT);
	plane_grid(b, &f);
	plane_title(b, c->title);
	plane_one(b, &f);
	for (unsigned i = 0; i < c->count; i++) {
		const struct logca_view *v = &c->at[i];
		double root[2], half, size = half_size(v, &half);
		AUTO_BUF(how);

		buf_addf(&how, "fill=\"none\" stroke=\"%s\" stroke-width=\"2.2\" stroke-dasharray=\"%s\"", hue(i),
			 dashes(i));
		plane_curve(b, &f, v, false, how.data);
		for (int k = 0, n = logca_solve(&v->p, 1, root); k < n; k++)
			draw_root(b, &f, v, root[k], 1, i);
		if (!isnan(size) && half * 2 >= v->p.A)
			draw_root(b, &f, v, size, half, i);
	}
	plane_axes(b);
	curves_legend(b, c);
	svg_end(b);
}

void logca_curves_json(struct buf *b, const struct logca_curves *c)
{
	struct json j = { .out = b };

	json_obj(&j, NULL);
	json_str(&j, "schema", "accperf.logca-curves/1");
	json_str(&j, "title", c->title);
	json_arr(&j, "curves");
	for (unsigned i = 0; i < c->count; i++) {
		json_obj(&j, NULL);
		json_bool(&j, "doubtful", c->doubtful[i]);
		logca_json(&j, &c->at[i]);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addch(b, '\n');
}
