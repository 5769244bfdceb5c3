/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much what earlier recordings saw is worth in this one: by function, so many of this one's bursts for each of
 * theirs. Of several worths each is as likely as it lets one expect what this recording's own bursts saw at the loads
 * that both met (Dirichlet and multinomial: a power prior), and how likely each is at all is fitted to all functions.
 * So a program that does something else now is left with little, and what only earlier ones met counts as what both
 * met turned out to. Arithmetic; included by user/flow and tests.
 */
#ifndef ACCPERF_FLOW_EARLIER_WORTH_H
#define ACCPERF_FLOW_EARLIER_WORTH_H

#include <stddef.h>
#include <stdint.h>

#define EARLIER_DROPPED 0.05 /* worth of a function, below which its earlier recordings are contradicted */

/* Of one load: bursts of both, and of each of `writers` (the last: nobody in the burst) the part that was its. */
struct earlier_compared {
	uint32_t func; /* that reads */
	double now, then;
	size_t first, writers; /* into parts */
};

struct earlier_part_of {
	double now, then;
};

/* worth: by function, of `funcs`. 0; -ENOMEM. */
int earlier_worth(const struct earlier_compared *load, size_t loads, const struct earlier_part_of *part, double *worth,
		  uint32_t funcs);

#endif
