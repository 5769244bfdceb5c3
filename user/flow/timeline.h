/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes read and written per function per slice of the recording, and the phases in it. Pure; no I/O.
 * Included by view and tests.
 */
#ifndef ACCPERF_FLOW_TIMELINE_H
#define ACCPERF_FLOW_TIMELINE_H

#include "flow/flow.h"
#include "flow/input.h"

#define TIMELINE_LEVEL 0.9 /* of the intervals */

struct timeline_row {
	const char *name, *object;
	double *reads, *writes; /* bytes by slice */
	double *seen;          /* by slice: samples that this rests on; unlike weights make them fewer than there are */
	double total, samples; /* of all slices; total: of both */
};

struct timeline_phase {
	uint32_t slices, first; /* how many, and the first of them */
	double reads, writes;   /* bytes */
	const char *most[3];    /* functions that move most bytes in it */
	uint32_t most_count;
	double part[3]; /* of the phase's bytes */
};

struct timeline {
	uint32_t slices;
	double start, width;          /* of a slice, in unit */
	bool instructions;            /* the unit; else nanoseconds */
	bool exact;                   /* counted, not estimated from samples */
	double speed_low, speed_high; /* 95 % of true amounts over those here; NaN: there are none */
	double speed_seconds;         /* where there are none: a recording that would tell; see counts/counts_speed.h */
	bool amounts;                 /* else bytes are in no known unit: only their parts of all tell */
	double samples;               /* accesses it rests on; NaN for exact */
	double undated;               /* bytes of functions that no sample met: when they moved nobody knows */
	struct timeline_row *rows;    /* by total, largest first */
	uint32_t row_count;
	uint8_t *phase; /* by slice, from 0 */
	uint32_t phases;
	struct timeline_phase *phase_of; /* by phase */
	double *block;
};

/* slices 0: as recorded, or 60. 0 or -errno. */
int timeline_build(const struct flow_input *in, uint32_t slices, bool stack, struct timeline *out, struct err *e);
/* What chance leaves open of bytes of the row in the slice: its reads, writes or both. Exact ones have no width. */
void timeline_interval(const struct timeline *t, const struct timeline_row *r, uint32_t slice, double bytes,
		       double *low, double *high);
/* Leaves the rows of functions that the filter takes; the part of the bytes that is theirs. */
double timeline_keep(struct timeline *t, const struct filter *f);
void timeline_release(struct timeline *t);

#endif
