/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a clock in ns, and comparing measured values for qsort(). Whatever measures times may include
 * this. A clock that is read in loops where its own cost matters wants its caller's care, not another
 * function here. No domain knowledge.
 */
#ifndef ACCPERF_CLOCK_H
#define ACCPERF_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t c)
{
	struct timespec t = { 0 };

	clock_gettime(c, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Since boot, without the steps of the time of day. */
static inline uint64_t clock_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_cpu(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#endif
