/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pictures share: frame, names, colours, curves over a logarithmic axis. Appends to a struct buf. Included by
 * user/view. */
#ifndef ACCPERF_VIEW_SVG_H
#define ACCPERF_VIEW_SVG_H

#include "util/buf.h"

void svg_begin(struct buf *out, unsigned width, unsigned height, const char *title);
void svg_end(struct buf *out);
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
