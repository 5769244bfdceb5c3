/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that is done in idle time only: a CPU has to lie idle for a while before it begins, and it leaves as soon as
 * more threads are runnable than there are CPUs. SCHED_IDLE alone does not do that: it gives way within a control
 * group (or a session, which Linux makes one of), and against other groups' threads a group counts by its weight,
 * whatever lies in it. No domain knowledge; included by the trial of breakpoints and its test.
 */
#ifndef ACCPERF_KMOD_FREE_IDLE_CPU_H
#define ACCPERF_KMOD_FREE_IDLE_CPU_H

#include <stdbool.h>

struct idle_cpu {
	int loadavg, stat; /* descriptors; -1: cannot be opened, and nothing is known */
	unsigned cpus;     /* online */
	unsigned wait_ms;  /* of the next look whether one lies idle */
};

void idle_cpu_init(struct idle_cpu *i);
void idle_cpu_release(struct idle_cpu *i);
/* Sleeps for the look, in short steps while *stop is false: whether a CPU was idle in that time. Looks for longer each
 * time that none was. */
bool idle_cpu_wait(struct idle_cpu *i, const bool *stop);
/* Nobody waits for the CPU that the caller is on; some microseconds. */
bool idle_cpu_still(const struct idle_cpu *i);

#endif
