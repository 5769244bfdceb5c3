// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/svg.h"

#include <math.h>

#include "util/clean.h"
#include "view/text.h"

void svg_begin(struct buf *out, unsigned width, unsigned height, const char *title)
{
	buf_addf(out,
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" " SVG_FRAME
		 " font-size=\"12\">\n"
		 "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"10\" y=\"20\" font-size=\"14\">",
		 width, height, width, height);
	clean_add(out, title, CLEAN_XML);
	buf_addstr(out, "</text>\n");
}

void svg_label(struct buf *out, double x, double y, const char *anchor, const char *text)
{
	AUTO_BUF(name);

	text_name(&name, text, 60, 0);
	buf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	clean_add(out, name.data ? name.data : "", CLEAN_XML);
	buf_addstr(out, "</text>\n");
}

const char *svg_colour(unsigned i)
{
	static const char *const colours[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
					       "#e69f00", "#56b4e9", "#7a5c4d", "#6c757d" };

	return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

static double x_of(const struct svg_axes *a, double x)
{
	return a->left + a->width * (log(x) - log(a->x0)) / (log(a->x1) - log(a->x0));
}

static double y_of(const struct svg_axes *a, double y)
{
	return a->top + a->height * (1 - (log(y) - log(a->y0)) / (log(a->y1) - log(a->y0)));
}

void svg_axes(struct buf *out, const struct svg_axes *a, const char *x_name, const char *y_name)
{
	buf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"#999\"/>\n",
		 a->left, a->top, a->width, a->height);
	for (double x = a->x0; x <= a->x1 * 1.0001; x *= 4) {
		AUTO_BUF(text);

		buf_addf(&text, "%.4g", x);
		svg_label(out, x_of(a, x), a->top + a->height + 15, "middle", text.data ? text.data : "");
	}
	for (double y = a->y0; y <= a->y1 * 1.0001; y *= a->y1 / a->y0 > 64 ? 4 : 2) {
		AUTO_BUF(text);

		buf_addf(&text, "%.4g", y);
		svg_label(out, a->left - 5, y_of(a, y) + 4, "end", text.data ? text.data : "");
		buf_addf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#eee\"/>\n", a->left,
			 a->left + a->width, y_of(a, y), y_of(a, y));
	}
	svg_label(out, a->left + a->width / 2, a->top + a->height + 32, "middle", x_name);
	svg_label(out, a->left, a->top - 7, "start", y_name);
}

void svg_curve(struct buf *out, const struct svg_axes *a, const double *x, const double *y, unsigned count,
	       const char *colour)
{
	buf_addf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
	for (unsigned i = 0; i < count; i++)
		if (y[i] > 0 && isfinite(x[i]))
			buf_addf(out, "%.1f,%.1f ", x_of(a, x[i]), y_of(a, fmin(y[i], a->y1)));
	buf_addstr(out, "\"/>\n");
}
