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

/* Of reweighing; turns of the last round until no flow is negative any more; the same of those before, which only tell
 * the last one's weights; by hand. Counts of gcc, perl, postgres and two recordings of python are .031, .007, .019,
 * .016, .047 (TV) from a solver's with fifty times the steps; with 8 rounds and 12 last turns, for half as long again,
 * .029, .006, .015, .010, .053. */
#define ROUNDS 6
#define ACTIVE 8
#define EARLY 6
#define STEPS 60 /* of one descent; five times as many move .5 % of the time between blocks, as much as rounding does */
#define ENOUGH 1e-6       /* of the first residual */
#define STRICT 400.0      /* how much heavier the law of flow weighs than the time of a block */
#define SPREAD_INSNS 4.0  /* the time of so many instructions in a row is known to a factor of two */
#define LEAST_SAMPLES 0.3 /* of a period: what code without a sample is taken to have run at most; by hand */

/* What a sum over edges passes through. Conjugate gradients run over a copy without the edges that are held
 * at zero (mostly four of five), and without nodes and groups that no other edge touches. */
struct net {
	uint32_t edges, nodes, groups;
	uint32_t *to, *group; /* by edge */
	uint32_t *from;       /* by group; the one behind all nodes: where nothing is known, of weight 0 */
	double *w_edge, *w_node, *w_group;
	double *in, *out; /* sums by node, by group */
	double *owed;     /* by node, and one behind: of what comes from where nothing is known */
};

struct flow_balance_work {
	struct flow_balance *s;
	struct net all, free;
	double *x, *q, *diag; /* by edge */
	bool *zero;           /* edges held at 0 */
	/* by free edge */
	uint32_t *edge;
	double *fx, *r, *p, *fq, *fdiag;
	uint32_t *node, *group; /* new numbers of those that free edges touch */
	void *mem;
};

/* The next direction, from the residual and b of the last one, and on the way its sums over nodes and groups. */
static void turn(const struct net *t, double *restrict p, const double *restrict r, const double *restrict d, double b)
{
	double *restrict in = t->in, *restrict out = t->out;

	memset(in, 0, t->nodes * sizeof(double));
	memset(out, 0, t->groups * sizeof(double));
	for (uint32_t e = 0; e < t->edges; e++) {
		double v = r[e] * d[e] + b * p[e];

		p[e] = v;
		in[t->to[e]] += v;
		out[t->group[e]] += v;
	}
}

static void sum_direction(const struct net *t, const double *restrict v)
{
	double *restrict in = t->in, *restrict out = t->out;

	memset(in, 0, t->nodes * sizeof(double));
	memset(out, 0, t->groups * sizeof(double));
	for (uint32_t e = 0; e < t->edges; e++) {
		in[t->to[e]] += v[e];
		out[t->group[e]] += v[e];
	}
}

/* From v and its sums the gradient of half the weighted squares, without constants. */
static double sums_gradient(const struct net *t, const double *restrict v, double *restrict g)
{
	double even = 0, odd = 0;
	double *restrict in = t->in, *restrict out = t->out, *restrict owed = t->owed;
	const uint32_t *restrict to = t->to, *restrict group = t->group, *restrict from = t->from;
	const double *restrict w_edge = t->w_edge, *restrict w_group = t->w_group;

	for (uint32_t n = 0; n < t->nodes; n++)
		owed[n] = in[n] * t->w_node[n];
	/* out becomes the weighted violation, owed the weighted executions less what they owe their groups */
	for (uint32_t k = 0; k < t->groups; k++) {
		double o = w_group[k] * (out[k] - in[from[k]]);

		out[k] = o;
		owed[from[k]] -= o;
	}
	for (uint32_t e = 0; e + 1 < t->edges; e += 2) {
		g[e] = owed[to[e]] + out[group[e]] + w_edge[e] * v[e];
		even += v[e] * g[e];
		g[e + 1] = owed[to[e + 1]] + out[group[e + 1]] + w_edge[e + 1] * v[e + 1];
		odd += v[e + 1] * g[e + 1];
	}
	if (t->edges & 1) {
		uint32_t e = t->edges - 1;

		g[e] = owed[to[e]] + out[group[e]] + w_edge[e] * v[e];
		even += v[e] * g[e];
	}
	return even + odd;
}

/* Variance of a node's executions as its time shows them: of the sampling, and because instructions
 * do not all take equally long. */
static double variance_of_runs(const struct flow_balance *s, double runs, double cost)
{
	return (runs * s->period + SPREAD_INSNS * runs * runs) / cost;
}

