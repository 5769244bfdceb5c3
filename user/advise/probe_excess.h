/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a probe takes within a call beyond what was taken off its times. That was measured on ourselves; in the target
 * it is more or less, within a doubt that is known, and alike for all calls of a function. A function's shortest calls
 * tell more: they cannot take less than nothing. Included by user/advise, tests. Pure.
 */
#ifndef ACCPERF_ADVISE_PROBE_EXCESS_H
#define ACCPERF_ADVISE_PROBE_EXCESS_H

#include "advise/figure.h"
#include "format.h"
#include "offload/summary.h"

#define PROBE_LEAST_NS 1. /* no call takes less */

/* ns to take off every time, with its interval: the ends hold for all its calls alike. Value 0 and the doubt itself
 * where nothing tells more. byte_ns: what a copy takes of each byte; 0: not known. */
struct figure probe_excess(const struct offload_item *it, double byte_ns);
/* Mean time of an octave's timed calls, less the few that are far longer; NaN: there are none. */
double call_mean_of_size(const struct offload_octave *o);
/* The same with the excess taken off, also where that is nearly all of it: how far it may be off, the excess's interval
 * tells. */
double call_time_of_size(const struct offload_octave *o, double excess);
/* Mean time of all its calls, from those without a context switch inside: the time of the others holds the kernel's
 * work, and caches that other code filled. Each size by itself, as long calls meet more switches. NaN: of some size
 * most calls were switched (they wait by nature), or sizes are not known. */
double call_mean_by_size(const struct offload_item *it, bool empty);
/* By so much that mean would be higher with the few far longer ones. */
double calls_few_mean(const struct offload_item *it, bool empty);
/* Part of its calls that are handed no byte, and that `empty` leaves out above; 0: these are all. */
double calls_empty_part(const struct offload_item *it);
/*
 * The part of the target's time that samples and all else of the recording took besides the probes: it fell into these
 * calls as into all the target did. What a sample takes was measured of work that it disturbs most: the truth is
 * between nothing and that.
 */
double taken_besides_probes(const struct fmt_cost *c, double probes_ns);
/*
 * Of a probed function's share of the samples, its share of what the program does by itself: probes took `part` of all,
 * and how many of their samples have the function on their stack is not known (what is single-stepped lies in a page of
 * the kernel's, the caller of which is lost): half of them, none to all.
 */
void share_without_probes(struct figure *share, double part);
/*
 * A probed function's shares by its calls: their rate and their time, of what the program does in a second of the
 * clock. Where stacks end early (assembler without unwind information) those of the samples miss what lies above.
 * share, and with it the other two, are taken as the closer of both has them.
 */
void shares_by_calls(struct figure *share, struct figure *of_thread, struct figure *of_elapsed,
		     struct figure calls_per_s, struct figure ns_per_call, double cpu_per_s);
/*
 * Of calls that were counted from below only, or widely, the sampler's time over the time of a call, `by`, is the
 * better rate; where it is not, its lower end is one all the same. true: *rate is that now.
 */
bool rate_by_both(struct figure *rate, struct figure by);
/*
 * Which quantile of its calls as probed is quantile q of them as they are: a probe makes a call `longer`, and other
 * work takes the CPU from it so much more often; those calls are its longest. Where most calls are switched, they wait
 * by nature, and q it is.
 */
double unprobed_quantile(const struct offload_item *it, double q, double longer);
/*
 * By how much the machine's speed changed while it was recorded, as a factor of 1 or more: the price of a probe tells.
 * A device that was measured at another time ran at a speed as far off.
 */
double speed_drift(const struct fmt_offload_cost *c);

#endif
