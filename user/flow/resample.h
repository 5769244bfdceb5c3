/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resampling: how often each observation counts in a refit, and what the refits say of a figure's error. Arithmetic
 * without memory of its own. Included by this room and tests.
 */
#ifndef ACCPERF_FLOW_RESAMPLE_H
#define ACCPERF_FLOW_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "estimate.h"

/* By figure, over est_opts.bootstraps refits. */
struct resample_spread {
	double *sum, *squares;
	size_t n;
};

/* Poisson(1) counts: the bootstrap without a fixed total. */
void resample_draw(uint8_t *times, size_t n, uint64_t *state);
void spread_add(struct resample_spread *sp, size_t i, double value);
double spread_deviation(const struct resample_spread *sp, size_t i, const struct est_opts *o);
double spread_half_width(const struct resample_spread *sp, size_t i, const struct est_opts *o);
/* Of what cannot be negative. */
void spread_range(double value, double half, double *low, double *high);

/* How far the farther one of two other estimates is; w may be NAN: unknown. */
double farther_of(double a, double w, double fused);
/* Of the normal distribution, with a mean of 0 and a deviation of 1. */
double resample_normal(uint64_t *state);

#endif
