/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the target switches between threads, from what timer samples bring along: the kernel's own
 * count of the thread's switches. Whatever belongs to a thread (watchpoints, timers) is taken off and put
 * on again each time, so this decides what it costs. Pure logic, no I/O, no clock. Included by cli and
 * tests.
 *
 * A sample stands for `period` of CPU time, so that between two samples of a thread so much has gone by
 * on average: no clock of the thread is needed, nor a look at threads that use no time.
 */
#ifndef ACCPERF_INGEST_SWITCHES_H
#define ACCPERF_INGEST_SWITCHES_H

#include <stdint.h>

#include "util/map.h"

struct switches {
	struct map last; /* thread -> its switches when last sampled */
	double count, cpu_ns, intervals; /* of late */
};

/* total: switches of the thread since its birth. 0 or -ENOMEM. */
int switches_tick(struct switches *s, uint32_t tid, uint64_t total, double period_ns);
void switches_exit(struct switches *s, uint32_t tid);
/* Switches per ns of CPU time; NaN until enough is known. */
double switches_rate(const struct switches *s);
void switches_release(struct switches *s);

#endif
