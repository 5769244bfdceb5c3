/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of some names was meant by a mistyped one. Pure. Included by user/advise, user/cli. */
#ifndef ACCPERF_UTIL_SUGGEST_H
#define ACCPERF_UTIL_SUGGEST_H

#include <stddef.h>

struct suggestion {
	const char *name; /* the nearest so far; NULL: none is near */
	unsigned distance;
};

/* Takes `candidate` where it is nearer to the `len` bytes at `typed` than what was taken before. */
void suggest(struct suggestion *s, const char *typed, size_t len, const char *candidate);

#endif
