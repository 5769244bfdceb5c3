/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far an estimated flow is from the true one: pure functions of two edge tables. Included by view and tests. The
 * result owns copies of all names.
 *
 * Both sides are divided by their sums, so a wrong total does not count as a wrong pattern; the
 * ratio of the totals is reported beside it. Functions are matched by name and by the object's base
 * name; where one side has no object, by name alone. Undefined figures are NaN.
 *
 * To add a measure: a field below, its computation in compare.c over `pairs` (one per edge that
 * either side has), its line and key in view/compare.c, a case with a known answer in u-compare.c.
 */
#ifndef ACCPERF_FLOW_COMPARE_H
#define ACCPERF_FLOW_COMPARE_H

#include "flow/flow.h"
#include "util/err.h"

struct compare_opts {
	/* (outside), (before attach), (kernel...), (unknown) as producers count as one: bytes that no
	 * function wrote under observation */
	bool fold_outside;
	/* drop edges with a pseudo-function at either end */
	bool functions_only;
};

struct compare_pair {
	uint32_t producer, consumer; /* indices into names */
	double truth, estimate;      /* shares */
	double low, high;            /* of the estimate, as shares; NaN none */
	bool resolved;
};

struct compare_name {
	const char *name, *object;
};

struct compare_found {
	unsigned top; /* 5, 10, less where the truth has fewer edges */
	unsigned found;
};

struct flow_compare {
	double true_bytes, estimated_bytes;
	/* shares of what was written before the recording began, NaN where such edges are left out or folded; a side
	 * that has it began late, and what it lacks is no error of the estimate */
	double true_before, estimated_before;
	double tv;                        /* half the sum of |estimate - truth| over ordered pairs */
	double tv_off;                    /* the same without self edges, both sides divided anew */
	struct compare_found top5, top10; /* of the edges above 0.1 % of the bytes */
	double rel90;                     /* median relative error of the largest edges with 90 % of the bytes */
	unsigned rel90_edges;
	double worst90; /* the largest of those errors */
	double spearman_in, spearman_out;
	unsigned ranked_in, ranked_out; /* functions with more than 0.01 % of the bytes on either side */
	unsigned covered, coverable;    /* true top-10 edges inside the interval; of those with one or missing */
	unsigned unresolved;
	unsigned missed, invented; /* edges above 0.1 % on one side and absent on the other */
	double uma_within2;        /* share of functions whose IN UMA is within a factor of 2; see uma_functions */
	double uma_arrays_within2; /* the same of those that find half of it in objects of a kilobyte and more */
	unsigned uma_arrays;
	/* of uma_functions those that the estimate calls a lower bound; they are counted above like any other */
	unsigned uma_bounds;
	double uma_bounds_held;     /* share of these that are not above the truth */
	unsigned uma_functions;     /* >= 0.2 % of the bytes, >= 64 addresses, known on both sides */
	struct compare_pair *pairs; /* largest |estimate - truth| first */
	size_t pair_count;
	struct compare_name *names;
	uint32_t name_count, name_cap;
	struct intern strings;
};

/* One side only was recorded from the program's start on. */
bool flow_compare_one_began_late(const struct flow_compare *c);
/* 0; -EINVAL when semantics, stack or attribution differ or a side has no bytes; -ENOMEM. */
int flow_compare(const struct flow *truth, const struct flow *estimate, const struct compare_opts *o,
		 struct flow_compare *out, struct err *e);
void flow_compare_release(struct flow_compare *c);

#endif
