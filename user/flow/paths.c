// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/paths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/input.h"
#include "util/map.h"

void flow_paths_release(struct flow_paths *p)
{
	free(p->at);
	free(p->edges);
	memset(p, 0, sizeof(*p));
}

struct paths_work {
	const struct flow_path *raw;
	uint32_t count;
	const struct flow_path_edge *edge;
	size_t edges;
	double *traffic; /* by id: with all below it */
	bool *kept;
	uint32_t *target;       /* by id: the kept one that stands for it */
	uint32_t *first, *next; /* children, in order; 0 none */
	struct flow_paths *out;
};

static double path_figure(const uint64_t figure[2], bool stack)
{
	double v = figure[FMT_X_DATA] == FMT_X_UNKNOWN ? NAN : (double)figure[FMT_X_DATA];

	return stack && figure[FMT_X_STACK] != FMT_X_UNKNOWN ? v + (double)figure[FMT_X_STACK] : v;
}

static double edge_bytes(const struct flow_input *in, const struct est_opts *o, const struct fmt_x_path_edge *x)
{
	double v = o->ke ? path_figure(x->ke_chunks, o->stack) * in->x_run.chunk : path_figure(x->bytes, o->stack);

	return v > 0 ? v : 0;
}

static int children_of(struct paths_work *w, struct err *e)
{
	w->traffic = calloc(w->count, sizeof(*w->traffic));
	w->kept = calloc(w->count, sizeof(*w->kept));
	w->target = calloc(w->count, sizeof(*w->target));
	w->first = calloc(w->count, sizeof(*w->first));
	w->next = calloc(w->count, sizeof(*w->next));
	if (!w->traffic || !w->kept || !w->target || !w->first || !w->next)
		return err_set(e, -ENOMEM, "out of memory");
	for (uint32_t i = w->count; i-- > 1;) {
		uint32_t p = w->raw[i].parent;

		w->next[i] = w->first[p];
		w->first[p] = i;
	}
	return 0;
}

static int by_path_traffic(const void *a, const void *b, void *ctx)
{
	const double *traffic = ctx;
	double x = traffic[*(const uint32_t *)a], y = traffic[*(const uint32_t *)b];

	return (x < y) - (x > y);
}

/* The busiest by their own traffic, and all above them. */
static int keep_busiest(struct paths_work *w, uint32_t most, struct err *e)
{
	uint32_t *order = calloc(w->count, sizeof(*order));

	if (!order)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < w->edges; i++) {
		w->traffic[w->edge[i].producer] += w->edge[i].bytes;
		w->traffic[w->edge[i].consumer] += w->edge[i].bytes;
	}
	for (uint32_t i = 1; i < w->count; i++)
		order[i - 1] = i;
	qsort_r(order, w->count - 1, sizeof(*order), by_path_traffic, w->traffic);
	for (uint32_t i = 0; i + 1 < w->count && i < most; i++)
		for (uint32_t p = order[i]; p && !w->kept[p] && w->traffic[order[i]] > 0; p = w->raw[p].parent)
			w->kept[p] = true;
	free(order);
	return 0;
}

static void push_children(const struct paths_work *w, uint32_t of, uint32_t *stack, uint32_t *depth)
{
	uint32_t a = *depth, b;

	for (uint32_t c = w->first[of]; c; c = w->next[c])
		stack[(*depth)++] = c;
	/* the first is to come first */
	for (b = *depth; a + 1 < b; a++, b--) {
		uint32_t t = stack[a];

		stack[a] = stack[b - 1];
		stack[b - 1] = t;
	}
}

/* Depth first, so that the result is in order of the tree; those left out go to the nearest kept one above. */
static int number(struct paths_work *w, struct err *e)
{
	uint32_t *stack = calloc(w->count + 1u, sizeof(*stack)), depth = 0;

	w->out->at = calloc(w->count + 1u, sizeof(*w->out->at));
	if (!stack || !w->out->at) {
		free(stack);
		return err_set(e, -ENOMEM, "out of memory");
	}
	w->target[0] = PATHS_NONE;
	push_children(w, 0, stack, &depth);
	while (depth) {
		uint32_t i = stack[--depth], above = w->target[w->raw[i].parent];

		if (w->kept[i]) {
			struct flow_path *p = &w->out->at[w->out->count];

			*p = w->raw[i];
			p->parent = above;
			p->depth = above == PATHS_NONE ? 0 : w->out->at[above].depth + 1;
			w->target[i] = w->out->count++;
		} else {
			w->target[i] = above;
			if (above != PATHS_NONE) {
				w->out->at[above].folded++;
				w->out->at[above].instructions += w->raw[i].instructions;
				w->out->at[above].compute += w->raw[i].compute;
			}
		}
		push_children(w, i, stack, &depth);
	}
	free(stack);
	return 0;
}

