/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to observe system calls, and how much time what a burst saw stands for. Pure logic, no I/O, no
 * clock: the caller attaches, detaches and says what it cost. Included by cli and tests.
 *
 * A burst ends when it has cost what a quarter of a second may cost (the BPF program notices that
 * itself), or after a second. Then comes a pause, which lasts at least until the caller's account
 * affords another burst, unless it was within the budget anyway: targets with few calls are observed
 * all the time. Since everybody's system calls are slower during a burst, what it costs the rest of
 * the machine is held to the budget, too.
 *
 * Each burst stands for itself and for half of the pause on either side, so that together they stand
 * for all the time there was.
 */
#ifndef ACCPERF_RECORD_SYSCALL_STRETCH_H
#define ACCPERF_RECORD_SYSCALL_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

struct syscall_stretch {
	double budget; /* share of their CPU time that calls of others may lose */
	unsigned cpus;
	bool on;                     /* a burst is under way */
	uint64_t began, ended, next; /* of this burst or the last; when the next may begin */
	uint64_t claimed;            /* up to here time has been assigned to a burst */
	uint64_t observed;           /* ns, of the last burst */
	double others_rate;          /* what others lose per ns of a burst, of late; NaN: not yet known */
};

void stretch_init(struct syscall_stretch *p, double budget, unsigned cpus);
/* What the next burst may cost the target on one CPU, ns, when the account earns `rate` per ns. */
double stretch_limit(double rate);
/* What the account must hold before the next burst may begin, ns. */
double stretch_needs(double rate);
/* A burst begins; returns when to look at it at the latest. */
uint64_t stretch_begin(struct syscall_stretch *p, uint64_t now);
/* Whether to end it now. over_at: when it reached its limit, 0: not. others: ns they have lost. */
bool stretch_due(const struct syscall_stretch *p, uint64_t now, uint64_t over_at, double others);
/* It has ended. cost: ns of the targets' time; earned: ns that the account earns per ns of wall time
 * (rate x running threads); spread: from [0, 1), so that bursts do not keep step with anything.
 * True: no pause is needed, begin the next at once. */
bool stretch_end(struct syscall_stretch *p, uint64_t now, uint64_t over_at, double cost, double earned, double others,
		 double spread);
/* How many times its own length the last burst stands for, when the next begins at `next`, or, at the
 * end of the recording, when there is no other (last). Call once for each burst. */
double stretch_factor(struct syscall_stretch *p, uint64_t next, bool last);

#endif
