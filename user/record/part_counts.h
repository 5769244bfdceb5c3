/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution counts beside the timer samples: short windows of execute breakpoints on threads that a
 * sample just found running, within an account of their own. A part of a session, used by record and
 * the daemon. What to measure is decided in counts_plan.h.
 */
#ifndef ACCPERF_RECORD_PART_COUNTS_H
#define ACCPERF_RECORD_PART_COUNTS_H

#include "record/session.h"

struct counts_opts {
	bool windows;  /* of execute breakpoints; without, counts come from bursts alone */
	double bursts; /* of one CPU's, that carrying out code ourselves may take of our own time; 0: none */
};

/* Adds the part to a session that has not started. why->code: breakpoints cannot be had, for now or at all, and counts
 * come from bursts alone. -errno: there is no such part. */
int counts_part_add(struct session *s, const struct counts_opts *o, struct err *why);

#endif
