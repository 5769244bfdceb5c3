/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes read and written per function per slice of the recording, and the phases in it. Pure; no I/O.
 * Included by view, cli and tests.
 */
#ifndef ACCPERF_FLOW_TIMELINE_H
#define ACCPERF_FLOW_TIMELINE_H

#include "flow/flow.h"
#include "flow/input.h"

struct timeline_row {
	const char *name, *object;
	double *reads, *writes; /* bytes by slice */
	double total;           /* of both */
};

struct timeline {
	uint32_t slices;
	double start, width;       /* of a slice, in unit */
	bool instructions;         /* the unit; else nanoseconds */
	bool exact;                /* counted, not estimated from samples */
	double speed_seconds;      /* where there are none: a recording that would tell; see counts/counts_speed.h */
	bool amounts;              /* else bytes are in no known unit: only their parts of all tell */
	double samples;            /* accesses it rests on; NaN for exact */
	struct timeline_row *rows; /* by total, largest first */
	uint32_t row_count;
	uint8_t *phase; /* by slice, from 0: slices of one phase have like mixes of functions */
	uint32_t phases;
	double *block;
};

/* slices 0: as recorded, or 60. 0 or -errno. */
int timeline_build(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *out, struct err *e);
/* Leaves the rows of functions that the filter takes; the part of the bytes that is theirs. */
double timeline_keep(struct timeline *t, const struct filter *f);
void timeline_release(struct timeline *t);

#endif
