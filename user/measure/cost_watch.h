/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watch windows cost the target: their hits, arming them, and that they are armed. While any is, string
 * instructions (memcpy!) crawl, hit or not, and so do copies of the kernel's. So armed time is priced by how much
 * slower the target is expected to run meanwhile: by how often timer samples met string instructions and the kernel,
 * and by how often the target switches threads, as each switch takes the watchpoints off and puts others on. Pure
 * logic, no I/O, no clock. Included by the recorder and tests (record).
 */
#ifndef ACCPERF_MEASURE_COST_WATCH_H
#define ACCPERF_MEASURE_COST_WATCH_H

#include <stdbool.h>

struct cost_watch {
	double hit_ns, arm_ns, wake_ns; /* of a hit; of arming and disarming one running thread; of a hit at a limit,
					 * which wakes us, besides */
	/* decaying counts of timer samples */
	double ticks, string_ticks, kernel_ticks;
	double switch_share; /* cost_watch_switching() */
};

/* At what is assumed. */
void cost_watch_init(struct cost_watch *c);
/* Prices on this target; NaN leaves what was. */
void cost_watch_prices(struct cost_watch *c, double hit_ns, double arm_ns, double wake_ns);
/* What a window of `hits` and `phases` (each begins by arming and ends by waking us) costs a target of so many
 * threads, of which those that run are interrupted. running: how many do on average. */
double cost_watch_window(const struct cost_watch *c, double hits, double phases, double threads, double running);
/* The target switches threads `rate` times per ns of its CPU time, and each armed slot adds cost_ns to a
 * switch. NaN: not known. */
void cost_watch_switching(struct cost_watch *c, double rate, double cost_ns);
/* One timer sample. kernel: in the kernel, where it may copy or clear memory. */
void cost_watch_tick(struct cost_watch *c, bool string, bool kernel);
/* Cost to the target of having slots armed for wall_ns: an upper estimate, and what is to be expected. */
double cost_watch_armed(const struct cost_watch *c, double wall_ns, double running);
double cost_watch_armed_likely(const struct cost_watch *c, double wall_ns, double running);
/* What slots that share their armed time with another add to its cost: slot_ns is theirs. */
double cost_watch_slots(const struct cost_watch *c, double slot_ns, double running);
/* How much slower the target runs while a watchpoint is armed, minus one; an upper estimate. */
double cost_watch_slowdown(const struct cost_watch *c);

#endif
