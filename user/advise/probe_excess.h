/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a probe takes within a call beyond what was taken off its times. That was measured on ourselves; in the target
 * it is more or less, within a doubt that is known, and alike for all calls of a function. A function's shortest calls
 * tell more: they cannot take less than nothing. Included by user/advise, tests. Pure.
 */
#ifndef ACCPERF_ADVISE_PROBE_EXCESS_H
#define ACCPERF_ADVISE_PROBE_EXCESS_H

#include "offload/summary.h"

/* ns to take off every time; *most: it is no more than that. 0 and the doubt itself where nothing tells more. */
double probe_excess(const struct offload_item *it, double *most);
/* Mean time of all its calls, from those without a context switch inside: the time of the others holds the kernel's
 * work, and caches that somebody else filled. Each size by itself, as long calls meet more switches. NaN: of some size
 * most calls were switched (they wait by nature), or sizes are not known. */
double call_mean_by_size(const struct offload_item *it);

#endif
