/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `--effort` stands for. Included by whoever records or reckons what a recording takes. To add one: a row in
 * effort.c, and its name where options name them (user/cli/record.c, user/daemon/config.c).
 */
#ifndef ACCPERF_EFFORT_H
#define ACCPERF_EFFORT_H

#include <stdint.h>

struct effort {
	const char *name;
	double budget;  /* of the target's CPU time */
	double planned; /* of the budget */
	uint32_t max_hz;
	double bursts; /* of one CPU, our own time (emulate.h); segments as much again (part_segments.h) */
};

/* NULL: there is none of that name. */
const struct effort *effort_named(const char *name);

#endif
