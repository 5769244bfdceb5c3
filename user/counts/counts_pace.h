/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a function's instructions took, compared with others', as far as its timer samples tell: the
 * arithmetic, without I/O. A sample meets the instruction that the processor waits for. Where all go through
 * at one pace, samples are spread over the code that runs; where one waits for memory or for the result of
 * another, most meet the one behind it. So the chance that two of a function's samples met the same
 * instruction tells how long it waits, and the code itself tells of divisions and atomic operations.
 * Where nothing better is known, time over this pace is what instructions are guessed by.
 *
 * Included by flow and tests. To add a sign: a term in counts_pace(), with its strength chosen on
 * programs that are not held out (scripts/accuracy-counts), and a case in u-counts.c.
 */
#ifndef ACCPERF_COUNTS_COUNTS_PACE_H
#define ACCPERF_COUNTS_COUNTS_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Time of one instruction, in a unit common to all functions. same: pairs of its samples that met the same
 * instruction, NaN unknown; cost: usual instructions that take as long as one of its own does, by the code;
 * told: bursts have already said how the time around it is parted among functions. */
double counts_pace(uint64_t samples, double same, double cost, bool told);

#endif
