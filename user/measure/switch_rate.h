/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the target switches between threads, from what timer samples bring along: the kernel's own
 * count of the thread's switches. Whatever belongs to a thread (watchpoints, timers) is taken off and put
 * on again each time, so this decides what it costs. Pure logic, no I/O, no clock. Included by record and tests.
 *
 * A sample stands for `period` of CPU time, so that between two samples of a thread so much has gone by
 * on average: no clock of the thread is needed, nor a look at threads that use no time.
 */
#ifndef ACCPERF_MEASURE_SWITCH_RATE_H
#define ACCPERF_MEASURE_SWITCH_RATE_H

#include <stdint.h>

#include "util/map.h"

struct switch_rate {
	struct map last;                 /* thread -> its switches when last sampled */
	double count, cpu_ns, intervals; /* lately */
};

/* total: switches of the thread since its birth. 0 or -ENOMEM. */
int switch_rate_tick(struct switch_rate *s, uint32_t tid, uint64_t total, double period_ns);
void switch_rate_exit(struct switch_rate *s, uint32_t tid);
/* Switches per ns of CPU time; NaN until enough is known. */
double switch_rate_of(const struct switch_rate *s);
void switch_rate_release(struct switch_rate *s);

#endif
