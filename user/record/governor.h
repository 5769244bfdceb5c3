/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps what we take from the target below the effort's budget. Every source has a share of the
 * budget and an account: the target's CPU time fills it, what the source costs the target empties it,
 * and a source may spend only while its account is positive. What a source does not use goes to those
 * that are short: the timer ticks at a fixed rate, and armed watchpoints cost next to nothing in programs
 * without string instructions, so fixed shares would leave much of the budget idle. The timer and
 * sources with a budget of their own (offload probes, execution counts) cannot be refused: what they spend beyond
 * their share, the others pay. Pure logic, no I/O, no clock. Included by cli and daemon.
 *
 * Armed watchpoints cost in a second way: while any is armed, string instructions (memcpy!) crawl,
 * hit or not. That account is charged with armed time x how much slower the target is expected to
 * run meanwhile, estimated from how often timer samples met string instructions and the kernel, and
 * from how often the target switches threads: each switch takes the watchpoints off and puts others on.
 *
 * To add a source: append to the enum, give it a share in governor_init()'s table.
 */
#ifndef ACCPERF_RECORD_GOVERNOR_H
#define ACCPERF_RECORD_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

enum governor_account { GOV_TIMER, GOV_HITS, GOV_ARMED, GOV_SYSCALLS, GOV_ELSEWHERE, GOV_HARDWARE, GOV_ACCOUNTS };

struct governor {
	double budget;                                     /* share of the target's CPU time */
	double share[GOV_ACCOUNTS];                        /* of the budget; sums to at most 1 */
	double balance[GOV_ACCOUNTS], spent[GOV_ACCOUNTS]; /* ns */
	double run_ns;                                     /* CPU time of the target so far */
	double hit_ns, arm_ns, wake_ns; /* of one watchpoint hit; of arming and disarming one running thread; of a hit
					 * at a limit, which wakes us, besides */
	double running;                 /* threads running on average, of late */
	/* decaying counts of timer samples */
	double ticks, string_ticks, kernel_ticks;
	double switch_share; /* governor_switching() */
};

/* used: bit per account that is in use; the shares of the others go to these. */
void governor_init(struct governor *g, double budget, unsigned used);
/* `part` of the budget is for sources that keep to it themselves (offload probes, execution counts):
 * what they cost is charged to GOV_ELSEWHERE. Right after governor_init(). */
void governor_reserve(struct governor *g, double part);
/* What is left of a source's budget where the timer takes `took` parts of the whole budget, and the plan was `planned`
 * or less: 1 and down to a tenth, which a source has even where the timer takes it all. */
double governor_left_by_timer(double took, double planned);
/* Costs measured on this machine; NaN leaves what is assumed. */
void governor_costs(struct governor *g, double hit_ns, double arm_ns, double wake_ns);
/* What a window of `hits` and `phases` (each begins by arming and ends by waking us) costs a target of so many
 * threads, of which those that run are interrupted. */
double governor_window_cost(const struct governor *g, double hits, double phases, double threads);
/* The target switches threads `rate` times per ns of its CPU time, and each armed slot adds cost_ns to a
 * switch. NaN: not known. */
void governor_switching(struct governor *g, double rate, double cost_ns);
/* What slots that share their armed time with another add to its cost: slot_ns is theirs. */
double governor_slots_cost(const struct governor *g, double slot_ns);
/* One timer sample: cpu_ns of the target's time went by. kernel: in the kernel, where it may copy or
 * clear memory. */
void governor_tick(struct governor *g, double cpu_ns, bool string, bool kernel);
/* wall_ns went by in which the target used cpu_ns: for the number of running threads. */
void governor_wall(struct governor *g, double wall_ns, double cpu_ns);
void governor_spend(struct governor *g, enum governor_account a, double ns);
/* Whether something that is expected to cost `ns` may begin now. */
bool governor_allows(const struct governor *g, enum governor_account a, double ns);
/* Cost to the target of having slots armed for wall_ns: what is charged, an upper estimate, and what is
 * to be expected, for the report. */
double governor_armed_likely(const struct governor *g, double wall_ns);
double governor_armed_cost(const struct governor *g, double wall_ns);
/* How much slower the target runs while a data watchpoint is armed, minus one; an upper estimate. */
double governor_armed_slowdown(const struct governor *g);
/* Whether an account has saved up for half a second, which nobody else could use either. */
bool governor_plenty(const struct governor *g, enum governor_account a);
/* What an account may spend per ns of the target's CPU time. */
double governor_rate(const struct governor *g, enum governor_account a);
/* How long slots may be armed now, ns, at most `most`; 0: not for `least`, which is what makes sense. */
double governor_armed_time(const struct governor *g, double least, double most);
/* What was spent in all, as a share of the target's time so far; NaN before any. */
double governor_spent_share(const struct governor *g);

#endif
