/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a function's instructions took, compared with others', as far as its timer samples tell: the arithmetic,
 * without I/O. A sample meets the instruction that the processor waits for. Where all go through at one pace, samples
 * are spread as what ran is. Where one waits for memory or for the result of another, most meet the one behind it.
 *
 * The model: times of single executions are spread log-normally around a median that all code of the recording has.
 * The chance that two samples met the same instruction, over the chance that two executions are of the same, is then
 * the mean of the squared times over the square of their mean, and the mean over the median is the root of that. So
 * there is no constant to choose but what is believed where samples are few. If times have nothing to do with how often
 * an instruction runs, a sample and an execution are of the same one as often as two executions are: that is taken, as
 * a loop that is wrongly believed to turn often counts once in it, and by its square in the other.
 *
 * Included by counts and tests.
 */
#ifndef ACCPERF_COUNTS_COUNTS_PACE_H
#define ACCPERF_COUNTS_COUNTS_PACE_H

struct counts_met {
	double samples; /* of a function */
	double same;    /* pairs of them that met the same instruction; NaN unknown */
	double alike;   /* chance that a sample and an executed instruction of it are of the same one; 0 unknown */
};

/* Time of one of its instructions, in units of the median. */
double counts_pace(const struct counts_met *m);

#endif
