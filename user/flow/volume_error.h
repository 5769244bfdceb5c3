/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By how much what functions read may be off although nothing was drawn by chance: samples tell time, and how much code
 * runs in a time differs. Of a function execution counts say how far their figure may be off (in_func.executed_sd); of
 * what it ran each piece may have had a pace of its own. What all have in common is the speed, and no matter of shares.
 * Arithmetic, without I/O. Included by user/flow and tests.
 */
#ifndef ACCPERF_FLOW_VOLUME_ERROR_H
#define ACCPERF_FLOW_VOLUME_ERROR_H

#include "flow/input.h"

struct volume_error {
	uint32_t *piece; /* by site: below pieces */
	double *bytes;   /* by site: of reads that were drawn by time */
	double *factor;  /* by site: as last drawn */
	double *reader;  /* by function: the same of all that it read */
	double *read;    /* by function: its bytes */
	double *of_function, *of_piece;
	uint32_t sites, pieces;
};

/* 0; -ENOMEM, and then *v needs no release. */
int volume_error_new(struct volume_error *v, const struct flow_input *in);
void volume_error_add(struct volume_error *v, uint32_t site, double bytes);
/* What each site may have read in truth, times what was estimated: of all of them together as much. */
void volume_error_draw(struct volume_error *v, const struct flow_input *in, uint64_t *state);
void volume_error_release(struct volume_error *v);

#endif
