// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Weighted least squares over the flow of each edge, solved by conjugate gradients, the weights taken
 * anew from the solution a few times (a sum of times has an error in proportion to itself).
 */
#include "volume/flow_balance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 8
#define ACTIVE 12
#define STEPS 300
#define ENOUGH 1e-6      /* of the first residual */
#define STRICT 400.0     /* how much heavier the law of flow weighs than the time of a block */
#define SPREAD_INSNS 4.0 /* the time of so many instructions in a row is known to a factor of two */
#define LEAST_SAMPLES 0.3

struct work {
	struct flow_balance *s;
	double *w_node, *w_group, *w_edge; /* weights; w_edge: against flow this way */
	double *in, *out;                  /* sums by node, by group */
	double *x, *r, *p, *q, *diag;      /* by edge */
	bool *zero;                        /* edges held at 0 */
	double *mem;
};

/* Sums of v over nodes and groups, then the gradient of half the weighted squares, without constants. */
static void apply(const struct work *w, const double *v, double *g)
{
	const struct flow_balance *s = w->s;

	memset(w->in, 0, s->nodes * sizeof(double));
	memset(w->out, 0, s->groups * sizeof(double));
	for (uint32_t e = 0; e < s->edges; e++) {
		w->in[s->edge[e].to] += v[e];
		w->out[s->edge[e].group] += v[e];
	}
	/* out becomes the weighted violation, in the weighted executions less what they owe their groups */
	for (uint32_t k = 0; k < s->groups; k++)
		w->out[k] = s->group[k].from == SMOOTH_NONE ? 0 : w->w_group[k] * (w->out[k] - w->in[s->group[k].from]);
	for (uint32_t n = 0; n < s->nodes; n++)
		w->in[n] *= w->w_node[n];
	for (uint32_t k = 0; k < s->groups; k++)
		if (s->group[k].from != SMOOTH_NONE)
			w->in[s->group[k].from] -= w->out[k];
	for (uint32_t e = 0; e < s->edges; e++)
		g[e] = w->in[s->edge[e].to] + w->out[s->edge[e].group] + w->w_edge[e] * v[e];
}

/* Variance of a node's executions as its time shows them: of the sampling, and because instructions
 * do not all take equally long. */
static double variance(const struct flow_balance *s, double runs, double cost)
{
	return (runs * s->period + SPREAD_INSNS * runs * runs) / cost;
}

static void set_weights(const struct work *w, const double *runs, double usual)
{
	const struct flow_balance *s = w->s;

	memset(w->diag, 0, s->edges * sizeof(double));
	for (uint32_t n = 0; n < s->nodes; n++)
		w->w_node[n] = s->node[n].cost > 0 ? 1 / variance(s, runs[n], s->node[n].cost) : 0;
	for (uint32_t k = 0; k < s->groups; k++) {
		uint32_t from = s->group[k].from;

		w->w_group[k] = from == SMOOTH_NONE ? 0 : STRICT / variance(s, runs[from], usual);
	}
	for (uint32_t e = 0; e < s->edges; e++) {
		uint32_t to = s->edge[e].to;

		w->w_edge[e] = s->edge[e].against / variance(s, runs[to], usual);
		w->diag[e] = w->w_node[to] + w->w_group[s->edge[e].group] + w->w_edge[e];
	}
	/* what a flow into a node owes to that node's groups */
	memset(w->in, 0, s->nodes * sizeof(double));
	for (uint32_t k = 0; k < s->groups; k++)
		if (s->group[k].from != SMOOTH_NONE)
			w->in[s->group[k].from] += w->w_group[k];
	for (uint32_t e = 0; e < s->edges; e++)
		w->diag[e] += w->in[s->edge[e].to];
}

