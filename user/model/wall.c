// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/wall.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/grow.h"
#include "util/suggest.h"

double wall_speedup(double share, double k)
{
	double rest = 1 - share * (1 - (isinf(k) ? 0 : 1 / k));

	return rest > 1e-12 ? 1 / rest : NAN;
}

void wall_release(struct wall *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		free(w->curves[i].label);
		free(w->curves[i].functions);
	}
	free(w->curves);
	memset(w, 0, sizeof(*w));
}

/* ---- sums, with errors that are independent of each other ---- */

struct sum {
	double value, below, above; /* variances of the two halves of the interval */
};

static void sum_add(struct sum *s, double value, double low, double high, double cost)
{
	if (isnan(value))
		return;
	s->value += value * cost;
	if (low <= value && high >= value && isfinite(high)) {
		s->below += (value - low) * (value - low) * cost * cost;
		s->above += (high - value) * (high - value) * cost * cost;
	}
}

static struct sum sum_both(struct sum a, struct sum b)
{
	return (struct sum){ a.value + b.value, a.below + b.below, a.above + b.above };
}

static struct wall_range range_of(struct sum s)
{
	return (struct wall_range){ s.value, fmax(0, s.value - sqrt(s.below)), s.value + sqrt(s.above) };
}

/* Of the time: the part, where both it and the rest have their intervals. */
static struct wall_range part_of_time(struct sum part, struct sum rest)
{
	struct wall_range p = range_of(part), r = range_of(rest);

	return (struct wall_range){ p.value / (p.value + r.value), p.low > 0 ? p.low / (p.low + r.high) : 0,
				    p.high > 0 ? p.high / (p.high + r.low) : 0 };
}

static bool is_asked_for(const struct wall_opts *o, const struct flow_func *f)
{
	return filter_code(o->filter, f->name, f->object);
}

struct wall_work {
	const struct flow *f;
	const struct wall_opts *o;
	struct sum *own; /* by function: what it computes and reads of its own */
	struct sum compute, local, global;
	struct wall *out;
};

static int gather(struct wall_work *w, struct err *e)
{
	const struct flow *f = w->f;
	bool computes = false;
	double all, chosen = 0;

	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *edge = &f->edges[i];
		bool local = edge->producer == edge->consumer;

		sum_add(local ? &w->local : &w->global, edge->bytes, edge->low, edge->high, w->o->byte);
		if (local)
			sum_add(&w->own[edge->consumer], edge->bytes, edge->low, edge->high, w->o->byte);
		else if (edge->bytes > 0 && is_asked_for(w->o, &f->funcs[edge->consumer]))
			chosen += edge->bytes * w->o->byte;
	}
	for (uint32_t i = 0; i < f->func_count; i++) {
		const struct flow_func *n = &f->funcs[i];

		struct flow_range c = flow_computes(n);

		computes |= c.value > 0;
		w->out->unknown += isnan(c.value) && n->in > 0 && !flow_is_pseudo(n);
		sum_add(&w->compute, c.value, c.low, c.high, w->o->op);
		sum_add(&w->own[i], c.value, c.low, c.high, w->o->op);
		if (is_asked_for(w->o, n))
			chosen += w->own[i].value;
	}
	all = w->compute.value + w->local.value + w->global.value;
	w->out->chosen = all > 0 ? chosen / all : NAN;
	if (!computes)
		return err_set(
			e, -ENODATA,
			"nothing is known of what functions compute; record with --counts, or use `accperf exact`");
	if (!(w->local.value + w->global.value > 0))
		return err_set(e, -ENODATA, "no bytes between functions are known");
	return 0;
}

/* ---- curves ---- */

static int add_curve(struct wall_work *w, struct wall_curve c, const char *label)
{
	c.label = strdup(label);
	if (!c.label || !PUSH(w->out->curves, w->out->count, w->out->cap, 16, c)) {
		free(c.label);
		free(c.functions);
		return -ENOMEM;
	}
	return 0;
}

static bool among(const uint32_t *list, unsigned n, uint32_t func)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == func)
			return true;
	return false;
}

/* These functions are sped up; with a shared store, what they read of each other is, too. */
static int add_functions(struct wall_work *w, const uint32_t *list, unsigned n, enum wall_store store)
{
	const struct flow *f = w->f;
	struct sum part = { 0, 0, 0 }, rest = { 0, 0, 0 };
	struct wall_curve c = { .view = WALL_FUNCTIONS, .store = store, .function_count = n };
	AUTO_BUF(label);

	for (uint32_t i = 0; i < f->func_count; i++)
		if (among(list, n, i))
			part = sum_both(part, w->own[i]);
		else
			rest = sum_both(rest, w->own[i]);
	for (size_t i = 0; i < f->edge_count; i++) {
		const struct flow_edge *edge = &f->edges[i];
		bool inside = store == WALL_SHARED && among(list, n, edge->producer) && among(list, n, edge->consumer);

		if (edge->producer != edge->consumer)
			sum_add(inside ? &part : &rest, edge->bytes, edge->low, edge->high, w->o->byte);
	}
	for (unsigned i = 0; i < n; i++)
		buf_addf(&label, "%s%s", i ? " + " : "", f->funcs[list[i]].name);
	if (store != WALL_NO_STORE)
		buf_addstr(&label, store == WALL_SHARED ? ", shared store" : ", private stores");
	c.functions = calloc(n, sizeof(*c.functions));
	if (!c.functions || buf_failed(&label)) {
		free(c.functions);
		return -ENOMEM;
	}
	memcpy(c.functions, list, n * sizeof(*list));
	c.share = part_of_time(part, rest);
	return add_curve(w, c, label.data);
}

