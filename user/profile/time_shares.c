// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/time_shares.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/grow.h"
#include "util/map.h"
#include "util/normal.h"
#include "util/suggest.h"

void wilson_interval(double share, double n, double *low, double *high)
{
	const double z = Z95, zz = z * z;
	double mid, half;

	if (!(n > 0)) {
		*low = *high = NAN;
		return;
	}
	mid = (share + zz / (2 * n)) / (1 + zz / n);
	half = z / (1 + zz / n) * sqrt(share * (1 - share) / n + zz / (4 * n * n));
	/* the bounds at 0 and 1 are exact; rounding would leave 1e-19 */
	*low = share <= 0 ? 0 : fmax(0, mid - half);
	*high = share >= 1 ? 1 : fmin(1, mid + half);
}

void shares_inclusive(const struct shares *s, double inclusive, double *low, double *high)
{
	*low = *high = inclusive;
	if (s->exact)
		return;
	wilson_interval(inclusive, s->effective, low, high);
	if (s->incomplete > 0)
		*high = fmin(*high + s->incomplete, 1);
}

int share_path(const struct profile *p, uint32_t stack, bool inlined, struct share_path *path)
{
	const struct profile_stack *s = &p->stacks[stack];

	path->count = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		const struct profile_frame *f = &p->frames[p->stack_frames[s->first + i]];
		uint32_t from = inlined ? 0 : f->count - 1;

		for (uint32_t l = from; l < f->count; l++) {
			if (!GROW(path->ids, path->count, path->cap, 64))
				return -ENOMEM;
			path->ids[path->count++] = p->lines[f->first + l].function;
		}
	}
	return 0;
}

static int shares_by_self(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	const struct share *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->inclusive != y->inclusive)
		return x->inclusive < y->inclusive ? 1 : -1;
	return strcmp(p->functions[x->function].name, p->functions[y->function].name);
}

struct time_shares_tally {
	struct {
		uint64_t samples;
		double self, inclusive;
		size_t stamp;
	} * f;
	double unnamed, incomplete;
	uint32_t *outer; /* of each frame: the function that is not inlined; NULL: inlined ones count */
};

static void add_inclusive_once(struct time_shares_tally *t, uint32_t function, double w, size_t stamp)
{
	/* a recursive function counts once a sample */
	if (t->f[function].stamp == stamp)
		return;
	t->f[function].stamp = stamp;
	t->f[function].inclusive += w;
}

static uint32_t *outer_functions(const struct profile *p)
{
	uint32_t *outer = calloc(p->frame_count + 1, sizeof(*outer));

	for (size_t i = 1; outer && i < p->frame_count; i++)
		outer[i] = p->lines[p->frames[i].first + p->frames[i].count - 1].function;
	return outer;
}

/* Adds w to every function on the stack; the leaf, or negative. */
static int64_t add_to_stack_functions(const struct profile *p, uint32_t stack, struct share_path *path,
				      struct time_shares_tally *t, double w, size_t stamp)
{
	const struct profile_stack *s = &p->stacks[stack];
	int err;

	if (t->outer) {
		const uint32_t *frames = p->stack_frames + s->first;

		for (uint32_t i = 0; i < s->count; i++)
			add_inclusive_once(t, t->outer[frames[i]], w, stamp);
		return s->count ? t->outer[frames[0]] : 0;
	}
	err = share_path(p, stack, true, path);
	for (size_t i = 0; i < path->count && !err; i++)
		add_inclusive_once(t, path->ids[i], w, stamp);
	return err ? err : path->count ? (int64_t)path->ids[0] : 0;
}

static int tally_cells(const struct profile *p, const struct shares_opts *o, enum profile_unit unit,
		       struct time_shares_tally *t, struct shares *out)
{
	struct share_path path = { 0 };
	bool all = o->thread == SHARES_ALL_THREADS;
	size_t first = all ? 0 : p->threads[o->thread].first_cell;
	size_t end = all ? p->cell_count : first + p->threads[o->thread].cell_count;
	int64_t leaf = 0;

