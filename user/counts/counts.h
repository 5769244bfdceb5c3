/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution counts from ratios: the arithmetic, without I/O. Breakpoints that were armed together
 * give ratios (block : loop header, header : entry, callee : call site); a tree of them gives how
 * often everything ran relative to the root; timer samples give what share of time each group of
 * code (a function) took. counts_solve() puts both together:
 *
 *	log(instructions by ratios / time) of a group = common + own deviation (its instructions per
 *	cycle are not everybody's) + the errors of the links above it
 *
 * and takes the most probable errors, given how far each link and the instructions per cycle are
 * known to scatter. A well measured link keeps its ratio; one that is not known (or is a break in
 * the tree) is set so that what hangs below it gets its share of time; and one whose claim is at
 * odds with all that hangs below it is taken for broken (counts_solve.c: broken_kinds). How far
 * instructions per cycle and ratios scatter is itself judged by how well they agree. So the outcome
 * lies between the ratios and constant instructions per cycle by their expected errors. Rates (runs
 * per second of CPU time) are observations beside the groups' times.
 *
 * Included by record and tests. To add a way of measuring a link: a value of enum counts_how, its systematic error in
 * bias_of() (counts_ratio.c), a case in u-counts.c.
 */
#ifndef ACCPERF_COUNTS_COUNTS_H
#define ACCPERF_COUNTS_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum counts_how {
	COUNTS_UNKNOWN,  /* not measured, or too little: the time share decides */
	COUNTS_ONCE,     /* follows from the control flow: exactly once */
	COUNTS_TRIPS,    /* induction register, read before and behind the loop */
	COUNTS_RATIO,    /* hits of breakpoints armed together */
	COUNTS_RATE,     /* hits per second of CPU time; the parent is the node that stands for it */
	COUNTS_CACHED,   /* from other recordings of the same code */
	COUNTS_REPLAY,   /* runs of both where the recorder carried out the code itself */
	COUNTS_TIME,     /* by the time of both at constant instructions per time: no window saw it */
	COUNTS_SEGMENTS, /* what ran between system calls that were drawn by count */
};
const char *counts_how_str(enum counts_how how);

#define COUNTS_ANCHOR_MIN 15 /* hits of the anchor below which a ratio is not used */

/* What one window saw of a link: hits (or activations, or seconds of CPU time) of the anchor, hits of
 * the child (or how often the header ran). In the order of time. */
struct counts_window {
	double anchor, child;
};

struct counts_ratio {
	enum counts_how how;
	double ratio;     /* NaN: unknown */
	double log_var;   /* of its logarithm; infinite: unknown */
	double low, high; /* 95 %; NaN: unknown */
	double anchor, child;
	uint32_t windows;
	bool few; /* TRIPS: of those that were met, which are too few to claim it for all */
};
/* What the user is told: a trip count is claimed only where it is sure. */
enum counts_how counts_ratio_shown(const struct counts_ratio *r);

/* Fewer do not make a rate. Windows: two do not tell how much they differ. Hits in all of them: the count of 15 is
 * within half of what it stands for, 95 times of a hundred. */
#define COUNTS_RATE_WINDOWS 3
#define COUNTS_RATE_HITS 15
/* Hits a second, net of what they take: of more, hits took a quarter of the time, and by how much is known to a
 * tenth of it only: such a rate is not believed. */
#define COUNTS_RATE_MOST 25000.0

/* Sums over a link's windows: all that a planner keeps of them. */
struct counts_sums {
	double x, y, xx, xy, yy; /* anchor and child; squares and product */
	double windows;
};
static inline void counts_sums_add(struct counts_sums *s, double anchor, double child)
{
	s->x += anchor;
	s->y += child;
	s->xx += anchor * anchor;
	s->xy += anchor * child;
	s->yy += child * child;
	s->windows++;
}
double counts_sums_ratio(const struct counts_sums *s);
/* Variance of that ratio by the scatter between windows; 0 for one window, which tells none. */
double counts_sums_scatter(const struct counts_sums *s);
/* What chance leaves uncertain of the ratio, and further windows would remove: a variance, infinite while the ratio is
 * unknown. `scatter`: counts_sums_scatter(), or more where stretches of windows show more. `same`: all activations
 * turned as often. The planner spends windows by it (counts_choose.c), counts_ratio_of() adds what windows do not
 * remove. */
