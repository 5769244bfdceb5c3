/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chance: a xorshift generator whose state the caller keeps, never 0. Good enough to draw samples by, not to keep
 * secrets; the low bits are the weakest. Whatever draws may include this. No domain knowledge. Included by kmod-free,
 * measure, emu, flow, offload, record and tests.
 */
#ifndef ACCPERF_RANDOM_H
#define ACCPERF_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Between 0 and 1, never either. */
static inline double random_unit(uint64_t *state)
{
	return ((double)(random_next(state) >> 11) + 0.5) / 9007199254740992.0;
}

#endif
