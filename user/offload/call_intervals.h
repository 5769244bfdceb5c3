/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How well bytes and times of an item's calls are known: all intervals hold 90 %, as that of its number of calls.
 * Included by user/advise, user/view, tests. Pure.
 */
#ifndef ACCPERF_OFFLOAD_CALL_INTERVALS_H
#define ACCPERF_OFFLOAD_CALL_INTERVALS_H

#include "offload/summary.h"

struct call_interval {
	double low, high; /* NaN: unknown; the same: exact */
};

/* By how much of itself the mean size of all of an item's calls may lie off that of n of them; infinite: nobody
 * knows. */
double offload_mean_uncertain(const struct offload_item *it, double n);
/* Of the whole recording, where `counted` is what the counted calls took in or out. */
struct call_interval offload_bytes_interval(const struct offload_item *it, double counted);
/* By the ranks of what was recorded: quantiles as far off the half as half of so many calls may lie. */
struct call_interval spread_median_interval(const struct spread *s);

#endif
