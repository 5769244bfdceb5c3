/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links within a function that no window saw: from the samples in both nodes, at constant
 * instructions per time, together with what branches and loops commonly do, and with what was seen
 * to run below them. Included by this room and tests.
 */
#ifndef ACCPERF_COUNTS_COUNTS_GUESS_H
#define ACCPERF_COUNTS_COUNTS_GUESS_H

#include "counts/counts_windows.h"

#define GUESS_KINDS 4 /* of branches: counts_guess.c lists what each commonly does */
#define GRID 41       /* branches: logs of how often, from 0 down */
#define PACE_STEPS 5  /* its instructions per time against its surroundings', in logs */

/* What does not hang on a branch. */
struct guess_grid {
	double part[GRID], log_hit[GRID], log_missed[GRID], log_prior[GUESS_KINDS][GRID];
	double pace[PACE_STEPS];
};

struct counts_guess {
	const struct counts_record *r;
	bool *active; /* by node: it runs, or something that only it leads to */
	bool *guard;  /* by node: leads into a loop that was seen to run */
	bool *turns;  /* by node: a block that others hang on, as it stands for a cycle that is no loop */
	struct guess_grid grid;
	struct counts_ratio unseen[GUESS_KINDS]; /* by kind of branch: of one without samples and hits, as most are */
};

int counts_guess_begin(struct counts_guess *g, const struct counts_record *r);
void counts_guess_end(struct counts_guess *g);
/* Leaves *out alone where there is nothing to guess from. */
void counts_guess_link(const struct counts_guess *g, size_t link, struct counts_ratio *out);

#endif
