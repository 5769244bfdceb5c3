/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions per nanosecond of a process's own code, by segments: what its threads do between two system calls. They
 * were drawn by count, so each had a known chance whatever it cost, and weighted sums over them are Horvitz-Thompson
 * estimates. Some were carried on by the recorder: their instructions are known where the end was what was observed.
 * Others were only timed: to take pages for the former pushes the thread's own data out of its caches.
 *
 *	rate = instructions / time of the verified ones * (time of those that were carried on, as disturbed / as it is)
 *
 * Those that were carried on stand for as many of their kind (the system calls at both ends) as the timed ones tell, of
 * which there are many.
 *
 * The interval holds what chance does (by the scatter between pieces of time, linearised), what the segments that are
 * not verified, and code that lies in none, may do (they run as fast as the verified ones, but for what those differ
 * among each other), and what the prices taken off may be wrong by. Pure arithmetic. Included by this room and tests.
 */
#ifndef ACCPERF_COUNTS_SEGMENT_RATE_H
#define ACCPERF_COUNTS_SEGMENT_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"

#define VERIFIED_LEAST 20 /* segments: fewer tell nothing of how they differ */
#define STRETCHES_LEAST 4 /* nor do fewer pieces of time */

struct segment_rate {
	bool known;
	double per_ns, low, high; /* 95 %; NaN: unknown */
	const char *why;          /* not known: the reason; NULL: it is */
	uint64_t count[FMT_SEG_STATES], cause[FMT_SEGCS];
	uint64_t stretches;    /* in which some were carried on */
	uint64_t instructions; /* of the verified ones */
	double verified;       /* part of the time in segments that verified ones stand for; NaN: none was carried on */
	double met;            /* part of the time in which code ran that some segment is of; NaN: unknown */
	/* Parts of the variance of the rate's log: chance, what is not verified, prices. NaN: unknown. */
	double var_chance, var_unverified, var_prices;
};

/* Records are untrusted; those that make no sense are passed over and counted in *dropped. In the order of time.
 * running: CPUs that run user code, in the mean; NaN: unknown, and so is what lies in no segment. */
struct segment_rate segment_rate(const struct fmt_segment *s, size_t n, double running, uint64_t *dropped);

/* Its time in user mode; NaN: the record makes no sense. */
double segment_user_ns(const struct fmt_segment *s);
const char *segment_state_str(enum fmt_segment_state state);
const char *segment_cause_str(enum fmt_segment_cause cause);

#endif
