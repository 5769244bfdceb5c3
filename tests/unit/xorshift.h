/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that look random and are the same in every run: Marsaglia's xorshift. A test sets `rng` to any number but 0
 * for a course of its own. Included by tests. */
#ifndef ACCPERF_UNIT_XORSHIFT_H
#define ACCPERF_UNIT_XORSHIFT_H

#include <math.h>
#include <stdint.h>

static uint64_t rng = 88172645463325252u; /* Marsaglia's own */

static inline uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* Between 0 and 1, never either. */
static inline double uniform(void)
{
	return ((double)(xorshift(&rng) >> 11) + 0.5) / 9007199254740992.0;
}

/* Of mean 0 and standard deviation 1. */
static inline double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

#endif
