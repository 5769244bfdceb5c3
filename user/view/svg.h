/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What pictures share: frame, names, colours, curves over a logarithmic axis. Appends to a struct buf. Included by
 * this room alone.
 *
 * Pictures are drawn in light colours, told by attributes (fill="#eee"), which every program that draws SVG knows;
 * svg_end() adds what a dark screen shows instead: the same hues, light where they were dark. Hues are Okabe and Ito's,
 * which colour-blind people tell apart.
 */
#ifndef ACCPERF_VIEW_SVG_H
#define ACCPERF_VIEW_SVG_H

#include "util/buf.h"

void svg_begin(struct buf *out, unsigned width, unsigned height, const char *title);
#define SVG_FRAME "font-family=\"Helvetica,Arial,sans-serif\" role=\"img\""
/* Of the picture that was begun last, by svg_begin() or not: its dark colours, and the end. */
void svg_end(struct buf *out);
/* A picture that another program drew: the same for it. */
void svg_adopt(struct buf *out);
/* Of a picture with style rules of its own: the same rules for a dark screen, to stand behind them. */
void svg_dark_rules(struct buf *out, const char *rules);
/* anchor: start, middle or end; names are cut to 60 columns. */
void svg_label(struct buf *out, double x, double y, const char *anchor, const char *text);
/* Of curve or function number i: eight that can be told apart, then again. */
const char *svg_colour(unsigned i);

struct svg_axes {
	double left, top, width, height;
	double x0, x1, y0, y1; /* above 0: both axes are logarithmic */
};
void svg_axes(struct buf *out, const struct svg_axes *a, const char *x_name, const char *y_name);
/* Points that are NaN are left out. */
void svg_curve(struct buf *out, const struct svg_axes *a, const double *x, const double *y, unsigned count,
	       const char *colour);

#endif
