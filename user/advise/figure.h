/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A number with its interval (nominally 90 %), as the verdict carries it from input to sentence. Included by
 * user/advise, user/view, user/cli, tests. NaN: unknown, never 0. A value without low and high has no known interval,
 * and what is computed from it has none. Pure functions.
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

/* A share from nothing to all, as where the recording took most of the time. */
static inline bool figure_may_be_any_share(const struct figure *f)
{
	return figure_bounded(f) && f->low <= 0 && f->high >= 1;
}

#endif
