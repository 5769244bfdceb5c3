/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long calls of each size take the host: t0 + C g^beta of one function's probed calls, with intervals of 90 %, or
 * why there is no such curve. Included by user/advise, tests. Pure.
 */
#ifndef ACCPERF_ADVISE_HOST_CURVE_H
#define ACCPERF_ADVISE_HOST_CURVE_H

#include "advise/figure.h"
#include "offload/summary.h"

struct host_curve {
	struct figure t0, C, beta; /* ns; unknown where `why_not` says why */
	const char *why_not;       /* NULL: there is one */
};

/* What else the times are off by. */
struct host_beside {
	struct figure excess; /* ns that a probe left in every call (probe_excess.h) */
	double cold;          /* ns a byte that calls may take less, as the probe left its data cold */
	double taken;         /* part of the time that the recording took besides: between none and this */
	double drift;         /* of the machine's speed, as a factor of 1 or more */
};

struct host_curve host_curve_of(const struct offload_item *it, const struct host_beside *beside);

#endif