static void set_weights(const struct flow_balance_work *w, const double *runs, double usual)
{
	const struct flow_balance *s = w->s;
	const struct net *t = &w->all;

	memset(w->diag, 0, s->edges * sizeof(double));
	for (uint32_t n = 0; n < s->nodes; n++)
		t->w_node[n] = s->node[n].cost > 0 ? 1 / variance_of_runs(s, runs[n], s->node[n].cost) : 0;
	for (uint32_t k = 0; k < s->groups; k++) {
		uint32_t from = s->group[k].from;

		t->w_group[k] = from == SMOOTH_NONE ? 0 : STRICT / variance_of_runs(s, runs[from], usual);
	}
	for (uint32_t e = 0; e < s->edges; e++) {
		uint32_t to = s->edge[e].to;

		t->w_edge[e] = s->edge[e].against / variance_of_runs(s, runs[to], usual);
		w->diag[e] = t->w_node[to] + t->w_group[s->edge[e].group] + t->w_edge[e];
	}
	/* what a flow into a node owes to that node's groups */
	memset(t->in, 0, s->nodes * sizeof(double));
	for (uint32_t k = 0; k < s->groups; k++)
		if (s->group[k].from != SMOOTH_NONE)
			t->in[s->group[k].from] += t->w_group[k];
	for (uint32_t e = 0; e < s->edges; e++)
		w->diag[e] += t->in[s->edge[e].to];
}

/* The gradient's constant part: what the time of the edge's block asks for. */
static double gradient_constant(const struct flow_balance_work *w, uint32_t e)
{
	uint32_t to = w->all.to[e];
	const struct flow_balance_node *n = &w->s->node[to];

	return n->cost > 0 ? w->all.w_node[to] * n->time / n->cost : 0;
}

/* The copy for conjugate gradients, of the edges of which r is not held at zero. What a free edge's node owes
 * its groups belongs to it, whether or not these have free edges. Order stays, so sums do. */
static void set_free(struct flow_balance_work *w)
{
	const struct net *t = &w->all;
	struct net *f = &w->free;

	memset(w->node, 0xff, t->nodes * sizeof(*w->node));
	memset(w->group, 0xff, t->groups * sizeof(*w->group));
	f->edges = f->nodes = f->groups = 0;
	for (uint32_t e = 0; e < t->edges; e++) {
		uint32_t from = t->from[t->group[e]];

		if (w->zero[e] || !(w->diag[e] > 0))
			continue;
		w->node[t->to[e]] = 0;
		w->group[t->group[e]] = 0;
		if (from != t->nodes)
			w->node[from] = 0;
		w->edge[f->edges++] = e;
	}
	for (uint32_t n = 0; n < t->nodes; n++) {
		if (w->node[n] == SMOOTH_NONE)
			continue;
		f->w_node[f->nodes] = t->w_node[n];
		w->node[n] = f->nodes++;
	}
	for (uint32_t k = 0; k < t->groups; k++) {
		uint32_t from = t->from[k] == t->nodes ? SMOOTH_NONE : w->node[t->from[k]];

		if (w->group[k] == SMOOTH_NONE && from == SMOOTH_NONE)
			continue;
		f->from[f->groups] = from == SMOOTH_NONE ? f->nodes : from;
		f->w_group[f->groups] = t->w_group[k];
		w->group[k] = f->groups++;
	}
	for (uint32_t i = 0; i < f->edges; i++) {
		uint32_t e = w->edge[i];

		f->to[i] = w->node[t->to[e]];
		f->group[i] = w->group[t->group[e]];
		f->w_edge[i] = t->w_edge[e];
		w->fdiag[i] = 1 / w->diag[e];
		w->fx[i] = w->x[e];
	}
}

static double step_on(struct flow_balance_work *w, double a)
{
	double *restrict x = w->fx, *restrict r = w->r, even = 0, odd = 0;
	const double *restrict p = w->p, *restrict q = w->fq, *restrict d = w->fdiag;
	uint32_t n = w->free.edges, i = 0;

	for (; i + 1 < n; i += 2) {
		x[i] += a * p[i];
		x[i + 1] += a * p[i + 1];
		r[i] -= a * q[i];
		r[i + 1] -= a * q[i + 1];
		even += r[i] * r[i] * d[i];
		odd += r[i + 1] * r[i + 1] * d[i + 1];
	}
	if (i < n) {
		x[i] += a * p[i];
		r[i] -= a * q[i];
		even += r[i] * r[i] * d[i];
	}
	return even + odd;
}

/* From the present x towards the least squares over the edges that are not held at zero, by conjugate
 * gradients preconditioned by the diagonal. */
static void descend(struct flow_balance_work *w, bool release)
{
	const struct flow_balance *s = w->s;
	const struct net *f = &w->free;
	double rz = 0, first;

	sum_direction(&w->all, w->x);
	sums_gradient(&w->all, w->x, w->q);
	for (uint32_t e = 0; e < s->edges; e++) {
		/* the residual stands where the gradient stood */
		w->q[e] = gradient_constant(w, e) - w->q[e];
		/* one that would rather grow is let go */
		if (release && w->q[e] > 0)
			w->zero[e] = false;
	}
	set_free(w);
	for (uint32_t i = 0; i < f->edges; i++) {
		w->r[i] = w->q[w->edge[i]];
		w->p[i] = 0; /* the first direction: of the residual alone */
		rz += w->r[i] * (w->r[i] * w->fdiag[i]);
	}
	first = rz;
	turn(f, w->p, w->r, w->fdiag, 0);
	for (int step = 0; step < STEPS && rz > ENOUGH * ENOUGH * first; step++) {
		double pq, a, next = 0;

		pq = sums_gradient(f, w->p, w->fq);
		if (!(pq > 0))
			break;
		a = rz / pq;
		next = step_on(w, a);
		turn(f, w->p, w->r, w->fdiag, next / rz);
		rz = next;
	}
	for (uint32_t i = 0; i < f->edges; i++)
		w->x[w->edge[i]] = w->fx[i];
}

