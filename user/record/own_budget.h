/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder's own CPU time, all of it, against what it may take of one CPU. What cannot wait (samples, windows, what
 * is new at the start) is not refused; bursts and segments give way for it, which run in the recorder alone. Pure
 * arithmetic. Included by the session and tests.
 */
#ifndef ACCPERF_RECORD_OWN_BUDGET_H
#define ACCPERF_RECORD_OWN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct own_budget {
	double part;    /* of one CPU; 0: without a bound */
	uint64_t began; /* when and at which own CPU time */
	uint64_t spent;
	double share;         /* of what bursts and segments would have, now */
	uint64_t cut_seconds; /* in which it was less than all */
};

void own_budget_begin(struct own_budget *b, double part, uint64_t now, uint64_t spent_ns);
/* About each second: what was spent so far. */
void own_budget_second(struct own_budget *b, uint64_t now, uint64_t spent_ns);

#endif
