/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimators of who wrote what is read: what they are told and the operations that each offers. Included by flow.
 *
 * To add an estimator:
 *   1. user/flow/NAME.c with `const struct est_ops flow_NAME` (tests/adding/estimator.c is one to begin with);
 *   2. its name in FLOW_ESTIMATORS of user/flow/estimator_table.h.
 * `--estimator` of flow, diff and compare takes it, their help and man pages name it. It works on struct flow_input
 * alone, does no I/O, and must leave edges whose sum is the volume of the reads it was given.
 */
#ifndef ACCPERF_ESTIMATE_H
#define ACCPERF_ESTIMATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct flow;
struct flow_input;

struct est_opts {
	bool stack;      /* count stack accesses too */
	bool ke;         /* Kim & Edwards semantics; needs exact figures, or windows that count invocations */
	bool use_census; /* store records of the census, where the profile holds them */
	bool use_windows;
	bool edges_alone;    /* no figures of functions and calls, no distinct bytes: where many estimates are made */
	bool inclusive;      /* figures of a function with all it calls; needs flow_input_opts.stacks */
	unsigned bootstraps; /* refits for the intervals; 0: no intervals */
	double level;        /* of the intervals: 0.95, 0.9 */
	uint64_t seed;
};
#define EST_OPTS_DEFAULT                                                                                               \
	{                                                                                                              \
		.use_census = true, .use_windows = true, .bootstraps = 40, .level = 0.95, .seed = 1                    \
	}

struct est_ops {
	const char *name; /* in --estimator */
	/* Fills *out, which is flow_init()ed by the caller. 0 or -errno. */
	int (*run)(const struct flow_input *in, const struct est_opts *o, struct flow *out, struct err *e);
};

#endif
