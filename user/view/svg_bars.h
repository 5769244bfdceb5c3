/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bars with intervals, one a row: what `advise --svg` and `objects --svg` draw. Appends to a struct buf.
 * Included by user/view.
 */
#ifndef ACCPERF_VIEW_SVG_BARS_H
#define ACCPERF_VIEW_SVG_BARS_H

#include "util/buf.h"

struct svg_bar {
	const char *name, *under, *says; /* under: small, below the name; says: at the row's end; NULL: nothing */
	double value, low, high;         /* NaN: unknown, and drawn as that */
	unsigned hue;                    /* of svg_colour() */
};

struct svg_bars {
	const char *title, *axis;
	const struct svg_bar *bar;
	unsigned count;
	bool times;       /* factors on a logarithmic axis around 1; else shares of 1 */
	const char *none; /* what stands there where there is no bar */
};

void svg_bars(const struct svg_bars *of, struct buf *out);

#endif
