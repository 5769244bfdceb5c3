/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `--effort` stands for. Included by what records or reckons what a recording takes (foreground, cli, top,
 * daemon and tests). To add one: a row in effort.c, and its name where options name them (user/cli/record.c,
 * user/daemon/config.c).
 */
#ifndef ACCPERF_EFFORT_H
#define ACCPERF_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

struct effort {
	const char *name;
	double budget;  /* of the target's CPU time */
	double planned; /* of the budget */
	uint32_t max_hz;
	double bursts, segments; /* of one CPU, our own time (emulate.h, part_segments.h) */
	double own;              /* of one CPU, all our own time (own_budget.h) */
};

/* NULL: there is none of that name. */
const struct effort *effort_named(const char *name);

/*
 * Who reads a recording as it goes (`accperf top`) takes a part of what bursts and segments may take of a CPU, and a
 * recorder that was told by effort_read_along() leaves that to it: both together cost what a recorder costs alone.
 */
double effort_readers(const char *name); /* of one CPU, all readings together */
void effort_read_along(void);            /* this process's recordings are read */
bool effort_is_read_along(void);
double effort_bursts(const char *name);   /* of one CPU, what is left to bursts */
double effort_segments(const char *name); /* the same, to segments */

#endif
