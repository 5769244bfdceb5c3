/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording can be made with here, by what features.h found. Included by view. Pure. */
#ifndef ACCPERF_RECORD_ENGINES_H
#define ACCPERF_RECORD_ENGINES_H

#include <stdbool.h>

#include "record/features.h"

#define ENGINES 3 /* the processor's sampling, timers with breakpoints, Valgrind */

struct engine {
	const char *name;
	bool usable;
	const char *accuracy, *cost; /* NULL when not usable */
};

/* Whether this program has what a row stands for: rooms to the right know. */
typedef bool (*feature_built_fn)(const struct feature *f);

/* live, exact: the commands that use them are built in. */
void engines_judge(const struct features *f, bool live, bool exact, feature_built_fn built, struct engine out[ENGINES]);

#endif
