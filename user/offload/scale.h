/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the calls seen in stretches to those of the whole recording. Owns the statistics only: pure
 * functions, no I/O. Included by user/offload/summary_scale.c and tests.
 *
 * A stretch ends when its calls have cost too much: it is long where the target calls little, short
 * where it calls much, and ends in a busy phase. So stretches are not pooled, and what a gap held is not
 * told by what came before it. How long a gap lasts was drawn from an exponential distribution, so the
 * next stretch begins at any moment of it with equal chance, and its first pace times the distribution's
 * mean has the expectation of the calls in the gap, whatever the target's phases. What was seen counts
 * as it is.
 */
#ifndef ACCPERF_OFFLOAD_SCALE_H
#define ACCPERF_OFFLOAD_SCALE_H

#include <stdbool.h>
#include <stddef.h>

/* A piece of time of one pace. Those that touch belong to one stretch. */
struct stretch {
	double from, to; /* CPU time of the target, or the clock */
	double calls;
	double hits_ns; /* of it, what the probes cost */
	double gap;     /* mean of the distribution the gap before it was drawn from; 0: that gap's own length */
};

struct scaled {
	double factor; /* all calls over those seen; infinite: probing took longer than the work */
	/* relative half width of the interval, nominally 90 % (u-scale: 87 to 99); NaN: fewer than three stretches */
	double error;
};

/*
 * How a target that is idle part of the time paces its calls cannot be seen: by a clock, and probes slow nothing
 * down, or each after the one before, and its time with the probes' taken off counts. By the clock with part 0 is the
 * one, with part 1 the other. A target that works more than SCALE_BUSY of the time in the gaps is paced by its own
 * work; so is one that others keep off the CPU, which looks idle. But where something else paces the calls, the target
 * works in stretches as much as in gaps, and the hits come on top.
 */
#define SCALE_BUSY .8 /* CPU time by time; several threads make more than 1 */
/* Is it paced from outside, as far as that can be seen? least_part: of their measured cost that hits have at least. */
bool scale_paced(const struct stretch *clock, const struct stretch *cpu, size_t n, double least_part);

/*
 * at[0..n) in order of time; the recording goes on to `end`. outside_ns: cost of hits between the
 * stretches. part: how much of the cost of hits is believed (1: what was measured).
 */
struct scaled scale_calls(const struct stretch *at, size_t n, double end, double outside_ns, double part);

#endif