static double dot(const double *a, const double *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* From the present x towards the least squares over the edges that are not held at zero, by conjugate
 * gradients preconditioned by the diagonal. */
static void descend(const struct work *w, bool release)
{
	const struct flow_balance *s = w->s;
	uint32_t n = s->edges;
	double rz = 0, first;

	apply(w, w->x, w->q);
	for (uint32_t e = 0; e < n; e++) {
		uint32_t to = s->edge[e].to;
		double want = s->node[to].cost > 0 ? w->w_node[to] * s->node[to].time / s->node[to].cost : 0;

		/* one that would rather grow is let go */
		if (release && want > w->q[e])
			w->zero[e] = false;
		w->r[e] = w->zero[e] || !(w->diag[e] > 0) ? 0 : want - w->q[e];
		w->p[e] = w->diag[e] > 0 ? w->r[e] / w->diag[e] : 0;
		rz += w->r[e] * w->p[e];
	}
	first = rz;
	for (int step = 0; step < STEPS && rz > ENOUGH * ENOUGH * first; step++) {
		double pq, a, next = 0;

		apply(w, w->p, w->q);
		pq = dot(w->p, w->q, n);
		if (!(pq > 0))
			return;
		a = rz / pq;
		for (uint32_t e = 0; e < n; e++) {
			if (w->zero[e] || !(w->diag[e] > 0))
				continue;
			w->x[e] += a * w->p[e];
			w->r[e] -= a * w->q[e];
			next += w->r[e] * w->r[e] / w->diag[e];
		}
		for (uint32_t e = 0; e < n; e++)
			w->p[e] = (w->diag[e] > 0 ? w->r[e] / w->diag[e] : 0) + next / rz * w->p[e];
		rz = next;
	}
}

/* No flow is negative: edges that came out so are held at zero until the rest would rather have them
 * back. */
static void descend_above_zero(const struct work *w)
{
	for (int again = 0; again < ACTIVE; again++) {
		bool negative = false;

		descend(w, !(again % 3));
		for (uint32_t e = 0; e < w->s->edges; e++) {
			if (w->x[e] >= 0)
				continue;
			w->zero[e] = negative = true;
			w->x[e] = 0;
		}
		if (!negative && again % 3)
			return;
	}
}

static void executions(const struct work *w, double *runs, double least)
{
	const struct flow_balance *s = w->s;

	for (uint32_t n = 0; n < s->nodes; n++)
		runs[n] = 0;
	for (uint32_t e = 0; e < s->edges; e++)
		runs[s->edge[e].to] += w->x[e];
	for (uint32_t n = 0; n < s->nodes; n++)
		runs[n] = fmax(runs[n], least / fmax(s->node[n].cost, 1));
}

static bool valid(const struct flow_balance *s)
{
	for (uint32_t n = 0; n < s->nodes; n++)
		if (!(s->node[n].time >= 0 && s->node[n].time < 1e18) ||
		    !(s->node[n].cost >= 0 && s->node[n].cost < 1e9))
			return false;
	for (uint32_t e = 0; e < s->edges; e++)
		if (s->edge[e].to >= s->nodes || s->edge[e].group >= s->groups ||
		    !(s->edge[e].against >= 0 && s->edge[e].against < 1e6))
			return false;
	for (uint32_t k = 0; k < s->groups; k++)
		if (s->group[k].from >= s->nodes && s->group[k].from != SMOOTH_NONE)
			return false;
	return s->period > 0 && s->period < 1e12;
}

static bool allocate(struct work *w)
{
	size_t n = w->s->nodes, m = w->s->edges, k = w->s->groups;
	double *b = w->mem = calloc(2 * n + 2 * k + 6 * m + 1, sizeof(double));

	w->zero = calloc(m + 1, sizeof(bool));
	if (!b || !w->zero)
		return false;
	w->w_node = b, b += n;
	w->in = b, b += n;
	w->w_group = b, b += k;
	w->out = b, b += k;
	w->w_edge = b, b += m;
	w->x = b, b += m;
	w->r = b, b += m;
	w->p = b, b += m;
	w->q = b, b += m;
	w->diag = b;
	return true;
}

int flow_balance_solve(struct flow_balance *s)
{
	struct work w = { .s = s };
	double *runs = malloc((s->nodes + 1) * sizeof(*runs)), time = 0, cost = 0, sampled = 0, usual, least;
	int err = -ENOMEM;

	if (!valid(s)) {
		free(runs);
		return -EINVAL;
	}
	if (!runs || !allocate(&w))
		goto out;
	for (uint32_t n = 0; n < s->nodes; n++) {
		time += s->node[n].cost > 0 ? s->node[n].time : 0;
		cost += s->node[n].cost;
		sampled += s->node[n].time > 0 ? s->node[n].cost : 0;
	}
	err = 0;
	for (uint32_t n = 0; n < s->nodes; n++)
		s->node[n].runs = 0;
	if (!(time > 0) || !(sampled > 0))
		goto out;
	usual = cost / s->nodes;
	least = LEAST_SAMPLES * s->period;
	/* first as if all that was sampled had run equally often, which favours nobody */
	for (uint32_t n = 0; n < s->nodes; n++)
		runs[n] = time / sampled;
	for (int round = 0; round < ROUNDS; round++) {
		set_weights(&w, runs, usual);
		descend_above_zero(&w);
		executions(&w, runs, least);
	}
	for (uint32_t e = 0; e < s->edges; e++)
		s->node[s->edge[e].to].runs += w.x[e];
out:
	free(w.mem);
	free(w.zero);
	free(runs);
	return err;
}