	for (size_t i = first; i < end && leaf >= 0; i++) {
		const struct profile_cell *c = &p->cells[i];
		const struct profile_thread *thread = &p->threads[c->thread];
		double w = c->weight[unit];
		/* what is left out still is part of the whole */
		bool wanted = filter_process(o->filter, thread->pid, thread->comm);

		if (!c->samples[unit])
			continue;
		leaf = add_to_stack_functions(p, c->stack, &path, t, wanted ? w : 0, i + 1);
		if (leaf < 0)
			break;
		out->samples += c->samples[unit];
		out->weight += w;
		t->f[leaf].samples += wanted ? c->samples[unit] : 0;
		t->f[leaf].self += wanted ? w : 0;
		if (!p->stacks[c->stack].count && wanted)
			t->f[0].inclusive += w;
		t->unnamed += p->functions[leaf].named ? 0 : w;
		t->incomplete += p->stacks[c->stack].flags & FMT_STACK_COMPLETE ? 0 : w;
	}
	free(path.ids);
	return leaf < 0 ? (int)leaf : 0;
}

/* What was counted needs no estimate. */
static int exact_shares(const struct profile *p, const struct filter *filter, struct shares *out, struct err *e)
{
	double unnamed = 0;

	if (filter_asks_process(filter))
		return err_set(e, -ENOTSUP,
			       "the exact engine counted by function, not by process: leave out --pid and --comm");
	out->rows = calloc(p->function_count, sizeof(*out->rows));
	if (!out->rows)
		return err_set(e, -ENOMEM, "out of memory");
	out->exact = true;
	out->weight = p->exact_total;
	for (size_t i = 0; i < p->function_count && out->weight > 0; i++) {
		double self = p->exact[i].self / out->weight, inclusive = p->exact[i].inclusive / out->weight;

		if (!(self > 0) && !(inclusive > 0))
			continue;
		if (!p->functions[i].named)
			unnamed += self;
		if (!filter_code(filter, p->functions[i].name, p->functions[i].object))
			continue;
		out->shown += self;
		out->rows[out->count++] = (struct share){
			.function = (uint32_t)i, .self = self, .inclusive = inclusive, .low = self, .high = self
		};
	}
	out->effective = INFINITY;
	out->unnamed = out->weight > 0 ? unnamed : NAN;
	out->incomplete = NAN;
	qsort_r(out->rows, out->count, sizeof(*out->rows), shares_by_self, (void *)p);
	return 0;
}

int shares_compute(const struct profile *p, const struct shares_opts *o, struct shares *out, struct err *e)
{
	enum profile_unit unit = profile_unit(p);
	struct time_shares_tally t = { 0 };
	double mean_square;

	*out = (struct shares){ 0 };
	if (p->has_exact && o->thread == SHARES_ALL_THREADS)
		return exact_shares(p, o->filter, out, e);
	t.f = calloc(p->function_count, sizeof(*t.f));
	out->rows = calloc(p->function_count, sizeof(*out->rows));
	if (!o->inlined)
		t.outer = outer_functions(p);
	if (!t.f || !out->rows || (!o->inlined && !t.outer) || tally_cells(p, o, unit, &t, out)) {
		free(t.f);
		free(t.outer);
		shares_release(out);
		return err_set(e, -ENOMEM, "out of memory");
	}
	/* the spread of weights is taken over the whole run: a thread has the same timer */
	mean_square = p->weight[unit] > 0
			      ? p->weight_squares[unit] * (double)p->samples[unit] / (p->weight[unit] * p->weight[unit])
			      : 1;
	out->effective = (double)out->samples / fmax(1, mean_square);
	out->unnamed = out->weight > 0 ? t.unnamed / out->weight : NAN;
	out->incomplete = out->weight > 0 ? t.incomplete / out->weight : NAN;
	for (size_t i = 0; i < p->function_count && out->weight > 0; i++) {
		struct share *s;

		if (!(t.f[i].inclusive > 0) && !t.f[i].samples)
			continue;
		if (!filter_code(o->filter, p->functions[i].name, p->functions[i].object))
			continue;
		s = &out->rows[out->count++];
		*s = (struct share){ .function = (uint32_t)i,
				     .samples = t.f[i].samples,
				     .self = t.f[i].self / out->weight,
				     .inclusive = t.f[i].inclusive / out->weight };
		out->shown += s->self;
		wilson_interval(s->self, out->effective, &s->low, &s->high);
	}
	free(t.f);
	free(t.outer);
	qsort_r(out->rows, out->count, sizeof(*out->rows), shares_by_self, (void *)p);
	return 0;
}

