/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of a target's waits to tell of, and when to look for them at all. Pure logic, no I/O, no clock. Included by
 * part_waits.c and tests.
 *
 * One of so many leavings of the CPU is told, as many as the account pays and no more than the timer takes samples.
 * Where even those that are passed over would cost more than half of that, switches are observed in stretches of a
 * fixed length with gaps drawn by chance: what is told then stands for so many times more. Neither depends on the waits
 * that are drawn, so sums of them times their weights are right on average.
 *
 * To let another thing decide: an argument of wait_pace_poll().
 */
#ifndef ACCPERF_RECORD_WAIT_PACE_H
#define ACCPERF_RECORD_WAIT_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct wait_pace {
	double most_per_s; /* never more */
	double each_ns;    /* what telling of one costs, lately */
	double switches;   /* per second, lately: rises at once, falls slowly */
	uint32_t one_in;   /* in force */
	bool on;           /* a stretch is under way */
	double factor;     /* times its length that it stands for */
	uint64_t until;    /* ns: when the stretch, or the gap, ends; 0: never */
	uint64_t random;
};

void wait_pace_init(struct wait_pace *p, double most_per_s, double each_ns, uint64_t seed);
/* `told` of them in the last `seconds`, which cost `ns`; the account pays `pays` ns per second of elapsed time. */
void wait_pace_told(struct wait_pace *p, double told, double ns, double seconds, double pays);
/* What passing over all switches costs, and what the account pays, in ns per second of elapsed time: whether to look
 * from now on. True: it has changed. */
bool wait_pace_poll(struct wait_pace *p, uint64_t now, double passing, double pays);

#endif
