/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record --measure-cost: the same recording on and off by turns, and what the target got done meanwhile. Each turn with
 * it is a child that records as record does; this process only reads counters. Included by user/foreground and
 * user/cli/record.c.
 */
#ifndef ACCPERF_FOREGROUND_COST_BY_TURNS_H
#define ACCPERF_FOREGROUND_COST_BY_TURNS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/rotation.h"

struct cost_turns {
	const int *pids; /* whose work it is */
	size_t pid_count;
	const char *work; /* a command that prints how much was done so far; NULL: what the kernel counts */
	double turn_s;    /* how long each turn is */
	unsigned pairs;
	bool quiet, json;
	int sigfd;
	struct rotation *files; /* one a turn with the recording */
	/* In a child: records into `output` for so long and returns the exit status; record_cost_moment() tells when it
	 * is on. */
	int (*record)(void *ctx, const char *output, double seconds);
	void *ctx;
};

/* From inside the recording: it is attached now; it is about to detach. Nothing where no cost is measured. */
void record_cost_moment(void);
extern const char record_cost_schema[];

/* Returns the exit status. */
int record_cost(const struct cost_turns *c);

#endif
