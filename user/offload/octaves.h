/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of the calls of one size, those that took far longer than the others and are too few for a rate: a program's first
 * call, which loads its tables, an interrupted one. The first stretch of probes lies where a program begins, so that
 * they would stand for many. Included by user/offload, tests. Pure but for its memory.
 */
#ifndef ACCPERF_OFFLOAD_OCTAVES_H
#define ACCPERF_OFFLOAD_OCTAVES_H

#include "offload/summary.h"

/* Timed calls of an item, of sizes and times of an octave each. */
struct octave_cell {
	uint32_t item;
	uint8_t bytes_bin, time_bin;
	double calls, ns;
};

/* Sorts the cells; items[].octave[].few and .few_ns. */
void octaves_set_few_apart(struct octave_cell *cell, size_t n, struct offload_item *items);

#endif