static int by_edge_bytes(const void *a, const void *b)
{
	double x = ((const struct flow_path_edge *)a)->bytes, y = ((const struct flow_path_edge *)b)->bytes;

	return (x < y) - (x > y);
}

static int fold_edges(struct paths_work *w, struct err *e)
{
	struct flow_paths *out = w->out;
	struct map at = { 0 };

	out->edges = calloc(w->edges + 1, sizeof(*out->edges));
	if (!out->edges)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < w->edges; i++) {
		const struct flow_path_edge *x = &w->edge[i];
		uint32_t from = w->target[x->producer], to = w->target[x->consumer];
		double bytes = x->bytes;
		bool added;
		uint64_t *slot;

		if (!(bytes > 0))
			continue;
		/* key 0 is left free: nobody to nobody */
		slot = map_put(&at, ((uint64_t)from << 32 | to) + 1, &added);
		if (!slot) {
			map_release(&at);
			return err_set(e, -ENOMEM, "out of memory");
		}
		if (added) {
			*slot = out->edge_count++;
			out->edges[*slot] = (struct flow_path_edge){ from, to, 0, x->unique };
		} else {
			out->edges[*slot].unique = NAN;
		}
		out->edges[*slot].bytes += bytes;
		out->total += bytes;
		if (from == to && to != PATHS_NONE) {
			out->at[to].local += bytes;
		} else {
			if (from != PATHS_NONE)
				out->at[from].out += bytes;
			if (to != PATHS_NONE)
				out->at[to].in += bytes;
		}
	}
	map_release(&at);
	qsort(out->edges, out->edge_count, sizeof(*out->edges), by_edge_bytes);
	return 0;
}

int flow_paths_fold(const struct path_source *s, uint32_t most, struct flow_paths *out, struct err *e)
{
	struct paths_work w = { .raw = s->raw, .count = s->count, .edge = s->edge, .edges = s->edges, .out = out };
	int err;

	memset(out, 0, sizeof(*out));
	err = children_of(&w, e);
	if (!err)
		err = keep_busiest(&w, most, e);
	if (!err)
		err = number(&w, e);
	if (!err)
		err = fold_edges(&w, e);
	out->all = w.count - 1;
	free(w.traffic);
	free(w.kept);
	free(w.target);
	free(w.first);
	free(w.next);
	if (err)
		flow_paths_release(out);
	return err;
}

/* Stored ids are 1, 2, 3 .. and parents come before children: anything else is damage. */
static int take_counted(const struct flow_input *in, const struct est_opts *o, struct path_source *s)
{
	s->count = (uint32_t)in->x_path_count + 1;
	s->raw = calloc(s->count, sizeof(*s->raw));
	s->edge = calloc(in->x_path_edge_count + 1, sizeof(*s->edge));
	if (!s->raw || !s->edge)
		return -ENOMEM;
	for (uint32_t i = 1; i < s->count; i++) {
		const struct fmt_x_path *x = &in->x_path[i - 1];

		if (x->id != i || x->parent >= i || x->function >= in->func_count)
			return -EBADMSG;
		s->raw[i] = (struct flow_path){ .name = in->funcs[x->function].name,
						.object = in->funcs[x->function].object,
						.parent = x->parent,
						.again = x->flags & FMT_X_PATH_AGAIN,
						.calls = x->calls,
						.instructions = (double)x->instructions,
						.compute = (double)x->compute };
	}
	for (size_t i = 0; i < in->x_path_edge_count; i++) {
		const struct fmt_x_path_edge *x = &in->x_path_edge[i];

		if (x->producer >= s->count || x->consumer >= s->count)
			return -EBADMSG;
		s->edge[s->edges++] = (struct flow_path_edge){ x->producer, x->consumer, edge_bytes(in, o, x),
							       path_figure(x->unique, o->stack) };
	}
	return 0;
}

int flow_paths_build(const struct flow_input *in, const struct est_opts *o, uint32_t most, struct flow_paths *out,
		     struct err *e)
{
	struct path_source s = { 0 };
	int err;

	memset(out, 0, sizeof(*out));
	if (!in->x_path_count)
		return err_set(
			e, -ENODATA,
			"the profile has no call tree with flow; make one with `accperf exact --callees -- COMMAND`");
	if (o->ke && !(in->x_run.has & FMT_X_HAS_KE))
		return err_set(e, -ENODATA, "the profile holds no figures in ke semantics");
	err = take_counted(in, o, &s);
	if (err)
		err_set(e, err, err == -ENOMEM ? "out of memory" : "the profile's tree of paths is damaged");
	else
		err = flow_paths_fold(&s, most, out, e);
	free(s.raw);
	free(s.edge);
	return err;
}
