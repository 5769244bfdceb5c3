/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call does, as far as its name tells: only calls that do the same can be compared with an accelerator.
 * Included by advise, view and tests. Pure.
 *
 * To add an operation: a row in operation.c, before the rows whose words its names hold, too.
 */
#ifndef ACCPERF_OFFLOAD_OPERATION_H
#define ACCPERF_OFFLOAD_OPERATION_H

#include <stdbool.h>

struct operation {
	const char *name; /* "compress (deflate)" */
	const char *note; /* what the name leaves open; NULL: nothing */
	bool open;        /* a class of operations: which of them a call ran is not recorded */
	bool by_bytes;    /* a call that is handed no byte has nothing to do */
	bool levelled;    /* takes longer for a smaller result, as it is told; `usual` where it is told `by_itself` */
	int by_itself, usual;
};

/* Of a call's name (with its API's, NULL: none) or of an accelerator's; NULL: the name tells nothing. */
const struct operation *operation_of(const char *api, const char *name);
/* The level that a call works at which was told this one. */
int operation_level(const struct operation *op, int told);
/* What an accelerator's description says of it ("ISA-L, level 1"). False: nothing. */
bool operation_level_said(const struct operation *op, const char *text, int *level);

#endif
