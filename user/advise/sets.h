/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that a user wants judged as one. Included by user/cli/advise.c. */
#ifndef ACCPERF_ADVISE_SETS_H
#define ACCPERF_ADVISE_SETS_H

#include "advise/candidates.h"

#define ADVISE_SETS 64     /* as many as an option may be repeated */
#define ADVISE_MEMBERS 256 /* functions of all sets; by hand */

/* "NAME=FUNCTION,FUNCTION.." each; texts are copies, cut at the commas. */
struct advise_sets {
	struct advise_set at[ADVISE_SETS];
	size_t count;
	char *text[ADVISE_SETS];
	const char *member[ADVISE_MEMBERS];
	size_t members;
};

/* 0, -EINVAL, -E2BIG or -ENOMEM; to be released in any case. */
int advise_sets_parse(const char *const *given, unsigned count, struct advise_sets *out, struct err *e);
void advise_sets_release(struct advise_sets *s);

#endif
