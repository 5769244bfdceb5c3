/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets whose threads wait for each other, tens of thousands of times a second. Interrupting one of them costs
 * more than the interruption: the others run out of work meanwhile, a CPU goes to sleep, and a thread has to wake
 * it. A recorder that gets a CPU whenever it wants one interrupts, too; but where threads run for some microseconds
 * at a time it need not: waiting for the next switch takes no longer. Measured with tests/workloads/sixteen.c
 * (kmod-free/README.md). Pure logic, no I/O, no clock. Included by record and tests.
 */
#ifndef ACCPERF_MEASURE_COST_WAKEUPS_H
#define ACCPERF_MEASURE_COST_WAKEUPS_H

#include <stdbool.h>
#include <stdint.h>

/* An interruption of `ns`. rate: switches per ns of the target's CPU time (NaN: not known, taken for none); wake_ns: of
 * waking a CPU; cpus: with one there is none to wake. */
double wakeups_cost(double ns, double rate, double wake_ns, unsigned cpus);
/* Threads run so briefly that a recorder should preempt none of them. */
bool wakeups_closely(double rate);
/* What a look costs a target that keeps so many CPUs busy on average: nothing while there is an idle one. */
double wakeups_look(double running, unsigned cpus, bool closely);

/* Looks at a target whose threads wait for each other are held to a share of what it may lose. */
struct wakeups {
	double balance; /* ns of the target's */
	uint64_t at;
};
/* One look of that price, by a recorder that may take `may` ns per ns. */
void wakeups_spend(struct wakeups *l, uint64_t now, double price, double may);
/* How long until the next is earned; 0: now. */
uint64_t wakeups_rest(const struct wakeups *l, double may);

#endif
