/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a function's instructions take, compared with others': pure arithmetic. A timer sample says where time went,
 * and time is instructions only where all go through at one pace. On real programs they do not: functions differ by a
 * factor of two either way, and some that wait for memory by ten.
 *
 * The model: what bursts and verified segments ran is put through a model of a processor (emu/emu_pipeline.h), which
 * knows what waits for what, which branches are not foreseen and which lines are near. Its cycles for an instruction of
 * this function, over those of all that ran, are the pace; a function of which little ran has the usual pace of such
 * code, which is memory's where it moves data in bulk. Time over pace is a share of instructions.
 *
 * Included by counts and tests.
 */
#ifndef ACCPERF_COUNTS_COUNTS_PACE_H
#define ACCPERF_COUNTS_COUNTS_PACE_H

/* What some code moves in one execution. */
struct counts_pace_moves {
	double loads, stores, load_bytes, store_bytes;
};

/* Bytes that an instruction of it moves in bulk; 0: it does not. */
double counts_pace_bulk(double instructions, const struct counts_pace_moves *m);

/* timed: instructions of the function that the model saw, cycles: that it took for them; usual: cycles for one of all
 * functions, above 0; bulk: as above, of the function. */
double counts_pace(double timed, double cycles, double usual, double bulk);
/* `repeated`: cycles that repetitions of `rep` instructions take for each instruction without them, which are part of
 * `cycles`. How long they are is known as well as how many there are, and an error of that is the same in both: so what
 * is usual says nothing of them. */
double counts_pace_repeated(double timed, double cycles, double usual, double bulk, double repeated);

#endif
