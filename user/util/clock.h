/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a clock in ns, and comparing measured values for qsort(). Whatever measures times may include
 * this. A clock that is read in loops where its own cost matters wants its caller's care, not another
 * function here. No domain knowledge. Included by many rooms.
 */
#ifndef ACCPERF_CLOCK_H
#define ACCPERF_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define SECOND 1000000000ll /* ns */

/* False: there is no such clock, or no longer (that of a process which has ended). */
static inline bool clock_read(clockid_t c, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime(c, &t))
		return false;
	*ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return true;
}

/* 0: the clock cannot be read. */
static inline uint64_t clock_ns(clockid_t c)
{
	uint64_t ns = 0;

	clock_read(c, &ns);
	return ns;
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
