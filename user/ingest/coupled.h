/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets whose threads wait for each other, tens of thousands of times a second. Interrupting one of them costs
 * more than the interruption: the others run out of work meanwhile, a CPU goes to sleep, and somebody has to wake
 * it. A recorder that gets a CPU whenever it wants one interrupts, too; but where threads run for some microseconds
 * at a time it need not: waiting for the next switch takes no longer. Measured with tests/workloads/sixteen.c
 * (kmod-free/README.md). Pure logic, no I/O, no clock. Included by cli and tests.
 */
#ifndef ACCPERF_INGEST_COUPLED_H
#define ACCPERF_INGEST_COUPLED_H

#include <stdbool.h>

/* Waking a sleeping CPU, where it was not measured. */
#define COUPLED_WAKE_NS 20000.0
/* What one look at the rings costs whoever was running on that CPU, by the caches it empties. */
#define COUPLED_LOOK_NS 10000.0

/* An interruption of `ns`. rate: switches per ns of the target's CPU time (NaN: not known, taken for none); wake_ns: of
 * waking a CPU; cpus: with one there is none to wake. */
double coupled_cost(double ns, double rate, double wake_ns, unsigned cpus);
/* Threads run so briefly that a recorder should preempt none of them. */
bool coupled_closely(double rate);
/* What a look costs a target that keeps so many CPUs busy on average: nothing while there is an idle one. */
double coupled_look(double running, unsigned cpus);

#endif
