/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where time leads, by bursts (FMT_COUNTS_WENT): a burst goes from where time is spent to where that code leads.
 * Samples are many and bursts few, so the samples say how often a burst would begin in a function, and those that
 * began there how the instructions that follow are parted:
 *
 *	x(f) = sum over s of time(s) / pace(s) * row(s, f)
 *	row(s, f) = (sum over bursts from s of their part in f + prior) / (their number + what the prior weighs)
 *
 * Of a function in which few began, as much stays as of all together, and the rest goes where bursts lead from others.
 *
 * Pure arithmetic. Included by counts_build.c and tests.
 */
#ifndef ACCPERF_COUNTS_BURST_SHARES_H
#define ACCPERF_COUNTS_BURST_SHARES_H

#include "counts/counts_windows.h"

/* time: by function of the record, over its pace; becomes where it leads, as shares. As it is where bursts are
 * too few. 0, -ENOMEM. */
int burst_shares(const struct counts_record *r, double *time);

#endif
