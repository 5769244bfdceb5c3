/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A service's part of a budget, of CPU time or of bytes on disk: it fills as time passes, and what is recorded empties
 * it. A turn begins when all of it is paid for, and ends when no more is left than its end takes. So from the first
 * second on the cost is what the budget allows, but for what a turn takes more than the one before. Pure. Included by
 * user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_ACCOUNT_H
#define ACCPERF_DAEMON_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

struct turn_account {
	double credit;     /* seconds of CPU time, or bytes; may be negative */
	double begin_cost; /* of a turn's first seconds, as last seen; the same unit */
	double running;    /* the same of each second after those, as last seen */
	double end_cost;   /* of what is left to do when a turn ends, as last seen: names, and to read what it wrote */
	double begin_least;
	double part;       /* of what a recording of all takes */
	bool seen;         /* a turn, as long as one is to be at least */
	double saved_s;    /* seconds whose part may be saved */
	double turn_spent; /* of this turn, so far */
	double turn_s;     /* how long it lasts */
	double end_spent;  /* since it was to end */
	bool resting;
};

/* Of CPU time; empty, as who begins again and again shall have no more for that. part: of what a recording of all
 * takes, as far as is known before one was seen. */
void account_open(struct turn_account *a, double part);
#define ACCOUNT_TIME_PART (1 / 3.0) /* of `what: time`: of kv, 20 s, .12 s of CPU time for .53 */
/* One that has seen no turn expects what the dearest of those took that have, instead of what is assumed. */
void account_learn(struct turn_account *a, const struct turn_account *const *others, unsigned count);
/* What it lacks for a turn; 0: nothing. */
double account_lacks(const struct turn_account *a);
/* Bytes a second of so many a day, so that a day and what was saved before it come to no more. */
double account_disk_rate(double daily);
#define ACCOUNT_TURN_S 30.0        /* a shorter one would be its beginning alone */
#define ACCOUNT_SAVED_S 600.0      /* seconds: what more of idle time would bring is not spent at once */
#define ACCOUNT_DISK_SAVED_S 7200u /* seconds: on a disk it harms nobody; of 50 MB a day 4 MB, a quarter of an hour */
/* Of bytes; with credit for all that may be saved, some minutes of a service that writes much, less what it has written
 * in the seconds for which is saved: who begins again and again has no more for that. */
void account_open_disk(struct turn_account *a, double rate, double written);
/* One that comes when others run already takes its part of what they have saved, and at least what a turn takes: they
 * wait for that. Else each that comes would bring bytes of its own to a day. rates: of the others, from now on. */
void account_join_disk(struct turn_account *a, double rate, struct turn_account *const *others, const double *rates,
		       unsigned count);
/* Time goes by: rate = seconds of CPU time, or bytes, a second that are its own. */
void account_earn(struct turn_account *a, double rate, double seconds);
/* A turn begins. */
void account_begin(struct turn_account *a);
/* What was spent in some seconds of it; bytes may come back, as files shrink. */
void account_spend(struct turn_account *a, double spent, double seconds);
/* What is found to have been spent beside that: in a recorder's last moment, or on reading what it wrote. */
void account_spend_late(struct turn_account *a, double spent);
/* A turn that began goes on for so long at least, though its beginning took more than was known (a busy machine: 2.3 s
 * for .6): else that would be spent for no sample. It is paid back before the next. */
bool account_young(const struct turn_account *a);
/* Whether to record now; true once the credit pays for another turn. */
bool account_may(struct turn_account *a);

#endif
