// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts from a tree of links: what is checked and chosen before it is solved. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts_priv.h"

static int check_links(const struct counts_tree *t)
{
	for (size_t i = 0; i < t->links; i++)
		if (t->link[i].parent >= t->nodes || t->link[i].child >= t->nodes || t->link[i].ratio.ratio < 0 ||
		    t->link[i].ratio.log_var < 0 || isinf(t->link[i].ratio.ratio))
			return -EINVAL;
	for (size_t i = 0; i < t->parts; i++)
		if (t->part[i].node >= t->nodes || t->part[i].group >= t->groups || !(t->part[i].instructions >= 0) ||
		    isinf(t->part[i].instructions))
			return -EINVAL;
	for (size_t i = 0; i < t->groups; i++)
		if (!(t->group[i].time >= 0) || isinf(t->group[i].time))
			return -EINVAL;
	return 0;
}

/* ---- what is observed ---- */

static int by_time_of_group(const void *a, const void *b, void *tree)
{
	const struct counts_tree *t = tree;
	const struct counts_seen *x = a, *y = b;
	double p = t->group[x->index].time, q = t->group[y->index].time;

	return p < q ? 1 : p > q ? -1 : x->index < y->index ? -1 : x->index > y->index;
}

/* The surest first. */
static int by_variance(const void *a, const void *b, void *tree)
{
	const struct counts_tree *t = tree;
	const struct counts_seen *x = a, *y = b;
	double p = t->link[x->index].ratio.log_var, q = t->link[y->index].ratio.log_var;

	return p < q ? -1 : p > q ? 1 : x->index < y->index ? -1 : x->index > y->index;
}

static int list_parts(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	size_t *at = malloc((t->groups + 1) * sizeof(*at));

	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < t->parts; i++)
		s->first_part[t->part[i].group + 1]++;
	for (size_t g = 0; g < t->groups; g++) {
		s->first_part[g + 1] += s->first_part[g];
		at[g] = s->first_part[g];
	}
	for (size_t i = 0; i < t->parts; i++)
		s->by_group[at[t->part[i].group]++] = i;
	free(at);
	return 0;
}

/* First groups with time and counts (the largest), then rates, then the groups with counts alone. */
static int choose(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	struct counts_seen *all = malloc((t->groups + t->links + 1) * sizeof(*all)), *rate;
	uint32_t timed = 0, rates = 0, n = 0;

	if (!all)
		return -ENOMEM;
	s->seen = all;
	for (size_t g = 0; g < t->groups; g++)
		if (s->per_group[g] > 0 && t->group[g].time > 0 && !t->group[g].partial)
			all[timed++] = (struct counts_seen){ .index = (uint32_t)g };
	qsort_r(all, timed, sizeof(*all), by_time_of_group, t);
	n = timed < COUNTS_MAX_GROUPS ? timed : COUNTS_MAX_GROUPS;
	rate = all + n;
	for (size_t l = 0; l < t->links; l++)
		if (counts_is_rate(&t->link[l]) && t->link[l].ratio.ratio > 0 && t->link[l].ratio.log_var < 4)
			rate[rates++] = (struct counts_seen){ .index = (uint32_t)l, .rate = true };
	qsort_r(rate, rates, sizeof(*rate), by_variance, t);
	s->timed = n;
	s->observed = n + (rates < COUNTS_MAX_RATES ? rates : COUNTS_MAX_RATES);
	s->all = s->observed;
	for (size_t g = 0; g < t->groups; g++)
		if (s->per_group[g] > 0 && !(t->group[g].time > 0) && !t->group[g].partial &&
		    s->all < s->observed + COUNTS_MAX_UNSEEN)
			all[s->all++] = (struct counts_seen){ .index = (uint32_t)g };
	return 0;
}

/* ---- */

static int allocate_solver(struct counts_solver *s)
{
	struct counts_tree *t = s->t;
	size_t nodes = (size_t)t->nodes + 2, links = t->links + 1, groups = t->groups + 2;

	s->order = malloc(nodes * sizeof(*s->order));
	s->rank = malloc(nodes * sizeof(*s->rank));
	s->first_in = calloc(nodes, sizeof(*s->first_in));
	s->by_child = malloc(links * sizeof(*s->by_child));
	s->first_part = calloc(groups, sizeof(*s->first_part));
	s->by_group = malloc((t->parts + 1) * sizeof(*s->by_group));
	s->root = calloc(nodes, sizeof(*s->root));
	s->x = calloc(nodes, sizeof(*s->x));
	s->adjoint = calloc(nodes, sizeof(*s->adjoint));
	s->use = calloc(links, sizeof(*s->use));
	s->per_group = calloc(groups, sizeof(*s->per_group));
	s->by_ratios = calloc(groups, sizeof(*s->by_ratios));
	s->shift = calloc(links + nodes, sizeof(*s->shift));
	s->pull = calloc(links + nodes, sizeof(*s->pull));
	s->touched = malloc((links + nodes) * sizeof(*s->touched));
	s->var = calloc(links + nodes, sizeof(*s->var));
	s->column_first = calloc(links + nodes + 2, sizeof(*s->column_first));
	s->total = calloc(links + nodes, sizeof(*s->total));
	return s->order && s->rank && s->touched && s->first_in && s->by_child && s->first_part && s->by_group &&
			       s->root && s->x && s->adjoint && s->use && s->per_group && s->by_ratios && s->shift &&
			       s->pull && s->var && s->column_first && s->total
		       ? 0
		       : -ENOMEM;
}

static void release_solver(struct counts_solver *s)
{
	free(s->order);
	free(s->rank);
	free(s->touched);
	free(s->first_in);
	free(s->by_child);
	free(s->first_part);
	free(s->by_group);
	free(s->root);
	free(s->x);
	free(s->adjoint);
	free(s->use);
	free(s->per_group);
	free(s->by_ratios);
	free(s->shift);
	free(s->pull);
	free(s->var);
	free(s->column_first);
	free(s->total);
	free(s->seen);
	free(s->fixed);
	free(s->guessed);
	free(s->m);
	free(s->lambda);
	free(s->d);
	free(s->weight);
	free(s->side);
	free(s->column);
	free(s->base);
}

void counts_solved_release(struct counts_tree *t)
{
	if (t->solver)
		release_solver(t->solver);
	free(t->solver);
	t->solver = NULL;
}

int counts_solve(struct counts_tree *t)
{
	struct counts_solver *s;
	int rc = check_links(t);

	counts_solved_release(t);
	if (rc)
		return rc;
	s = t->solver = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->t = t;
	t->broken = t->cycles = 0;
	for (size_t i = 0; i < t->links; i++) {
		t->link[i].broken = t->link[i].cycle = false;
		t->link[i].correction = 1;
	}
	rc = allocate_solver(s);
	rc = rc ? rc : counts_order(s);
	rc = rc ? rc : list_parts(s);
	if (!rc) {
		for (uint32_t i = 0; i < t->nodes; i++)
			s->rank[s->order[i]] = i;
		counts_run_tree(s);
		memcpy(s->by_ratios, s->per_group, t->groups * sizeof(*s->by_ratios));
		rc = choose(s);
	}
	rc = rc ? rc : counts_infer(s);
	if (!rc && t->runs_var)
		counts_infer_nodes(s);
	if (rc || !t->keep)
		counts_solved_release(t);
	return rc;
}

void counts_solve_nodes(struct counts_tree *t)
{
	if (t->solver)
		counts_infer_nodes(t->solver);
}
