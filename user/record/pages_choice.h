/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How likely a page must be to be touched by a burst that it is copied with the burst's sample. Each costs the
 * target time. One that does not come is read later, and what has changed meanwhile ends the burst: much in one
 * program, little in the next. So some thresholds are tried, and that by which most instructions come of the budgets
 * is taken. Pure arithmetic. Included by emulate.c and tests. To try another one: a number more in pages_choice.c.
 */
#ifndef ACCPERF_RECORD_PAGES_CHOICE_H
#define ACCPERF_RECORD_PAGES_CHOICE_H

#include <stdint.h>

#define PAGES_CHOICES 3 /* thresholds: each is tried as often as the others at first */

/* Zero-initialise. */
struct pages_choice {
	struct {
		double bursts, instructions, cost; /* lately */
	} of[PAGES_CHOICES];
	unsigned now;
	uint64_t turn;
};

/* For the next burst: the chance. */
double pages_choice_next(struct pages_choice *c);
/* What came of it; cost: the time after which it is paid for. */
void pages_choice_learn(struct pages_choice *c, double instructions, double cost);

#endif
