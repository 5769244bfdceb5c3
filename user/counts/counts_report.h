/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execution counts as a person asks for them: by function, with its loops and callers, each figure
 * with its interval and how it was come by. Made of what a recording measured (counts_windows.h),
 * solved (counts.h) and named (profile/profile.h). Owns its rows; names belong to the profile. Included
 * by flow, advise, view and tests.
 *
 * To show a further figure: a field of the rows below, its line in fill_rows() of
 * counts_report.c, a column in view/counts.c and a property in counts_schema.
 */
#ifndef ACCPERF_COUNTS_COUNTS_REPORT_H
#define ACCPERF_COUNTS_COUNTS_REPORT_H

#include "profile/profile.h"
#include "counts/counts_speed.h"
#include "counts/counts_windows.h"
#include "counts/segment_rate.h"

struct counts_figure {
	double value, low, high; /* 95 %; NaN: unknown */
};

/* var: of the value's logarithm; NaN: its interval is unknown, too. */
struct counts_figure counts_figure_of(double value, double var);
/* What may be anything is not a figure. */
bool counts_figure_known(const struct counts_figure *f);
/* Only that there are no more is known. */
bool counts_at_most(const struct counts_figure *f);

struct counts_row_loop {
	uint64_t addr;               /* of its header */
	uint32_t depth;              /* 1: in no other loop */
	struct counts_figure second; /* runs of its header */
	/* of its header, for each time that it is entered (TRIPS) or for each run of what is around it */
	struct counts_figure trips;
	enum counts_how how;
	double anchor;      /* activations, or hits of what is around it, that were looked at */
	double least, most; /* trips of one activation as seen; NaN unknown */
	uint32_t windows;
	bool broken;
};

struct counts_row_call {
	uint32_t from;             /* row of the caller; UINT32_MAX: cut off, see counts_report.row_count */
	const char *name, *object; /* the caller's */
	uint64_t site;
	struct counts_figure second;
	struct counts_figure ratio; /* calls for each run of the calling block */
	enum counts_how how;
	double anchor;
	uint32_t windows;
	bool indirect, tail, broken;
};

struct counts_row {
	const char *name, *object;
	uint64_t addr;
	const char *file;
	uint32_t line;
	struct counts_figure share; /* of the program's instructions */
	/* entries per second of CPU time; without a value, and with a higher end: at most so many (counts_at_most()) */
	struct counts_figure second;
	double calls; /* entries in the recording; NaN unknown */
	double time;  /* share of user time; NaN: no samples */
	uint64_t samples;
	double trust;        /* 0: its share is its time share; 1: by counts alone */
	double by_segments;  /* part of it that segments told */
	bool calls_counted;  /* segments tell how often it was entered: that needs no speed */
	enum counts_how how; /* UNKNOWN: time share */
	/* per second of CPU time, in proportion to instructions; NaN unknown */
	double instructions, compute, loads, stores, load_bytes, store_bytes;
	double once; /* of `instructions`, without what `rep` ones repeated: as bursts and segments count them */
	struct counts_figure per_call; /* instructions, without callees */
	uint32_t flags;                /* enum fmt_counts_func_flags */
	uint32_t blocks;
	size_t first_loop, loops, first_call, calls_from;
};

struct counts_report {
	struct counts_row *row; /* by instructions */
	size_t row_count;
	struct counts_row_loop *loop;
	struct counts_row_call *call;
	size_t loop_count, call_count, loop_cap, call_cap;
	double cpu_seconds; /* of user code, as sampled */
	uint64_t samples;
	struct segment_rate segments;
	struct counts_speed speed; /* where it was not measured, what is so many a second is unknown */
	double spread, stretch;    /* see counts.h */
	uint32_t links, by_how[COUNTS_SEGMENTS + 1], broken, cycles;
	uint64_t windows;
	uint64_t bursts, burst_instructions; /* that the recorder carried out itself */
	uint64_t at_most;                    /* functions of which only a higher end of their entries is told */
	double hits;                         /* breakpoint hits that the windows hold */
	uint32_t dropped;
	double counted;     /* share of instructions of functions whose trust is above one half */
	double in_segments; /* share of instructions that verified segments told */
};

/* solved: r's, by counts_built_new(); NULL: it is solved here. detail: loops, callers and intervals of the first
 * `detail` functions. 0, -errno with *e. */
int counts_report_make(const struct counts_record *r, const struct profile *p, struct counts_built *solved,
		       size_t detail, struct counts_report *out, struct err *e);
void counts_report_release(struct counts_report *r);
/*
 * Entries a second of a function by segments, which count them: `calls` in verified ones, and the variance of its log;
 * the part of the function's instructions, and of all, that such segments stand for. What they do not stand for is
 * taken to be alike, within what it is of all. Where the tree has most of the function elsewhere, that may be a guess
 * from few samples: there are as many as were counted, by the part of all the more, and at most by that of the
 * function. NaN: they tell too little.
 */
struct counts_figure counts_entries_counted(double calls, double var, double part, double part_of_all);

#endif
