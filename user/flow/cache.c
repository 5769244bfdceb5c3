// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/cache.h"
#include "util/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RESULTS 64 /* of one file; by hand */

int flow_put(struct store_writer *w, const struct flow *f, struct err *e)
{
	struct fmt_flow head = {
		.engine = f->engine,
		.semantics = f->semantics,
		.stack = f->stack,
		.flags = (f->time_bias ? FMT_FLOW_TIME_BIAS : 0) | (f->main_image ? FMT_FLOW_MAIN_IMAGE : 0) |
			 (isnan(f->guessed) ? 0 : FMT_FLOW_GUESSES),
		.level = f->level,
		.duration_ns = f->duration_ns,
		.loads = f->loads,
		.stores = f->stores,
		.windows = f->windows,
		.lost = f->lost,
		.speed_low = f->speed_low,
		.speed_high = f->speed_high,
		.guessed = f->guessed,
		.unseen = f->unseen,
	};
	int err;

	/* chunks of different sections are flushed separately, so a result must not straddle a flush */
	err = store_flush(w, e);
	if (!err)
		err = store_put(w, FMT_FLOW, &head, sizeof(head));
	if (!err)
		err = store_flush(w, e);
	for (uint32_t i = 0; !err && i < f->func_count; i++) {
		const struct flow_func *n = &f->funcs[i];
		struct fmt_flow_function r = {
			.id = i,
			.name = store_string(w, n->name),
			.object = store_string(w, *n->object ? n->object : NULL),
			.flags = (n->in_uma_bound ? FMT_FF_IN_UMA_BOUND : 0) |
				 (n->out_uma_bound ? FMT_FF_OUT_UMA_BOUND : 0),
			.in_uma = n->in_uma,
			.out_uma = n->out_uma,
			.instructions = n->instructions,
			.compute = n->compute,
			.loads = n->loads,
			.stores = n->stores,
			.load_bytes = n->load_bytes,
			.store_bytes = n->store_bytes,
			.stack_bytes = n->stack_bytes,
			.self_ns = n->self_ns,
			.calls = n->calls,
			.in_low = n->in_low,
			.in_high = n->in_high,
			.out_low = n->out_low,
			.out_high = n->out_high,
		};

		err = store_put(w, FMT_FLOW_FUNCTION, &r, sizeof(r));
	}
	if (!err)
		err = store_flush(w, e);
	for (size_t i = 0; !err && i < f->edge_count; i++) {
		const struct flow_edge *n = &f->edges[i];
		struct fmt_flow_edge r = {
			.producer = n->producer,
			.consumer = n->consumer,
			.flags = n->unresolved ? FMT_FE_UNRESOLVED : 0,
			.bytes = n->bytes,
			.unique = n->unique,
			.low = n->low,
			.high = n->high,
			.samples = n->samples,
			.sd = n->sd,
		};

		err = store_put(w, FMT_FLOW_EDGE, &r, sizeof(r));
	}
	if (!err)
		return store_flush(w, e);
	return e && e->code ? err : err_set(e, err, "writing the flow result failed: %s", strerror(-err));
}

static int take_flow(void *ctx, const void *rec, size_t size)
{
	struct flow_cache *c = ctx;
	const struct fmt_flow *h = rec;
	struct err *e = c->e;
	struct flow *f;

	if (c->count == MAX_RESULTS)
		return err_set(e, -E2BIG, "the profile holds more than %d flow results: it is damaged", MAX_RESULTS);
	if (!GROW_ONE(c->results, c->count))
		return err_set(e, -ENOMEM, "out of memory");
	f = &c->results[c->count++];
	flow_init(f);
	f->engine = h->engine >= FLOW_EXACT && h->engine <= FLOW_SOFT ? h->engine : FLOW_SOFT;
	f->semantics = h->semantics == FLOW_KE ? FLOW_KE : FLOW_QUAD;
	f->stack = h->stack ? FLOW_STACK_INCLUDE : FLOW_STACK_EXCLUDE;
	f->time_bias = h->flags & FMT_FLOW_TIME_BIAS;
	f->main_image = h->flags & FMT_FLOW_MAIN_IMAGE;
	f->level = h->level;
	f->duration_ns = h->duration_ns;
	f->loads = h->loads;
	f->stores = h->stores;
	f->windows = h->windows;
	f->lost = h->lost;
	if (h->flags & FMT_FLOW_GUESSES) {
		f->guessed = h->guessed;
		f->unseen = h->unseen;
	}
	if (f->time_bias) {
		f->speed_low = h->speed_low > 0 ? h->speed_low : NAN;
		f->speed_high = h->speed_low > 0 ? h->speed_high : NAN;
	}
	map_release(&c->ids);
	return 0;
}

