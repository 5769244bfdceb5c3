/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time by object, process, name of process, unit, container or pod, where time_shares.h has it by function: shares of
 * the whole recording. Pure arithmetic over struct profile. Included by view.
 */
#ifndef ACCPERF_PROFILE_ROLLUP_H
#define ACCPERF_PROFILE_ROLLUP_H

#include "profile/filter.h"
#include "profile/profile.h"

enum rollup_by { ROLLUP_DSO, ROLLUP_COMM, ROLLUP_PID, ROLLUP_UNIT, ROLLUP_CONTAINER, ROLLUP_POD, ROLLUPS };
extern const char *const rollup_names[ROLLUPS]; /* "dso", "comm"... */

struct rollup_row {
	const char *name; /* object, what the process is called, or where it runs; NULL: unknown, or in none */
	uint32_t pid;     /* ROLLUP_PID only */
	uint64_t samples;
	double self, inclusive; /* shares of 1; inclusive NaN where it says nothing: of a process it is self */
	double low, high;       /* 95 % interval of self */
};

struct rollup {
	struct rollup_row *rows; /* by falling self, then inclusive */
	size_t count, cap;
	double shown; /* share of the time that passes the filter */
	bool exact;
};

enum rollup_by rollup_named(const char *name); /* ROLLUPS: there is none of that name */
int rollup_compute(const struct profile *p, enum rollup_by by, const struct filter *f, struct rollup *out,
		   struct err *e);
void rollup_release(struct rollup *r);

#endif
