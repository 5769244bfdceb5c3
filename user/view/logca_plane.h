/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plane that LogCA's pictures are drawn on: speed-up over size, both logarithmic, with axes, grid and the line
 * of no gain. Included by user/view/logca_*.c.
 */
#ifndef ACCPERF_VIEW_LOGCA_PLANE_H
#define ACCPERF_VIEW_LOGCA_PLANE_H

#include "view/logca.h"

/* Units of the viewBox: the picture, and the plane's sides in it, with room for labels around; by hand. */
#define PLANE_WIDTH 860
#define PLANE_HEIGHT 520
#define X0 74
#define X1 700
#define Y0 56
#define Y1 430

struct logca_plane {
	double x0, x1, y0, y1; /* ln of size, ln of speed-up */
};

double plane_x(const struct logca_plane *f, double g);
double plane_y(const struct logca_plane *f, double s);
/* Speed-ups from lo to hi, with room around them; never more than six decades. */
struct logca_plane plane_of(double from, double to, double lo, double hi);
/* <svg>, styles, white ground and the clip path. */
void plane_begin(struct buf *b, int width, int height);
void plane_grid(struct buf *b, const struct logca_plane *f);
void plane_title(struct buf *b, const char *title);
void plane_axes(struct buf *b);
/* The line of speed-up 1, where it is in sight. */
void plane_one(struct buf *b, const struct logca_plane *f);
/* Speed-up of p, or its bound, from lo to hi; attributes: of the path. */
void plane_curve(struct buf *b, const struct logca_plane *f, const struct logca_view *v, bool bound,
		 const char *attributes);

#endif
