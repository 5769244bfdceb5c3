/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a perf event on a thread takes from it at each context switch, measured on ourselves: two threads
 * that pass a token to and fro on one CPU, with and without. Owns nothing. Included by cli and tests.
 * To measure another kind of event: a function that fills its attributes, as those in the .c file.
 */
#ifndef ACCPERF_MEASURE_SWITCH_COST_H
#define ACCPERF_MEASURE_SWITCH_COST_H

/* ns per switch and breakpoint, in threads that work between switches; NaN: could not be measured. Some 30 ms. */
double switch_cost_breakpoint(void);
/* ns per switch of a thread with a timer of its own, which differs tenfold: taking off or putting on the one
 * that is due next means to program the clock. The mean of that and of one that is due later. */
double switch_cost_timer(void);
/* ns per switch while any thread on the machine has an event, in a program whose threads once had: see
 * measure/cost_attached.h. Some 30 ms. */
double switch_cost_attached(void);

/* Where they could not be measured: what they were on a virtual machine (see README.md). */
#define SWITCH_BREAKPOINT_NS 1000.0
#define SWITCH_TIMER_NS 5500.0
#define SWITCH_ATTACHED_NS 200.0

#endif
