/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quantiles of the normal distribution and of Student's: half the width of an interval, in standard errors. Included by
 * many rooms.
 */
#ifndef ACCPERF_UTIL_NORMAL_H
#define ACCPERF_UTIL_NORMAL_H

/* standard errors to either side */
#define Z80 1.281552 /* of an interval that holds 80 % */
#define Z90 1.644854 /* 90 % */
#define Z95 1.959964 /* 95 % */
#define Z99 2.575829 /* 99 % */

/* Of an interval that holds 0.8, 0.9, 0.95 or 0.99: the nearest of these. */
static inline double normal_half(double level)
{
	return level >= 0.985 ? Z99 : level >= 0.94 ? Z95 : level >= 0.89 ? Z90 : Z80;
}

/* Of one that holds 95 %, where the standard error was estimated itself, with so many degrees of freedom. Below one:
 * NaN; between whole ones below seven: the wider. */
double student_half(double freedom);

#endif
