/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What changed between two profiles of a program, and whether the change is more than the noise of
 * sampling. Shares are compared; of recordings of different length their flows are to be of equal parts
 * (flow_first_part()). Pure functions; included by view, html and tests.
 *
 * The statistic is the difference of shares over its standard error: of edges that of halves of each recording
 * (halves.h: what varies between recordings, not what resampling single reads says), against Student's t; p is
 * two-sided; q is p after Benjamini and Hochberg, of edges with Yekutieli's factor, as their errors go together (a
 * window tells several): of the changes called real at q <= 0.05 one in twenty is not. scripts/diff-level counts them
 * between recordings of programs that did not change. The price: what few blocks of time tell is noise, such as data
 * that was written once.
 */
#ifndef ACCPERF_FLOW_DIFF_H
#define ACCPERF_FLOW_DIFF_H

#include "flow/flow.h"
#include "flow/input.h"

#define LEAST_JUDGED                                                                                                   \
	0.001 /* of the bytes, mean of both: smaller edges are not judged, for each that is makes it harder
			    * for the others to be called real; how small it is says nothing of how it changed */

struct diff_interval {
	double low, high; /* hold 95 %; NaN unknown; the same: exact */
};

struct diff_row {
	const char *a, *a_object;       /* producer, or the function */
	const char *b, *b_object;       /* consumer, NULL for functions */
	double base, other;             /* shares of 1 */
	double base_value, other_value; /* bytes, or ns */
	double error;                   /* standard error of other - base; NaN unknown */
	struct diff_interval of_base, of_other, of_change;
	bool small;     /* not judged: see LEAST_JUDGED */
	double z, p, q; /* NaN where the error is unknown; 0 when both are exact and differ */
};

struct flow_diff {
	struct diff_row *edges, *functions; /* largest change first */
	size_t edge_count, function_count;
	double base_total, other_total; /* bytes */
	double tv;
	double tv_noise; /* so much of it chance makes in the mean where nothing changed; NaN unknown */
};

/* Borrows names from all four. 0 or -errno. */
int flow_diff(const struct flow *base, const struct flow *other, const struct flow_input *base_in,
	      const struct flow_input *other_in, struct flow_diff *out, struct err *e);
void flow_diff_release(struct flow_diff *d);

/* The same judgement of other things that are counted in samples, such as places in stacks (html/stack_diff.c). */
#define DIFF_REAL 0.05 /* q of changes called real */

/* Two proportions: pooled, so that what is absent from one side has an error, too. Sets all but q and the intervals of
 * either share; shares are set. */
void diff_judge_samples(struct diff_row *r, uint64_t base, uint64_t of_base, uint64_t other, uint64_t of_other);
/* q over all rows that have a p; `dependent`: with Yekutieli's factor, for errors that go together. */
int diff_adjust(struct diff_row *rows, size_t n, bool dependent);
/* "real", "noise" or "unknown". */
const char *diff_verdict(const struct diff_row *r);

#endif
