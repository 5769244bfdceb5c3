/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution counts beside the timer samples: short windows of execute breakpoints on threads that a
 * sample just found running, within an account of their own. A part of a session, included by foreground. What to
 * measure is decided in counts_plan.h.
 */
#ifndef ACCPERF_RECORD_PART_COUNTS_H
#define ACCPERF_RECORD_PART_COUNTS_H

#include "record/counts_plan.h"
#include "record/session.h"

struct counts_part;

struct counts_opts {
	bool windows;  /* of execute breakpoints; without, counts come from bursts alone */
	double bursts; /* of one CPU's, that carrying out code ourselves may take of our own time; 0: none */
};

/* Adds the part to a session that has not started. why->code: breakpoints cannot be had, for now or at all, and counts
 * come from bursts alone. -errno: there is no such part, and *part is NULL. */
int counts_part_add(struct session *s, const struct counts_opts *o, struct counts_part **part, struct err *why);
/* plan_segment() and plan_stretch() of what it has just now. */
void counts_part_segment(struct counts_part *p, const struct plan_carried *s, plan_place_fn place, void *ctx);
void counts_part_stretch(struct counts_part *p, double weight);
/* emulate_segment() of its bursts. */
struct emulate_data *counts_part_data(struct counts_part *p, const struct sample *m);
/* Bursts may take this part of a CPU of ours besides their own, from now on. */
void counts_part_lend(struct counts_part *p, double part);

#endif
