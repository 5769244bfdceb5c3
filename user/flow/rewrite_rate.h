/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How likely it is that memory which nobody was seen to write was indeed not written since the recording
 * began: from how long watch windows were open, and which of them saw a write. Otherwise the producer was
 * missed, and is somebody else. Included by user/flow only. To tell it from something else: a figure by
 * instruction or by window here, used in fused.c.
 */
#ifndef ACCPERF_FLOW_STILL_H
#define ACCPERF_FLOW_STILL_H

#include "estimate.h"
#include "flow/input.h"

struct still {
	double *window; /* by window: of its address, when it was armed */
	double *site;	/* by load instruction: of what it reads */
	double *rate;	/* by load instruction: writes per ns to what it reads, where that changes */
	uint32_t sites;
	double usual, usual_rate; /* of what has no windows */
};

int still_learn(struct still *s, const struct flow_input *in, const struct est_opts *o);
double still_window(const struct still *s, uint32_t window);
/* Probability that what this instruction reads was not written for so long. */
double still_valid(const struct still *s, uint32_t site, uint64_t age);
double still_site(const struct still *s, uint32_t site);
void still_release(struct still *s);

#endif
