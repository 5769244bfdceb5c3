// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/logca_plane.h"
#include "view/svg.h"

#include <math.h>

#include "util/clean.h"

double plane_x(const struct logca_plane *f, double g)
{
	return X0 + (log(g) - f->x0) / (f->x1 - f->x0) * (X1 - X0);
}

double plane_y(const struct logca_plane *f, double s)
{
	return Y1 - (log(s) - f->y0) / (f->y1 - f->y0) * (Y1 - Y0);
}

struct logca_plane plane_of(double from, double to, double lo, double hi)
{
	/* an offload that costs nothing, or everything, has no place in a plane: it ends somewhere */
	hi = fmin(fmax(hi * 1.4, 2), LOGCA_MOST_SHOWN);
	lo = fmax(fmin(lo, .5), hi * 1e-6);
	return (struct logca_plane){ log(from), log(to), log(lo * .8), log(hi) };
}

void plane_begin(struct buf *b, int width, int height)
{
	static const char *const rules =
		".axis{stroke:#333;fill:none}.grid{stroke:#999;stroke-width:.4;fill:none}.change{stroke:#0072b2;stroke-width:1;stroke-dasharray:1 3;fill:none}.cut{stroke:#888;stroke-width:.7;stroke-dasharray:2 3;fill:none}"
		".curve{stroke:#0072b2;stroke-width:2.2;fill:none}.bound{stroke:#333;stroke-width:1.2;stroke-dasharray:7 4;fill:none}"
		".one{stroke:#333;stroke-width:1.2;fill:none}.mark{stroke:#c04a00;stroke-width:1;stroke-dasharray:4 3;fill:none}.seen{fill:#fff;stroke:#111;stroke-width:1.2}"
		"text{fill:#222}.r,.t,.h{text-anchor:middle}.r{font-weight:bold}.h{font-size:15px}.e,.me{text-anchor:end}.m,.me{fill:#c04a00}"
		".reach{stroke:#444;stroke-width:1;fill:none}.tip{fill:#444}.n{text-anchor:middle;font-size:10px}";

	buf_addf(b,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" " SVG_FRAME
		 " font-size=\"12\">\n<style>%s",
		 width, height, width, height, rules);
	svg_dark_rules(b, rules);
	buf_addf(
		b,
		"</style>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<clipPath id=\"plane\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></clipPath>\n",
		width, height, X0, Y0, X1 - X0, Y1 - Y0);
}

void plane_grid(struct buf *b, const struct logca_plane *f)
{
	int first = (int)ceil(f->x0 / M_LN2 - 1e-9), last = (int)floor(f->x1 / M_LN2 + 1e-9);
	int step = last - first > 12 ? 3 : last - first > 6 ? 2 : 1;

	for (int e = first; e <= last; e++) {
		double x = plane_x(f, exp2(e));
		AUTO_BUF(text);

		buf_addf(b, "<path d=\"M%.1f %dv%d\" class=\"axis\"/>\n", x, Y1, (e - first) % step ? 3 : 6);
		if ((e - first) % step)
			continue;
		logca_size(&text, exp2(e));
		buf_addf(b, "<text x=\"%.1f\" y=\"%d\" class=\"t\">%s</text>\n", x, Y1 + 20, text.data);
	}
	for (int d = (int)ceil(f->y0 / M_LN10 - 1e-9); d <= (int)floor(f->y1 / M_LN10 + 1e-9); d++) {
		double y = plane_y(f, pow(10, d));

		buf_addf(b, "<path d=\"M%d %.1fH%d\" class=\"grid\"/>\n", X0, y, X1);
		buf_addf(b, "<text x=\"%d\" y=\"%.1f\" class=\"e\">%g</text>\n", X0 - 8, y + 4, pow(10, d));
	}
}

void plane_title(struct buf *b, const char *title)
{
	buf_addf(b, "<text x=\"%d\" y=\"22\" class=\"h\">", (X0 + X1) / 2);
	clean_add(b, title, CLEAN_XML);
	buf_addstr(b, "</text>\n");
}

void plane_axes(struct buf *b)
{
	buf_addf(b, "<path d=\"M%d %dV%dH%d\" class=\"axis\"/>\n", X0, Y0, Y1, X1);
	buf_addf(b, "<text x=\"%d\" y=\"%d\" class=\"t\">granularity (bytes handed over by one call)</text>\n",
		 (X0 + X1) / 2, Y1 + 46);
	buf_addf(b, "<text transform=\"translate(20 %d) rotate(-90)\" class=\"t\">speed-up</text>\n", (Y0 + Y1) / 2);
}

void plane_one(struct buf *b, const struct logca_plane *f)
{
	if (f->y0 < 0 && f->y1 > 0)
		buf_addf(b, "<path d=\"M%d %.1fH%d\" class=\"one\"/>\n", X0, plane_y(f, 1), X1);
}

void plane_curve(struct buf *b, const struct logca_plane *f, const struct logca_view *v, bool bound,
		 const char *attributes)
{
	bool open = false;

	buf_addstr(b, "<path d=\"");
	for (int i = 0; i <= 240; i++) {
		double g = v->lo * pow(v->hi / v->lo, i / 240.);
		double s = bound ? logca_bound(&v->p, g) : logca_speedup(&v->p, g);

		if (!isfinite(s) || log(s) < f->y0 - 1 || log(s) > f->y1 + 1) {
			open = false;
			continue;
		}
		buf_addf(b, "%s%.1f %.1f", open ? "L" : "M", plane_x(f, g), plane_y(f, s));
		open = true;
	}
	buf_addf(b, "\" %s clip-path=\"url(#plane)\"/>\n", attributes);
}
