/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long threads were off the CPU, folded to one sum a stack while the file streams past (struct profile_wait), and
 * what part of a function's calls that is: of the time between entry and return of all its calls, with what they call.
 * Included by user/profile, user/advise, user/view, tests.
 *
 * Some of the waits are drawn and told, each for `weight` of them. The interval is a Poisson law's over their effective
 * number, (sum w d)^2 / sum (w d)^2, so that one long wait does not look like the evidence of many.
 *
 * To tell waits apart by another thing: a sum in struct profile_wait and struct function_wait, and its line in
 * take_wait() and waits_by_function().
 */
#ifndef ACCPERF_PROFILE_WAITS_H
#define ACCPERF_PROFILE_WAITS_H

#include "profile/profile.h"

struct filter;

struct function_wait {
	double ns, ready_ns; /* with all it calls; ready: another thread had the CPU. A part of ns */
	double squares;      /* of what each told wait stands for */
	uint64_t count;      /* told */
};

struct wait_share {
	double value, low, high; /* of 1; NaN: unknown */
};

/* Whether waits were observed at all: none told is then none seen. */
bool waits_observed(const struct profile *p);
/* One for each function of the profile, to be freed; NULL: out of memory. */
struct function_wait *waits_by_function(const struct profile *p, bool inlined, const struct filter *filter);
/* 95 % of a sum of waits. Of none seen: up to what three waits of the profile's typical length would be. */
void waits_interval(const struct profile *p, const struct function_wait *w, double *low, double *high);
/* Beside running for `run` ns with its interval. */
struct wait_share wait_share(const struct profile *p, const struct function_wait *w, double run, double run_low,
			     double run_high);

/* For profile.c. */
int waits_take(struct profile *p, const struct fmt_wait *r);

#endif
