/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By how much it may be wrong who wrote what a function reads. Refits on resampled evidence show how it scatters, and
 * where the little that there is says one thing they show nothing: so a writer's part of a reader is a proportion of as
 * many trials as windows looked at it, and records count as they do beside windows (Wilson's interval). And what
 * nobody is known to have written anybody may have. Arithmetic; included by user/flow and tests.
 */
#ifndef ACCPERF_FLOW_WRITER_ERROR_H
#define ACCPERF_FLOW_WRITER_ERROR_H

#include "flow/edge_ids.h"
#include "flow/flow.h"

struct writer_error {
	double *less, *more;         /* by edge: bytes that it may be wrong by, each to its side */
	double *out_less, *out_more; /* by function */
};

struct writer_evidence {
	const double *edge;          /* bytes, by edge */
	const double *trials;        /* by function, of what it reads */
	uint32_t functions, unknown; /* how many; the one that stands for nobody */
	double z;                    /* half the width of intervals in standard deviations */
};

/* Of a proportion that was met in so many trials; z: half the width in standard deviations. */
struct flow_range writer_proportion(double part, double trials, double z);
/* 0; -ENOMEM, and then *w needs no release. */
int writer_error_of(struct writer_error *w, const struct edge_ids *ids, const struct writer_evidence *of);
void writer_error_release(struct writer_error *w);

#endif