static int add_systems(struct wall_work *w)
{
	struct sum own = sum_both(w->compute, w->local);
	int err = add_curve(w,
			    (struct wall_curve){ .view = WALL_MEMORY,
						 .share = part_of_time(w->compute, sum_both(w->local, w->global)) },
			    "computation");

	if (!err)
		err = add_curve(w, (struct wall_curve){ .view = WALL_LOCAL, .share = part_of_time(own, w->global) },
				"computation and local communication");
	if (!err)
		err = add_curve(w, (struct wall_curve){ .view = WALL_LOCAL, .share = part_of_time(w->global, own) },
				"global communication");
	return err;
}

/* ---- which functions ---- */

static int choose_largest(struct wall_work *w, uint32_t *list, unsigned *count)
{
	unsigned want = w->o->largest ? w->o->largest : 4, n = 0;

	for (; n < want; n++) {
		uint32_t best = FLOW_NONE;

		for (uint32_t i = 0; i < w->f->func_count; i++)
			if (!flow_is_pseudo(&w->f->funcs[i]) && is_asked_for(w->o, &w->f->funcs[i]) &&
			    w->own[i].value > 0 && !among(list, n, i) &&
			    (best == FLOW_NONE || w->own[i].value > w->own[best].value))
				best = i;
		if (best == FLOW_NONE)
			break;
		list[n] = best;
	}
	*count = n;
	return 0;
}

static int choose_named(struct wall_work *w, uint32_t *list, unsigned *count, struct err *e)
{
	unsigned n = 0;

	for (unsigned k = 0; k < w->o->function_count; k++) {
		const char *name = w->o->functions[k];
		struct suggestion near = { 0 };
		bool met = false;

		for (uint32_t i = 0; i < w->f->func_count; i++) {
			const struct flow_func *fn = &w->f->funcs[i];

			if (flow_is_pseudo(fn) || !is_asked_for(w->o, fn))
				continue;
			suggest(&near, name, strlen(name), fn->name);
			if (strcmp(name, fn->name) && fnmatch(name, fn->name, 0))
				continue;
			if (among(list, n, i))
				return err_set(e, -EINVAL, "'%s' is given twice", fn->name);
			met = true;
			list[n++] = i;
		}
		if (!met)
			return err_set(e, -ENOENT, "there is no function '%s'%s%s%s", name,
				       near.name ? "; did you mean '" : "", near.name ? near.name : "",
				       near.name ? "'?" : "");
	}
	*count = n;
	return 0;
}

/* Each by itself, then those that gain most together (of named ones: all). */
static int add_chosen(struct wall_work *w, struct err *e)
{
	uint32_t *list = calloc(w->f->func_count + w->o->largest + 4u, sizeof(*list));
	unsigned n = 0, together;
	int err = !list ? -ENOMEM : w->o->function_count ? choose_named(w, list, &n, e) : choose_largest(w, list, &n);

	for (unsigned i = 0; i < n && !err; i++)
		err = add_functions(w, &list[i], 1, WALL_NO_STORE);
	together = w->o->function_count ? n : n < 2 ? n : 2;
	if (!err && together > 1)
		err = add_functions(w, list, together, WALL_PRIVATE);
	if (!err && together > 1)
		err = add_functions(w, list, together, WALL_SHARED);
	free(list);
	return err == -ENOMEM ? err_set(e, err, "out of memory") : err;
}

int wall_build(const struct flow *f, const struct wall_opts *o, struct wall *out, struct err *e)
{
	struct wall_work w = { .f = f, .o = o, .out = out };
	int err;

	memset(out, 0, sizeof(*out));
	if (!(o->op >= 0 && o->byte >= 0 && isfinite(o->op) && isfinite(o->byte) && o->op + o->byte > 0))
		return err_set(e, -EINVAL, "costs are numbers from 0 on, and not both 0");
	w.own = calloc(f->func_count + 1u, sizeof(*w.own));
	err = w.own ? gather(&w, e) : err_set(e, -ENOMEM, "out of memory");
	if (!err && add_systems(&w))
		err = err_set(e, -ENOMEM, "out of memory");
	if (!err)
		err = add_chosen(&w, e);
	out->compute = range_of(w.compute);
	out->local = range_of(w.local);
	out->global = range_of(w.global);
	free(w.own);
	if (err)
		wall_release(out);
	return err;
}
