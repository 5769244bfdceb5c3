/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What part of the time each function has, alone (self) and with what it calls (inclusive), with the
 * 95 % interval of its self share; and who called a function. Pure arithmetic over struct profile.
 * Included by flow, advise, view, html and tests.
 *
 * The interval is Wilson's, over the effective number of samples (sum w)^2 / sum w^2, so that
 * samples of unequal weight do not look like more evidence than they are. A function seen in no
 * sample of its own still has an upper bound.
 */
#ifndef ACCPERF_PROFILE_TIME_SHARES_H
#define ACCPERF_PROFILE_TIME_SHARES_H

#include "profile/filter.h"
#include "profile/profile.h"

#define SHARES_ALL_THREADS UINT32_MAX

struct shares_opts {
	bool inlined;                /* inlined functions get rows of their own; else their physical function */
	uint32_t thread;             /* index, or SHARES_ALL_THREADS */
	const struct filter *filter; /* rows of other processes and code are left out; NULL: all */
};

struct share {
	uint32_t function;
	uint64_t samples;       /* with this function at the leaf */
	double self, inclusive; /* shares of 1 */
	double low, high;       /* 95 % interval of self */
};

struct shares {
	struct share *rows; /* functions that occur, by falling self, then inclusive, then name */
	size_t count;
	double shown; /* share of the time that passes the filter; 1 without one */
	bool exact;   /* counted by the exact engine: no samples, and intervals of no width */
	uint64_t samples;
	double weight;     /* ns or instructions */
	double effective;  /* number of samples of equal weight that say as much */
	double unnamed;    /* share whose leaf is a bare address; NaN without samples */
	double incomplete; /* share whose stack does not reach the thread's start; NaN without samples */
};

int shares_compute(const struct profile *p, const struct shares_opts *o, struct shares *out, struct err *e);
void shares_release(struct shares *s);
/* 95 % interval of an inclusive share; the function may stand further up on stacks that could not be followed. */
void shares_inclusive(const struct shares *s, double inclusive, double *low, double *high);
void wilson_interval(double share, double n, double *low, double *high);

/* Functions of a stack, leaf first, into *ids (grown as needed); returns their number or -ENOMEM. */
struct share_path {
	uint32_t *ids;
	size_t count, cap;
};
int share_path(const struct profile *p, uint32_t stack, bool inlined, struct share_path *path);

struct caller {
	uint32_t function;
	uint32_t parent, first_child, next; /* node indexes, 0 = none; node 0 is the function asked for */
	uint64_t samples;
	double weight;
	double top; /* weight of samples whose stack ends here */
};

struct callers {
	struct caller *nodes; /* children by falling weight */
	size_t count;
	double total; /* weight of all samples, also those without the function */
};

/* Who called functions named `name` (any object): from the occurrence nearest the leaf upwards,
 * recursion folded. -ENOENT when no sample has it. */
int callers_compute(const struct profile *p, const char *name, const struct shares_opts *o, struct callers *out,
		    struct err *e);
void callers_release(struct callers *c);

#endif