double counts_chance(const struct counts_sums *s, double scatter, enum counts_how how, bool same);

/* Sums over sums, with an interval from the scatter between windows and between stretches of them
 * (phases), never narrower than what cutting a window's ends leaves uncertain. `how` is TRIPS,
 * RATIO or REPLAY; the outcome's is UNKNOWN where there is too little. */
void counts_ratio_of(const struct counts_window *w, size_t n, enum counts_how how, struct counts_ratio *out);
/* The same for TRIPS, where it is known what single activations of each window ranged over. */
struct counts_range {
	double least, most;
};
void counts_trips_of(const struct counts_window *w, const struct counts_range *range, size_t n,
		     struct counts_ratio *out);
/* A ratio of exactly one; one that nobody measured. */
struct counts_ratio counts_ratio_once(void);
struct counts_ratio counts_ratio_unknown(void);

/* x(child) gets ratio * x(parent); a child may have several parents. */
struct counts_link {
	uint32_t parent, child;
	struct counts_ratio ratio;
	bool at_most_once; /* the child cannot run more often than the parent */
	bool call;         /* from one function to another */
	/* out */
	double correction; /* factor that the time shares put on the ratio */
	bool broken;       /* at odds with everything below it: not believed */
	bool cycle;        /* closes a cycle: left out, what it leads to is of unknown scale */
};

/* Code whose executions are a node's: a block. */
struct counts_piece {
	uint32_t node, group;
	double instructions; /* per execution */
};

/* Code that the timer samples are counted for: a function. */
struct counts_group {
	double time;      /* any unit; the same for all */
	uint64_t samples; /* that `time` rests on */
	double variety;   /* pieces of code that its time is spread over; 0: unknown */
	bool partial;     /* parts of it may be missing: its time share stays */
	/* out: all relative to the same, unknown total */
	double instructions; /* the combined estimate; NaN: neither time nor counts */
	double low, high;    /* 95 % of its part of all, in the same unit */
	double by_ratios;    /* NaN: no counts reach it */
	double by_time;      /* NaN: no samples */
	double trust;        /* 0: its time share decides alone, 1: the counts alone */
	double by_segments;  /* part of it that segments told (segment_shares.h) */
};

struct counts_tree {
	uint32_t nodes;
	struct counts_link *link;
	size_t links;
	struct counts_piece *part;
	size_t parts;
	struct counts_group *group;
	size_t groups;
	bool absolute; /* node 0 is a second of CPU time; rates are measured against it */
	double sample; /* the time that one sample stands for; 0: unknown */
	/* Expected instructions a second before any rate is looked at, and the variance of its log; 0: unknown. */
	double speed, speed_var;
	const bool *want; /* by node: whether runs_var is asked for, or NULL */
	bool keep;        /* what counts_solve_nodes() asks stays until counts_solved_release() */
	/* out */
	double *runs;      /* by node, relative; caller's array of `nodes`, or NULL */
	double *runs_var;  /* by node: of its log; NaN where not wanted; caller's array, or NULL */
	double level;      /* instructions per unit of time of what has no counts of its own */
	double level_var;  /* of its log */
	double total_var;  /* of the log of all groups' instructions; with `absolute`: of their instructions a second */
	double ipc_spread; /* standard deviation of log instructions per time, as found */
	double stretch;    /* factor on the variance of ratios, as found */
	uint32_t broken, cycles;
	struct counts_solver *solver; /* kept, or NULL */
};

#define COUNTS_MAX_GROUPS 192 /* the largest by time are solved together; the rest get their time share */

/* 0, -EINVAL (an index out of range, a negative number), -ENOMEM. */
int counts_solve(struct counts_tree *t);
/* Fills runs_var of a tree that was solved with `keep`: of nodes that only the solution says are wanted. */
void counts_solve_nodes(struct counts_tree *t);
void counts_solved_release(struct counts_tree *t);

#endif
