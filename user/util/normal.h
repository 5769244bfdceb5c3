/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quantiles of the normal distribution: half the width of an interval, in standard errors. Included by everybody.
 */
#ifndef ACCPERF_UTIL_NORMAL_H
#define ACCPERF_UTIL_NORMAL_H

#define Z90 1.6449 /* of an interval that holds 90 % */
#define Z95 1.96   /* of one that holds 95 % */

/* Of an interval that holds 0.8, 0.9, 0.95 or 0.99: the nearest of these. */
static inline double normal_half(double level)
{
	return level >= 0.985 ? 2.576 : level >= 0.94 ? Z95 : level >= 0.89 ? 1.645 : 1.282;
}

#endif