/* No flow is negative: edges that came out so are held at zero until the rest would rather have them
 * back. */
static void descend_above_zero(struct flow_balance_work *w, int turns)
{
	for (int again = 0; again < turns; again++) {
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

static void executions(const struct flow_balance_work *w, double *runs, double least)
{
	const struct flow_balance *s = w->s;

	for (uint32_t n = 0; n < s->nodes; n++)
		runs[n] = 0;
	for (uint32_t e = 0; e < s->edges; e++)
		runs[s->edge[e].to] += w->x[e];
	for (uint32_t n = 0; n < s->nodes; n++)
		runs[n] = fmax(runs[n], least / fmax(s->node[n].cost, 1));
}

static bool figures_sane(const struct flow_balance *s)
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

/* The next `count` of `size` bytes each, of a block that starts at *at; without a block, what it must hold. */
static void *part_of_block(char **block, size_t *at, size_t count, size_t size)
{
	void *p = *block ? *block + *at : NULL;

	*at += (count * size + 7) & ~(size_t)7;
	return p;
}

static void net_parts(struct net *t, const struct flow_balance *s, char **b, size_t *at)
{
	t->to = part_of_block(b, at, s->edges, sizeof(*t->to));
	t->group = part_of_block(b, at, s->edges, sizeof(*t->group));
	t->from = part_of_block(b, at, s->groups, sizeof(*t->from));
	t->w_edge = part_of_block(b, at, s->edges, sizeof(*t->w_edge));
	t->w_node = part_of_block(b, at, s->nodes + 1, sizeof(*t->w_node));
	t->w_group = part_of_block(b, at, s->groups, sizeof(*t->w_group));
	t->in = part_of_block(b, at, s->nodes + 1, sizeof(*t->in));
	t->owed = part_of_block(b, at, s->nodes + 1, sizeof(*t->owed));
	t->out = part_of_block(b, at, s->groups, sizeof(*t->out));
}

static size_t work_parts(struct flow_balance_work *w, char *block)
{
	const struct flow_balance *s = w->s;
	double **by_edge[] = { &w->x, &w->q, &w->diag, &w->fx, &w->r, &w->p, &w->fq, &w->fdiag };
	size_t at = 0;

	net_parts(&w->all, s, &block, &at);
	net_parts(&w->free, s, &block, &at);
	for (size_t i = 0; i < sizeof(by_edge) / sizeof(*by_edge); i++)
		*by_edge[i] = part_of_block(&block, &at, s->edges, sizeof(double));
	w->edge = part_of_block(&block, &at, s->edges, sizeof(*w->edge));
	w->node = part_of_block(&block, &at, s->nodes, sizeof(*w->node));
	w->group = part_of_block(&block, &at, s->groups, sizeof(*w->group));
	w->zero = part_of_block(&block, &at, s->edges, sizeof(*w->zero));
	return at;
}

static bool allocate_work(struct flow_balance_work *w)
{
	const struct flow_balance *s = w->s;

	w->mem = calloc(1, work_parts(w, NULL) + 1);
	if (!w->mem)
		return false;
	work_parts(w, w->mem);
	w->all.edges = s->edges;
	w->all.nodes = s->nodes;
	w->all.groups = s->groups;
	for (uint32_t e = 0; e < s->edges; e++) {
		w->all.to[e] = s->edge[e].to;
		w->all.group[e] = s->edge[e].group;
	}
	for (uint32_t k = 0; k < s->groups; k++)
		w->all.from[k] = s->group[k].from == SMOOTH_NONE ? s->nodes : s->group[k].from;
	return true;
}

int flow_balance_solve(struct flow_balance *s)
{
	struct flow_balance_work w = { .s = s };
	double *runs = malloc((s->nodes + 1) * sizeof(*runs)), time = 0, cost = 0, sampled = 0, usual, least;
	int err = -ENOMEM;

	if (!figures_sane(s)) {
		free(runs);
		return -EINVAL;
	}
	if (!runs || !allocate_work(&w))
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
		descend_above_zero(&w, round + 1 < ROUNDS ? EARLY : ACTIVE);
		executions(&w, runs, least);
	}
	for (uint32_t e = 0; e < s->edges; e++)
		s->node[s->edge[e].to].runs += w.x[e];
out:
	free(w.mem);
	free(runs);
	return err;
}
