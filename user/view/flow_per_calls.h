/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often a function was called, from whatever in a profile tells. Included by cli/flow.c. */
#ifndef ACCPERF_VIEW_FLOW_PER_CALLS_H
#define ACCPERF_VIEW_FLOW_PER_CALLS_H

#include "flow/input.h"
#include "util/err.h"
#include "view/flow.h"

struct flow_per_of {
	const char *input; /* the profile's path: probes and execution counts are read from there */
	const struct flow_input *in;
	const struct flow *flow;
	bool part; /* it is that of some processes or threads */
};

/* -ENOENT: nothing knows the function. */
int flow_per_find(const char *function, const struct flow_per_of *of, struct flow_per *out, struct err *e);

#endif
