/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which samples a burst begins with (part_replay.c): a coin for each. It falls by what bursts cost of late, never by what
 * this one would cost: else dear places would be met less often. Two budgets: our own CPU time, and what copying pages
 * takes from the target. Pure arithmetic. Included by part_replay.c and tests.
 */
#ifndef ACCPERF_CLI_REPLAY_WHEN_H
#define ACCPERF_CLI_REPLAY_WHEN_H

#include <stdbool.h>
#include <stdint.h>

struct replay_when {
	double part, target_part; /* of one CPU's time, ours; of the target's CPU time */
	double own_ns, target_ns; /* that a burst takes, of late */
	uint64_t bursts, taken;	  /* that these are of */
	double rate, period_ns;	  /* samples per second; target's CPU time that one stands for */
	uint64_t samples, samples_then, second;
	uint64_t random, skip; /* skip: samples until the next burst's */
};

void replay_when_begin(struct replay_when *w, double part, double target_part, double period_ns, uint64_t seed);
/* A sample; whether a burst is to begin with it. If so, replay_when_draw() when it has begun. */
bool replay_when_sample(struct replay_when *w);
/* Throws the coin for all samples until the next burst's at once, so that one knows when to look for that. */
void replay_when_draw(struct replay_when *w);
/* What a burst took. */
void replay_when_own(struct replay_when *w, double ns);
void replay_when_target(struct replay_when *w, double ns);
/* About each second. */
void replay_when_second(struct replay_when *w, uint64_t now);
/* ns until the next burst's sample, as far as one can tell. */
uint64_t replay_when_wait(const struct replay_when *w);

#endif
