/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of some names was meant by a mistyped or shortened one. Pure. Included by many rooms. */
#ifndef ACCPERF_UTIL_SUGGEST_H
#define ACCPERF_UTIL_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

struct suggestion {
	const char *name; /* the nearest so far; NULL: none is near */
	unsigned distance;
};

/* Takes `candidate` where it is nearer to the `len` bytes at `typed` than what was taken before. */
void suggest(struct suggestion *s, const char *typed, size_t len, const char *candidate);

/* A function that is asked for: by its name, or, where one alone begins so, by what stands before its parameters. */
struct meant {
	const char *typed;
	const char *name; /* what begins so; NULL: nothing does */
	bool exact, several;
};

/* Whether `name` is `typed` and a list of parameters: C++. */
bool suggest_begins(const char *typed, const char *name);
void meant_add(struct meant *m, const char *candidate);
/* The one that was meant; what was typed, where that is none or several. */
const char *meant_name(const struct meant *m);

#endif
