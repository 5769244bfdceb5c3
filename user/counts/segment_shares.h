/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shares of instructions by segments between system calls (segment_rate.h): their returns were drawn by count, so sums
 * over what verified ones ran are Horvitz-Thompson estimates, which nothing that waits or lingers bends. They hold for
 * the part of the instructions that such segments stand for. For the rest, what the tree (counts.h) makes of samples,
 * bursts and windows is taken, less what segments explain of it:
 *
 *	share(f) = part * segments(f) + (1 - part) * rest(f) / sum of rests
 *	rest(f) = what the tree says of f - part * segments(f), at least 0
 *
 * How often a function is entered in them needs no speed: segments are counted, and what each entered is known. Where
 * the speed is known more closely than how many there are, that is taken.
 *
 *	calls(f) = calls of f in verified segments / their instructions * verified instructions a second of CPU time
 *
 * Pure arithmetic. Included by counts_build.c and tests.
 */
#ifndef ACCPERF_COUNTS_SEGMENT_SHARES_H
#define ACCPERF_COUNTS_SEGMENT_SHARES_H

#include "counts/counts_windows.h"

struct segment_shares {
	double part, part_var; /* of all instructions, that verified segments stand for; 0: they tell too little */
	double *share, *var;   /* by function of the record: of all instructions in segments; NULL where part is 0 */
	/* the same: entries for each instruction of verified segments, and the variance of their logs; NaN: not told */
	double *calls, *calls_var;
	/* instructions of verified segments in a second of the CPU time of user code, as counted; of its log */
	double told, told_var;
	uint32_t stretches;
};

/* 0, -ENOMEM. */
int segment_shares(const struct counts_record *r, struct segment_shares *out);
void segment_shares_release(struct segment_shares *s);
/* Into the figures of a tree that was solved: of functions, and of their nodes in proportion. */
void segment_shares_apply(const struct segment_shares *s, const struct counts_record *r, struct counts_tree *t);

#endif
