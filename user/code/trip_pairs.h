/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From hits to trip counts: breakpoints on a loop's way in and on its ways out (equal_runs.h) fire, and pairs
 * of them by stack pointer are activations, each with how often the header ran. One struct per window;
 * nothing of it outlives that. Included by record and tests.
 *
 * To claim something in another way: a value of enum trip_pairs_said, and its case in trip_pairs_hit().
 */
#ifndef ACCPERF_CODE_TRIP_PAIRS_H
#define ACCPERF_CODE_TRIP_PAIRS_H

#include "code/equal_runs.h"

/* activations under way: of threads beside each other, of functions that call themselves */
#define TRIP_PAIRS_OPEN 8
#define TRIP_PAIRS_HITS 24          /* of one way out; then a window ends */
#define TRIP_PAIRS_MOST 1000000000u /* turns of one that began before the window */

#define TRIP_PAIRS_HEADER (RUNS_EXITS + 1) /* the slot of the loop's header */

struct trip_pairs {
	const struct runs_trips *how;
	bool fresh;  /* no way in and no way out was met: who leaves the loop was there before */
	bool within; /* and with this stack pointer it was, or with any */
	uint64_t within_sp;
	bool alone;
	struct {
		uint64_t sp, value;
	} open[TRIP_PAIRS_OPEN];
	unsigned count;
};

enum trip_pairs_said {
	TRIP_PAIRS_NOTHING,
	TRIP_PAIRS_ONE,    /* an activation that was met from beginning to end */
	TRIP_PAIRS_WITHIN, /* one that had begun before */
	TRIP_PAIRS_ODD,    /* these values do not fit together */
};

/* A window that is opened now. alone: what trip_pairs_alone() says. */
void trip_pairs_begin(struct trip_pairs *p, const struct runs_trips *how, bool alone);
/* The next hit. slot 0: the way in; k: exit k - 1; TRIP_PAIRS_HEADER, once is enough. value: of the register that
 * the slot asks for. last: nothing came after it, so that a list can still be walked (peek; NULL: too late for
 * that). */
enum trip_pairs_said trip_pairs_hit(struct trip_pairs *p, unsigned slot, uint64_t sp, uint64_t value, bool last,
				    induction_peek_fn peek, void *ctx, uint64_t *trips);

/* Where the loop is left to is reached from nowhere else. Otherwise its register holds anything there if it was
 * passed by, and only if the header was met before is anything said of who was in the loop when the window began. */
bool trip_pairs_alone(const struct cfg *c, uint32_t loop, const struct runs_trips *t);

#endif