static int no_head(const struct flow_cache *c)
{
	return c->count ? 0 : err_set(c->e, -EINVAL, "the profile's flow result has no head: it is damaged");
}

static int take_flow_function(void *ctx, const void *rec, size_t size)
{
	struct flow_cache *c = ctx;
	const struct fmt_flow_function *n = rec;
	struct flow_func *fn;
	struct flow *f;
	uint64_t *at;
	uint32_t id;

	if (no_head(c))
		return -EINVAL;
	f = &c->results[c->count - 1];
	id = flow_func(f, store_str(c->reader, n->name), store_str(c->reader, n->object));
	at = id == FLOW_NONE ? NULL : map_put(&c->ids, n->id, NULL);
	if (!at)
		return err_set(c->e, -ENOMEM, "out of memory");
	*at = id;
	fn = &f->funcs[id];
	fn->in_uma_bound = n->flags & FMT_FF_IN_UMA_BOUND;
	fn->out_uma_bound = n->flags & FMT_FF_OUT_UMA_BOUND;
	fn->in_uma = n->in_uma;
	fn->out_uma = n->out_uma;
	fn->instructions = n->instructions;
	fn->compute = n->compute;
	fn->loads = n->loads;
	fn->stores = n->stores;
	fn->load_bytes = n->load_bytes;
	fn->store_bytes = n->store_bytes;
	fn->stack_bytes = n->stack_bytes;
	fn->self_ns = n->self_ns;
	fn->calls = n->calls;
	fn->in_low = n->in_low;
	fn->in_high = n->in_high;
	fn->out_low = n->out_low;
	fn->out_high = n->out_high;
	return 0;
}

static int take_flow_edge(void *ctx, const void *rec, size_t size)
{
	struct flow_cache *c = ctx;
	const struct fmt_flow_edge *n = rec;
	const uint64_t *p, *q;
	struct flow_edge *edge;

	if (no_head(c))
		return -EINVAL;
	p = map_get(&c->ids, n->producer);
	q = map_get(&c->ids, n->consumer);
	if (!p || !q)
		return err_set(c->e, -EINVAL, "an edge of a stored flow result names a function that is not there");
	edge = flow_edge(&c->results[c->count - 1], (uint32_t)*p, (uint32_t)*q);
	if (!edge)
		return err_set(c->e, -ENOMEM, "out of memory");
	edge->bytes = n->bytes >= 0 && n->bytes < 1e300 ? n->bytes : 0;
	edge->unique = n->unique;
	edge->low = n->low;
	edge->high = n->high;
	edge->samples = n->samples;
	edge->sd = n->sd >= 0 ? n->sd : NAN;
	edge->unresolved = n->flags & FMT_FE_UNRESOLVED;
	return 0;
}

static const struct section_row rows[] = {
	{ FMT_FLOW, sizeof(struct fmt_flow), take_flow, NULL },
	{ FMT_FLOW_FUNCTION, sizeof(struct fmt_flow_function), take_flow_function, NULL },
	{ FMT_FLOW_EDGE, sizeof(struct fmt_flow_edge), take_flow_edge, NULL },
};

struct section_reader flow_cache_reader(struct flow_cache *c, const struct store_reader *r, struct err *e)
{
	c->reader = r;
	c->e = e;
	return SECTION_READER(rows, c);
}

void flow_cache_end(struct flow_cache *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		flow_finish(&c->results[i]);
}

void flow_cache_release(struct flow_cache *c)
{
	for (uint32_t i = 0; i < c->count; i++)
		flow_release(&c->results[i]);
	free(c->results);
	map_release(&c->ids);
	memset(c, 0, sizeof(*c));
}

const struct flow *flow_cache_get(const struct flow_cache *c, enum flow_semantics sem, enum flow_stack stack,
				  bool main_image)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->results[i].semantics == sem && c->results[i].stack == stack &&
		    c->results[i].main_image == main_image)
			return &c->results[i];
	return NULL;
}
