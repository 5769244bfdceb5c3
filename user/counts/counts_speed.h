/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the observed code ran: instructions per second of CPU time, over what was estimated. Everything that is so
 * many, or so many bytes, in all or a second rests on it where samples come by time; shares and ratios do not. This
 * is the one place that says whether it is known: counts, flow, objects, timeline and their views ask nothing else.
 * Included by flow, advise, view and tests.
 */
#ifndef ACCPERF_COUNTS_COUNTS_SPEED_H
#define ACCPERF_COUNTS_COUNTS_SPEED_H

#include <stdbool.h>
#include <stdint.h>

#include "counts/segment_rate.h"

struct counts_built;
struct counts_record;

/* What tells most of it. */
enum counts_speed_by {
	SPEED_BY_NOTHING,
	SPEED_BY_RATES,    /* of code, where breakpoints were hit */
	SPEED_BY_SEGMENTS, /* what lies between system calls (segment_rate.h) */
	SPEED_BY_MODEL,    /* of a processor, and this machine's cycle (model_rate.h): a prior for the other two */
};

struct counts_speed {
	bool known;   /* else amounts rest on an assumption, and are not shown */
	bool guessed; /* not known, but that is better than nothing where code is weighed against what calls moved */
	enum counts_speed_by by;
	double times;     /* the tree's own amounts are to be brought to it by this factor */
	double added_var; /* and this is to be added to the variance of their logs */
	double low, high; /* 95 % of the true speed, over the estimate; NaN: not known */
	/* Where it was not: how long a recording is likely to be that measures it, by what this one saw of rates.
	 * Infinite: no breakpoint was hit, so length alone does not do; NaN: no telling. */
	double seconds;
};

/* What segments between system calls tell of it. */
struct segment_rate counts_segments(const struct counts_record *r, uint64_t *dropped);

const char *counts_speed_by_str(enum counts_speed_by by);

/* What a view says where it shows no amounts, with what to do; seconds: see above. Returns the text. */
struct counts_speed_note {
	char text[320];
};
const char *counts_speed_note(struct counts_speed_note *n, double seconds);
/* What a view says below amounts that rest on a speed: 95 % of the true ones over those shown. NULL: nothing, they do
 * not rest on one, or there are none. */
const char *counts_speed_spread(struct counts_speed_note *n, double low, double high);

/* Of a recording, and its tree that counts_solve() has solved. */
struct counts_speed counts_speed(const struct counts_record *r, const struct counts_built *b);

#endif