void shares_release(struct shares *s)
{
	free(s->rows);
	*s = (struct shares){ 0 };
}

struct shares_growing {
	struct callers *out;
	size_t cap;
	struct map child_at; /* parent << 32 | function -> node */
};

static int64_t child_of(struct shares_growing *g, uint32_t parent, uint32_t function)
{
	bool added;
	uint64_t *at = map_put(&g->child_at, (uint64_t)parent << 32 | function, &added);

	if (!at)
		return -ENOMEM;
	if (!added)
		return (int64_t)*at;
	if (!GROW(g->out->nodes, g->out->count, g->cap, 64))
		return -ENOMEM;
	*at = g->out->count;
	g->out->nodes[g->out->count] = (struct caller){ .function = function, .parent = parent };
	return (int64_t)g->out->count++;
}

static int add_path(struct shares_growing *g, const struct share_path *path, size_t from, uint64_t samples, double w)
{
	uint32_t node = 0;

	g->out->nodes[0].samples += samples;
	g->out->nodes[0].weight += w;
	for (size_t k = from + 1; k < path->count; k++) {
		int64_t child;

		if (path->ids[k] == path->ids[k - 1])
			continue;
		child = child_of(g, node, path->ids[k]);
		if (child < 0)
			return (int)child;
		node = (uint32_t)child;
		g->out->nodes[node].samples += samples;
		g->out->nodes[node].weight += w;
	}
	g->out->nodes[node].top += w;
	return 0;
}

static int by_parent_weight(const void *a, const void *b, void *nodes)
{
	const struct caller *x = (struct caller *)nodes + *(const uint32_t *)a;
	const struct caller *y = (struct caller *)nodes + *(const uint32_t *)b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return x->function < y->function ? 1 : -1;
}

/* Children by falling weight: link them from the lightest, each in front of the last. */
static int link_children(struct callers *c)
{
	uint32_t *order = calloc(c->count, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 1; i < c->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order + 1, c->count - 1, sizeof(*order), by_parent_weight, c->nodes);
	for (size_t i = 1; i < c->count; i++) {
		struct caller *n = &c->nodes[order[i]];

		n->next = c->nodes[n->parent].first_child;
		c->nodes[n->parent].first_child = order[i];
	}
	free(order);
	return 0;
}

int callers_compute(const struct profile *p, const char *typed, const struct shares_opts *o, struct callers *out,
		    struct err *e)
{
	struct meant meant = { .typed = typed };
	const char *name;
	enum profile_unit unit = profile_unit(p);
	struct shares_growing g = { .out = out };
	struct share_path path = { 0 };
	int err = 0;

	*out = (struct callers){ 0 };
	for (uint32_t i = 0; i < p->function_count; i++)
		meant_add(&meant, p->functions[i].name);
	name = meant_name(&meant);
	if (child_of(&g, 0, UINT32_MAX) < 0)
		err = -ENOMEM;
	for (size_t i = 0; i < p->cell_count && !err; i++) {
		const struct profile_cell *c = &p->cells[i];
		const struct profile_thread *t = &p->threads[c->thread];
		size_t at;

		if (!c->samples[unit])
			continue;
		out->total += c->weight[unit];
		if (!filter_process(o->filter, t->pid, t->comm))
			continue;
		err = share_path(p, c->stack, o->inlined, &path);
		for (at = 0; !err && at < path.count; at++)
			if (!strcmp(p->functions[path.ids[at]].name, name))
				break;
		if (err || at == path.count)
			continue;
		out->nodes[0].function = path.ids[at];
		err = add_path(&g, &path, at, c->samples[unit], c->weight[unit]);
	}
	if (!err)
		err = link_children(out);
	free(path.ids);
	map_release(&g.child_at);
	if (err == 0 && !out->nodes[0].samples)
		err = err_set(e, -ENOENT, "no sample has a function named '%s'; `accperf report` lists them%s", name,
			      o->inlined ? "" : ", and --inline adds the inlined ones");
	else if (err)
		err_set(e, err, "out of memory");
	if (err)
		callers_release(out);
	return err;
}

void callers_release(struct callers *c)
{
	free(c->nodes);
	*c = (struct callers){ 0 };
}
