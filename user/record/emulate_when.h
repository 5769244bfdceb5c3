/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which samples a burst begins with (emulate.c): a coin for each. It falls by what bursts cost lately, never by what
 * this one would cost: else dear places would be met less often. Two budgets: our own CPU time, and what copying pages
 * takes from the target. Pure arithmetic. Included by emulate.c and tests.
 */
#ifndef ACCPERF_RECORD_EMULATE_WHEN_H
#define ACCPERF_RECORD_EMULATE_WHEN_H

#include <stdbool.h>
#include <stdint.h>

struct emulate_when {
	double part, target_part; /* of one CPU's time, ours; of the target's CPU time */
	double own_ns, target_ns; /* that a burst takes, lately */
	uint64_t bursts, taken;   /* that these are of */
	double rate, period_ns;   /* samples per second; target's CPU time that one stands for */
	uint64_t samples, samples_then, second;
	uint64_t random, skip; /* skip: samples until the next burst's */
};

void emulate_when_begin(struct emulate_when *w, double part, double target_part, double period_ns, uint64_t seed);
/* A sample; whether a burst is to begin with it. If so, emulate_when_draw() when it has begun. */
bool emulate_when_sample(struct emulate_when *w);
/* Throws the coin for all samples until the next burst's at once, so that one knows when to look for that. */
void emulate_when_draw(struct emulate_when *w);
/* What a burst took. */
void emulate_when_own(struct emulate_when *w, double ns);
void emulate_when_target(struct emulate_when *w, double ns);
/* The time after which both budgets have paid for a burst of this cost, ns of a target that runs all the time. */
double emulate_when_paid(const struct emulate_when *w, double own_ns, double target_ns);
/* About each second. */
void emulate_when_second(struct emulate_when *w, uint64_t now);
/* ns until the next burst's sample, as far as one can tell. */
uint64_t emulate_when_wait(const struct emulate_when *w);

#endif
