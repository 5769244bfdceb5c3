/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a sample of a thread stands for, where its clock knows better. How much CPU time a thread had between two of
 * its samples is known exactly; samples only say where it went. So
 * - a tick of the kernel's is no sample where the thread has been met by more of them than its CPU time has room for:
 *   it moves in step with them. Of a thread that chance alone brings them to, less than one in a hundred is refused;
 * - a thread that they meet too often or too seldom for chance, by one in ten million, has none of them any more, until
 *   they were seen to meet it as often as they should;
 * - a timer's sample makes up for what all samples of its thread stand for too much or too little: where the kernel's
 *   ticks are taken, as far as it is more than where two combs may stand.
 * Pure logic, fed with samples in order of time. Included by the recorder and tests.
 */
#ifndef ACCPERF_RECORD_THREAD_TICKS_H
#define ACCPERF_RECORD_THREAD_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"
#include "util/map.h"

struct thread_ticks {
	struct map of;             /* tid -> struct thread_clock of thread_ticks.c */
	uint64_t kernel_ns;        /* between two ticks of the kernel */
	uint64_t refused, threads; /* ticks of the kernel's that are no samples; threads that were found in step */
};

/* What this tick stands for, in ns; 0: it is no sample. *in_step: the thread is, as far as is known. */
uint64_t thread_ticks_seen(struct thread_ticks *t, const struct sample *m, uint64_t timer_ns, bool *in_step);
/* The thread is gone. */
void thread_ticks_exit(struct thread_ticks *t, uint32_t tid);
void thread_ticks_release(struct thread_ticks *t);

#endif
