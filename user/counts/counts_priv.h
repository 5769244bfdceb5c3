/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between counts.c (the tree: order, what runs how often, how what is observed hangs on links) and
 * counts_solve.c (which errors of the links explain the observations best). Included by these alone.
 * To add a kind of observation: a case in counts_row(), in linearise() and where choose() lists it.
 */
#ifndef ACCPERF_COUNTS_COUNTS_PRIV_H
#define ACCPERF_COUNTS_COUNTS_PRIV_H

#include "counts/counts.h"

#define COUNTS_TINY 1e-200    /* runs, instead of 0 before a log is taken */
#define COUNTS_MAX_RATES 64   /* the surest are taken */
#define COUNTS_MAX_UNSEEN 256 /* groups without a single sample whose interval is worked out */

/* A group's instructions against its time, or a node's count against its rate. */
struct counts_seen {
	uint32_t index; /* of the group, or of the link that holds the rate */
	bool rate;
};

/* Errors are numbered: links, then scales of roots by node. Each is what the log is too high by. */
struct counts_solver {
	struct counts_tree *t;
	uint32_t *order;  /* nodes, parents first */
	uint32_t *rank;   /* by node: its place in that order */
	size_t *first_in; /* by node: its links as child, in by_child */
	size_t *by_child;
	size_t *first_part, *by_group; /* by group: its parts */
	bool *root;                    /* of unknown scale */
	double *x, *adjoint;
	double *use;       /* by link: its ratio, errors so far taken off */
	double *per_group; /* instructions, likewise */
	double *by_ratios; /* and as measured */
	double *shift;     /* by error: its estimate so far */
	double *pull;      /* by error: a row of elasticities; 0 but of those that are touched */
	size_t *touched;   /* the errors of that row */
	size_t touched_count;
	size_t *column_first; /* by error: what it does, in column: observation and elasticity */
	struct counts_effect {
		uint32_t on;
		float by;
	} * column;
	double *var; /* by error: before it was looked at */
	struct counts_seen *seen;
	uint32_t timed, observed, all; /* groups with time; and rates; and groups that no sample hit */
	double *d;                     /* by observed: its log against what it should be, extrapolated to no errors */
	double *fixed, *guessed;       /* observed x observed: what the errors do; of links whose scatter is a guess */
	double *m, *lambda, *base, *weight, *side;
	double *total;  /* by error */
	double spread;  /* standard deviation of log instructions per time */
	double stretch; /* of the guessed variances */
	double all_time;
	double mean, mean_var; /* of log instructions per time */
};

static inline size_t counts_errors(const struct counts_tree *t)
{
	return t->links + t->nodes;
}
static inline bool counts_is_rate(const struct counts_link *l)
{
	return l->ratio.how == COUNTS_RATE;
}

/* Parents first; a link that closes a cycle is left out, and its child becomes of unknown scale. 0, -ENOMEM. */
int counts_order(struct counts_solver *s);
void counts_run_tree(struct counts_solver *s);
/* d log(observation k) / d error, by error, into s->pull. */
void counts_row(struct counts_solver *s, uint32_t k);
/* The same of how often a node runs. */
void counts_node_row(struct counts_solver *s, uint32_t node);
/* Fills shift, mean, spread and what counts.h calls out, but for runs_var. 0, -ENOMEM. */
int counts_infer(struct counts_solver *s);
/* The tree's runs_var, once that is done. */
void counts_infer_nodes(struct counts_solver *s);

#endif
