/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A service's part of the budget, in CPU time: it fills as time passes, and what is recorded empties it. In the red,
 * the service rests until another turn can be paid. So over hours the cost is what the budget allows, whatever a
 * recording takes. Pure. Included by user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_ACCOUNT_H
#define ACCPERF_DAEMON_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct account {
	double credit;     /* seconds of CPU time; may be negative */
	double begin_cost; /* of a turn's first seconds, as last seen; seconds of CPU time */
	double running;    /* the same of each second after those, as last seen */
	double turn_spent; /* of this turn, so far */
	double turn_s;     /* how long it lasts */
	bool resting;
};

void account_open(struct account *a, double rate);
/* Time goes by: rate = seconds of CPU time a second that are its own. */
void account_earn(struct account *a, double rate, double seconds);
/* A turn begins. */
void account_begin(struct account *a);
/* What was spent in some seconds of it. */
void account_spend(struct account *a, double cpu_seconds, double seconds);
/* Whether to record now; true once the credit pays for another turn. rate as above. */
bool account_may(struct account *a, double rate);

#endif
