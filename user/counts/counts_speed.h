/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the observed code ran: instructions per second of CPU time, over what was estimated. Everything that is so
 * many, or so many bytes, in all or a second rests on it where samples come by time; shares and ratios do not. This
 * is the one place that says whether it is known: counts, flow, objects, timeline and their views ask nothing else.
 */
#ifndef ACCPERF_COUNTS_COUNTS_SPEED_H
#define ACCPERF_COUNTS_COUNTS_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#include "counts/segment_rate.h"

struct counts_built;
struct counts_record;

struct counts_speed {
	bool measured; /* else amounts rest on an assumption, and are not shown */
	/* by what lies between system calls (segment_rate.h): no rate of code was measured, or none so closely */
	bool by_segments;
	double low, high; /* 95 % of the true speed, over the estimate; NaN: not measured */
	/* Where it was not: how long a recording is likely to be that measures it, by what this one saw of rates.
	 * Infinite: no breakpoint was hit, so length alone does not do; NaN: no telling. */
	double seconds;
};

/* What segments between system calls tell of it. */
struct segment_rate counts_segments(const struct counts_record *r, uint64_t *dropped);

/* They know the speed more closely than rates of code can: those have no say. */
bool counts_speed_by_segments(const struct counts_record *r);

/* What a view says where it shows no amounts, with what to do; seconds: see above. Returns the text. */
struct counts_speed_note {
	char text[320];
};
const char *counts_speed_note(struct counts_speed_note *n, double seconds);

/* Of a recording, and its tree that counts_solve() has solved. */
struct counts_speed counts_speed(const struct counts_record *r, const struct counts_built *b);

/* The same; where segments alone tell it, the tree's instructions and runs are brought to what they tell. */
struct counts_speed counts_speed_settle(const struct counts_record *r, struct counts_built *b);

#endif
