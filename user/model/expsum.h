/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zeros and sign of f(x) = sum of at most three c_i e^(k_i x). Every question LogCA asks about its
 * curves (where is S = s, where is a term a bottleneck, where is the peak) has this form with
 * x = ln g, and such a sum has at most two zeros, so all are found exactly, with no grid.
 * Included by user/model only. Pure functions.
 */
#ifndef ACCPERF_EXPSUM_H
#define ACCPERF_EXPSUM_H

struct expsum_term {
	double c, k;
};

/* Bracket of the search where there is no closed form: 1e-40 .. 1e40 bytes. */
#define EXPSUM_SPAN 92.10340371976183

/* Zeros with a change of sign, ascending; returns 0, 1 or 2. Three terms: those in +-EXPSUM_SPAN. */
int expsum_roots(const struct expsum_term *t, int n, double x[2]);
/* Intervals of [lo, hi] where f >= 0, ascending; returns their number. */
int expsum_positive(const struct expsum_term *t, int n, double lo, double hi, double iv[2][2]);

#endif
