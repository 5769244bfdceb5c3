// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double known(uint64_t v)
{
	return v == FMT_X_UNKNOWN ? NAN : (double)v;
}

/* Copies all records of a chunk behind those at hand. */
static int take(void **array, size_t *count, size_t *cap, size_t size, const struct store_chunk *chunk, struct err *e)
{
	if (*count + chunk->count > *cap) {
		size_t want = *cap ? *cap : 256;
		void *p;

		while (want < *count + chunk->count)
			want *= 2;
		p = realloc(*array, want * size);
		if (!p)
			return err_set(e, -ENOMEM, "out of memory for the edges of the profile");
		*array = p;
		*cap = want;
	}
	for (uint32_t i = 0; i < chunk->count; i++)
		store_rec(chunk, i, (char *)*array + (*count)++ * size, size);
	return 0;
}

static int take_names(struct flow_truth *t, const struct store_chunk *chunk, struct err *e)
{
	size_t first = t->name_count;
	int err = take((void **)&t->names, &t->name_count, &t->name_cap, sizeof(*t->names), chunk, e);

	for (size_t i = first; !err && i < t->name_count; i++) {
		uint64_t *at = map_put(&t->name_at, t->names[i].id, NULL);

		if (!at)
			return err_set(e, -ENOMEM, "out of memory for the functions of the profile");
		*at = i + 1;
	}
	return err;
}

int flow_truth_chunk(struct flow_truth *t, const struct store_chunk *chunk, struct err *e)
{
	switch (chunk->section) {
	case FMT_FUNCTION:
		return take_names(t, chunk, e);
	case FMT_X_RUN:
		if (chunk->count) {
			store_rec(chunk, chunk->count - 1, &t->run, sizeof(t->run));
			t->has_run = true;
		}
		return 0;
	case FMT_X_FUNC:
		return take((void **)&t->funcs, &t->func_count, &t->func_cap, sizeof(*t->funcs), chunk, e);
	case FMT_X_EDGE:
		return take((void **)&t->edges, &t->edge_count, &t->edge_cap, sizeof(*t->edges), chunk, e);
	default:
		return 0;
	}
}

bool flow_truth_has(const struct flow_truth *t, enum flow_semantics sem)
{
	return t->has_run && t->run.has & (sem == FLOW_KE ? FMT_X_HAS_KE : FMT_X_HAS_QUAD);
}

static uint32_t function_of(const struct flow_truth *t, const struct store_reader *r, uint32_t id, struct flow *f)
{
	const uint64_t *at = map_get(&t->name_at, id);
	const char *name = at ? store_str(r, t->names[*at - 1].name) : NULL;
	const char *object = at ? store_str(r, t->names[*at - 1].object) : NULL;

	return flow_func(f, name ? name : FLOW_UNKNOWN, name && name[0] == '(' ? "" : object);
}

/* Several ids may share a name (static functions of different files): their figures add up. */
static void add(double *sum, double v)
{
	*sum = isnan(*sum) ? v : *sum + v;
}

static void add_function(struct flow_func *fn, const struct fmt_x_func *x, enum flow_stack stack)
{
	enum fmt_x_class class = stack == FLOW_STACK_INCLUDE ? FMT_X_BOTH : FMT_X_DATA;
	double load_bytes = 0, store_bytes = 0;

	for (int i = 0; i < 4; i++) {
		load_bytes += known(x->load_bytes[i]);
		store_bytes += known(x->store_bytes[i]);
	}
	add(&fn->instructions, known(x->instructions));
	add(&fn->compute, known(x->compute));
	add(&fn->loads, known(x->loads));
	add(&fn->stores, known(x->stores));
	add(&fn->load_bytes, load_bytes);
	add(&fn->store_bytes, store_bytes);
	add(&fn->stack_bytes, known(x->load_bytes[FMT_X_R_STACK]) + known(x->store_bytes[FMT_X_R_STACK]));
	add(&fn->calls, known(x->calls));
	add(&fn->in_uma, known(x->in_unique[class]));
	add(&fn->out_uma, known(x->out_unique[class]));
}

static void add_edge(struct flow_edge *to, const struct fmt_x_edge *x, enum flow_semantics sem, enum flow_stack stack,
		     uint32_t chunk)
{
	bool all = stack == FLOW_STACK_INCLUDE;

	if (sem == FLOW_KE)
		to->bytes += (known(x->ke_chunks[FMT_X_DATA]) + (all ? known(x->ke_chunks[FMT_X_STACK]) : 0)) * chunk;
	else
		to->bytes += known(x->bytes[FMT_X_DATA]) + (all ? known(x->bytes[FMT_X_STACK]) : 0);
	/* unique addresses are counted for quad */
	add(&to->unique, sem == FLOW_KE ? NAN : known(x->unique[all ? FMT_X_BOTH : FMT_X_DATA]));
	to->low = to->high = to->bytes;
}

int flow_truth_flow(const struct flow_truth *t, const struct store_reader *r, enum flow_semantics sem,
		    enum flow_stack stack, struct flow *f, struct err *e)
{
	f->engine = FLOW_EXACT;
	f->semantics = sem;
	f->stack = stack;
	f->main_image = t->run.has & FMT_X_ATTR_MAIN;
	for (size_t i = 0; i < t->func_count; i++) {
		uint32_t id;

		if (t->funcs[i].scope != FMT_X_SELF)
			continue;
		id = function_of(t, r, t->funcs[i].function, f);
		if (id != FLOW_NONE)
			add_function(&f->funcs[id], &t->funcs[i], stack);
	}
	for (size_t i = 0; i < t->edge_count; i++) {
		const struct fmt_x_edge *x = &t->edges[i];
		uint32_t producer, consumer;
		struct flow_edge *edge;

		/* an edge of the stack only is no edge without the stack */
		if (stack == FLOW_STACK_EXCLUDE && !(sem == FLOW_KE ? x->ke_chunks : x->bytes)[FMT_X_DATA])
			continue;
		producer = function_of(t, r, x->producer, f);
		consumer = function_of(t, r, x->consumer, f);
		edge = flow_edge(f, producer, consumer);
		if (edge)
			add_edge(edge, x, sem, stack, t->run.chunk ? t->run.chunk : 1);
	}
	flow_finish(f);
	return f->failed ? err_set(e, -ENOMEM, "out of memory for the edges of the profile") : 0;
}

void flow_truth_release(struct flow_truth *t)
{
	if (!t)
		return;
	free(t->funcs);
	free(t->edges);
	free(t->names);
	map_release(&t->name_at);
	memset(t, 0, sizeof(*t));
}
