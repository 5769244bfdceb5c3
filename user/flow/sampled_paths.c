// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call tree with the flow on it, of samples. What a path reads is known by the stacks of its sampled loads; who
 * wrote it is known by function, from the flow; which path of the writer, by the stacks of its sampled stores, in
 * proportion.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input.h"
#include "flow/paths.h"
#include "util/bisect.h"
#include "util/grow.h"
#include "util/map.h"

#define MOST_EDGES (1u << 22) /* of all paths; by hand */

/* A path that loads or stores: its part of what its function does. */
struct part_of {
	uint32_t func, path;
	double bytes[2]; /* read, written */
};

struct sampled_paths_growing {
	const struct flow_input *in;
	struct path_source s;
	size_t cap, edge_cap;
	struct map child;   /* parent, function: path */
	struct map part_at; /* path: part + 1 */
	struct part_of *part;
	size_t parts, part_cap;
	bool failed;
};

static uint32_t child_path(struct sampled_paths_growing *g, uint32_t parent, uint32_t func)
{
	bool added;
	uint64_t *slot = map_put(&g->child, ((uint64_t)parent << 32 | func) + 1, &added);
	struct flow_path *p;

	if (!slot || !GROW(g->s.raw, (size_t)g->s.count + 1, g->cap, 256)) {
		g->failed = true;
		return 0;
	}
	if (!added)
		return (uint32_t)*slot;
	p = &g->s.raw[g->s.count];
	*p = (struct flow_path){ .name = g->in->funcs[func].name,
				 .object = g->in->funcs[func].object,
				 .parent = parent,
				 .instructions = NAN,
				 .compute = NAN };
	for (uint32_t up = parent; up && !p->again; up = g->s.raw[up].parent)
		p->again = g->s.raw[up].name == p->name && g->s.raw[up].object == p->object;
	*slot = g->s.count;
	return g->s.count++;
}

/* From the first function down to the one that accesses; without a stack, that one alone. */
static uint32_t path_of_access(struct sampled_paths_growing *g, const struct in_access *a)
{
	const struct flow_input *in = g->in;
	const struct in_stack *s = a->stack && a->stack <= in->stack_count ? &in->stack[a->stack - 1] : NULL;
	uint32_t at = 0, from = 0;

	/* library code that stands as its caller ends where that is on the stack */
	while (s && from < s->count && in->stack_func[s->first + from] != a->func)
		from++;
	for (uint32_t k = s ? s->count : 0; k-- > from && !g->failed;)
		at = child_path(g, at, in->stack_func[s->first + k]);
	return s && from < s->count ? at : child_path(g, at, a->func);
}

static struct part_of *part_of_path(struct sampled_paths_growing *g, uint32_t func, uint32_t path)
{
	bool added;
	uint64_t *slot = map_put(&g->part_at, (uint64_t)path + 1, &added);

	if (!slot || !GROW(g->part, g->parts + 1, g->part_cap, 256)) {
		g->failed = true;
		return NULL;
	}
	if (added) {
		*slot = g->parts;
		g->part[g->parts++] = (struct part_of){ .func = func, .path = path };
	}
	return &g->part[*slot];
}

static void take_parts(struct sampled_paths_growing *g, bool stack)
{
	const struct flow_input *in = g->in;

	for (size_t i = 0; i < in->access_count + in->blind_count && !g->failed; i++) {
		const struct in_access *a = i < in->access_count ? &in->access[i] : &in->blind[i - in->access_count];
		struct part_of *p;

		if ((a->flags & (FMT_A_CENSUS | IN_A_UNSAMPLED)) || (!stack && (a->flags & FMT_A_STACK)))
			continue;
		p = part_of_path(g, a->func, path_of_access(g, a));
		if (!p)
			break;
		p->bytes[0] += a->flags & FMT_A_LOAD ? a->weight * a->size : 0;
		p->bytes[1] += a->flags & FMT_A_STORE ? a->weight * a->size : 0;
	}
}

static int part_order(const void *a, const void *b)
{
	const struct part_of *x = a, *y = b;

	return x->func != y->func ? (x->func < y->func ? -1 : 1) : (x->path > y->path) - (x->path < y->path);
}

/* The parts of a function, and the sum of what they read or wrote; of one that has none: one, under nobody. */
struct parts_view {
	const struct part_of *at;
	size_t count;
	double sum;
	struct part_of alone;
};

static void parts_of(struct sampled_paths_growing *g, uint32_t func, int written, struct parts_view *v)
{
	size_t lo = BISECT(mid, g->parts, g->part[mid].func < func);

	*v = (struct parts_view){ .at = g->part + lo };
	while (lo + v->count < g->parts && v->at[v->count].func == func)
		v->sum += v->at[v->count++].bytes[written];
	if (v->sum > 0)
		return;
	v->alone = (struct part_of){ .func = func, .path = child_path(g, 0, func), .bytes = { 1, 1 } };
	v->at = &v->alone;
	v->count = 1;
	v->sum = 1;
}

static void divide_flow_edge(struct sampled_paths_growing *g, uint32_t producer, uint32_t consumer, double bytes)
{
	struct parts_view from, to;

	parts_of(g, producer, 1, &from);
	parts_of(g, consumer, 0, &to);
	for (size_t i = 0; i < from.count && !g->failed; i++) {
		for (size_t k = 0; k < to.count && g->s.edges < MOST_EDGES; k++) {
			double part = from.at[i].bytes[1] / from.sum * (to.at[k].bytes[0] / to.sum);

			if (!(part > 0))
				continue;
			if (!GROW(g->s.edge, g->s.edges + 1, g->edge_cap, 256)) {
				g->failed = true;
				return;
			}
			g->s.edge[g->s.edges++] =
				(struct flow_path_edge){ from.at[i].path, to.at[k].path, bytes * part, NAN };
		}
	}
}

int flow_paths_sampled(const struct flow_input *in, const struct flow *f, const struct est_opts *o, uint32_t most,
		       struct flow_paths *out, struct err *e)
{
	struct sampled_paths_growing g = { .in = in, .s = { .count = 1 } };
	uint32_t *func = malloc((f->func_count + 1) * sizeof(*func));
	int err;

	memset(out, 0, sizeof(*out));
	g.failed = !func || !GROW(g.s.raw, 1, g.cap, 256);
	if (!g.failed)
		g.s.raw[0] = (struct flow_path){ 0 };
	take_parts(&g, o->stack);
	qsort(g.part, g.parts, sizeof(*g.part), part_order);
	for (uint32_t i = 0; i < f->func_count && !g.failed; i++) {
		func[i] = FLOW_NONE;
		for (uint32_t k = 0; k < in->func_count && func[i] == FLOW_NONE; k++)
			if (!strcmp(in->funcs[k].name, f->funcs[i].name) &&
			    !strcmp(in->funcs[k].object, f->funcs[i].object))
				func[i] = k;
	}
	for (size_t i = 0; i < f->edge_count && !g.failed; i++) {
		const struct flow_edge *x = &f->edges[i];

		if (x->bytes > 0 && func[x->producer] != FLOW_NONE && func[x->consumer] != FLOW_NONE)
			divide_flow_edge(&g, func[x->producer], func[x->consumer], x->bytes);
	}
	err = g.failed ? err_set(e, -ENOMEM, "out of memory") : flow_paths_fold(&g.s, most, out, e);
	out->sampled = !err;
	map_release(&g.child);
	map_release(&g.part_at);
	free(g.s.raw);
	free(g.s.edge);
	free(g.part);
	free(func);
	return err;
}
