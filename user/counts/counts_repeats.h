/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `rep` instructions add. A burst, a node and a pace take one for a single instruction, as the processor does; who
 * counts instructions and bytes takes each repetition for one, as the exact engine does. Pure arithmetic. Included by
 * counts and tests.
 */
#ifndef ACCPERF_COUNTS_COUNTS_REPEATS_H
#define ACCPERF_COUNTS_COUNTS_REPEATS_H

#include "format.h"

struct counts_record;

/* Of one function, for each instruction of it without repetitions. */
struct counts_repeats {
	double times;   /* as many instructions with them; 1: none was seen */
	double log_var; /* of its logarithm: what was seen differs between bursts */
	double slow;    /* times as long as usual code an instruction without them takes, by them alone; 0: none */
	double loads, stores, load_bytes, store_bytes;
};

/* NULL: none was seen. */
struct counts_repeats counts_repeats_of(const struct fmt_counts_repeats *r);

/* By function: cycles of the model that its repetitions take, for each instruction without them. To be freed; NULL: out
 * of memory. `usual`: cycles that an instruction of all functions takes without them; NaN: the model saw none. */
double *counts_repeats_cycles(const struct counts_record *r, double *usual);

#endif
