/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How likely it is that memory which nobody was seen to write was indeed not written since the recording
 * began: from how long watch windows were open, and which of them saw a write. Otherwise the producer was
 * missed, and is another function. Included by this room and tests. To tell it from something else: a figure by
 * instruction or by window here, used in fused.c.
 */
#ifndef ACCPERF_FLOW_REWRITE_RATE_H
#define ACCPERF_FLOW_REWRITE_RATE_H

#include "estimate.h"
#include "flow/input.h"

struct rewrite_rate {
	double *window; /* by window: of its address, when it was armed */
	double *site;   /* by load instruction: of what it reads */
	double *rate;   /* by load instruction: writes per ns to what it reads, where that changes */
	uint32_t sites;
	double usual, usual_rate; /* of what has no windows */
};

int rewrite_rate_learn(struct rewrite_rate *s, const struct flow_input *in, const struct est_opts *o);
double rewrite_rate_window(const struct rewrite_rate *s, uint32_t window);
/* How often what this instruction reads is written in so long; the probability that it was not. */
double rewrite_rate_writes(const struct rewrite_rate *s, uint32_t site, uint64_t age);
double rewrite_rate_valid(const struct rewrite_rate *s, uint32_t site, uint64_t age);
double rewrite_rate_site(const struct rewrite_rate *s, uint32_t site);
void rewrite_rate_release(struct rewrite_rate *s);

#endif
