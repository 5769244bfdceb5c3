/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When to observe system calls, and how much time what a stretch saw stands for. Pure logic, no I/O, no
 * clock: the caller attaches, detaches and says what it cost. Included by this room and tests.
 *
 * How long a stretch is to be is decided before it begins: as long as costs, going by those before, what a quarter of a
 * second may cost, and a second at most. Were it to end after so many calls, stretches would be short where calls come
 * thick, as of a target that shares its CPU, and would tell too many of them. Only one that costs several times what
 * was planned is cut; the BPF program notices both by itself. Then comes a pause, which lasts at least until the
 * caller's account affords another stretch, unless it was within the budget anyway: targets with few calls are observed
 * all the time. Since everybody's system calls are slower during a stretch, what it costs the rest of the machine is
 * held to the budget, too.
 *
 * Each stretch stands for itself and for the pause before it. The pause after it is the longer the more it has cost: to
 * stand for that one, too, would give most weight to stretches that met many calls. The pause after the last is
 * nobody's: readers know how long the whole was. Where calls come in spells longer than a pause, after a busy one
 * follows a long pause, of which too little is told: a third for spells of a fifth of a second in each second. Calls
 * whose bytes the kernel counts are set right by readers, and intervals come from how stretches differ.
 *
 * For that the kernel is asked what moved in all, at both ends of each stretch where this is cheap. A question goes
 * through all threads of the machine, whose number changes: by what questions took lately the next are spaced, so that
 * all of them together take less than a hundredth of a CPU, which is the recorder's own time.
 */
#ifndef ACCPERF_RECORD_SYSCALL_STRETCH_H
#define ACCPERF_RECORD_SYSCALL_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

struct syscall_stretch {
	double budget; /* share of their CPU time that calls of others may lose */
	unsigned cpus;
	bool on;                            /* a stretch is under way */
	uint64_t began, until, ended, next; /* of this stretch or the last; when the next may begin */
	uint64_t claimed;                   /* up to here time has been assigned to a stretch */
	uint64_t observed;                  /* ns, of the last stretch */
	double others_rate;                 /* what others lose per ns of a stretch, lately; NaN: not yet known */
	double factor;                      /* times its length that the last stretch stands for */
	double known_ns,
		known_cost; /* sums over stretches, old ones fading: what they stood for, and what that would cost */
	double asked_ns;    /* CPU time of a recent question; 0: none was asked */
	unsigned met;       /* stretches in which targets called */
};

void stretch_init(struct syscall_stretch *p, double budget, unsigned cpus);
/* What a stretch may cost the target on one CPU before it is cut, ns, when the account earns `rate` per ns. */
double stretch_limit(double rate);
/* What the account must hold before the next stretch may begin, ns. */
double stretch_needs(double rate);
/* Whether the next may begin whatever the account holds: a recording is to see some, of a target that runs by turns,
 * and where the timer spends what this account would earn. */
bool stretch_on_credit(const struct syscall_stretch *p);
/* A stretch begins at `from`; returns when it is to end. */
uint64_t stretch_begin(struct syscall_stretch *p, uint64_t from, double rate);
/* Whether it has ended. over_at: when it was cut, 0: not. */
bool stretch_due(const struct syscall_stretch *p, uint64_t now, uint64_t over_at);
/* It has ended. cost, others: ns of the targets' time and of others'; earned: ns that the account earns per ns of wall
 * time (rate x running threads); spread: from [0, 1), so that stretches do not keep step with anything.
 * True: no pause is needed, begin the next at once. */
bool stretch_end(struct syscall_stretch *p, uint64_t now, uint64_t over_at, double cost, double earned, double others,
		 double spread);
/* A question took so much CPU time. */
void stretch_asked(struct syscall_stretch *p, double cpu_ns);
/* Whether each stretch may have a question at both ends. */
bool stretch_encloses(const struct syscall_stretch *p);
/* How long after a question the next may come where stretches do not have them, ns. */
double stretch_rest(const struct syscall_stretch *p);
#endif
