/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number with its interval (nominally 90 %), as the verdict carries it from input to sentence. Included by
 * this room alone. NaN: unknown, never 0. A value without low and high has no known interval, and what is computed
 * from it has none. Pure functions.
 */
#ifndef ACCPERF_ADVISE_FIGURE_H
#define ACCPERF_ADVISE_FIGURE_H

#include <math.h>
#include <stdbool.h>

struct figure {
	double value, low, high;
};

#define FIGURE_UNKNOWN ((struct figure){ NAN, NAN, NAN })
#define FIGURE_EXACT(v) ((struct figure){ (v), (v), (v) })

static inline bool figure_known(const struct figure *f)
{
	return !isnan(f->value);
}

static inline bool figure_bounded(const struct figure *f)
{
	return !isnan(f->value) && !isnan(f->low) && !isnan(f->high);
}

/* Two ways to the same figure: the one that knows it more closely; both, where they contradict each other. */
static inline struct figure figure_closer(struct figure a, struct figure b)
{
	bool a_known = figure_bounded(&a) && a.low > 0 && isfinite(a.high);
	bool b_known = figure_bounded(&b) && b.low > 0 && isfinite(b.high);

	if (a_known && b_known) {
		struct figure out = a.high / a.low <= b.high / b.low ? a : b;

		if (a.high < b.low || b.high < a.low) { /* one of them is wrong, and nothing tells which */
			out.low = fmin(a.low, b.low);
			out.high = fmax(a.high, b.high);
		}
		return out;
	}
	return b_known || !figure_known(&a) ? b : a;
}

/* A share from nothing to all, as where the recording took most of the time. */
static inline bool figure_may_be_any_share(const struct figure *f)
{
	return figure_bounded(f) && f->low <= 0 && f->high >= 1;
}

#endif
