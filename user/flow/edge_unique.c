// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/edge_unique.h"

#include "flow/unique_addresses.h"

struct unique_edges {
	const struct flow_input *in;
	const struct last_writer *c;
	const struct edge_ids *ids;
	const uint32_t *edge;
	struct flow *out;
};

static uint32_t edge_of_read(const void *ctx, size_t i)
{
	return ((const struct unique_edges *)ctx)->edge[i];
}

static struct unique_addresses_item read_item(const void *ctx, size_t i)
{
	const struct last_writer *c = ((const struct unique_edges *)ctx)->c;
	const struct read_answer *r = &c->reads[i];

	return (struct unique_addresses_item){ r->addr, r->object, r->size, c->time_bias ? 0 : r->bytes };
}

static void take_unique(const void *ctx, uint32_t key, const struct unique_addresses_result *r)
{
	const struct unique_edges *u = ctx;
	const struct in_func *p = &u->in->funcs[u->ids->producer[key]], *c = &u->in->funcs[u->ids->consumer[key]];
	uint32_t pi = flow_func(u->out, p->name, p->object), ci = flow_func(u->out, c->name, c->object);
	struct flow_edge *e = flow_get(u->out, pi, ci) ? flow_edge(u->out, pi, ci) : NULL;

	if (!e)
		return;
	e->unique = r->bytes < e->bytes ? r->bytes : e->bytes;
	e->unique_met = r->seen < e->unique ? r->seen : e->unique;
}

int edge_unique(const struct flow_input *in, const struct last_writer *c, const struct edge_ids *ids,
		const uint32_t *edge, struct flow *out)
{
	const struct unique_edges u = { in, c, ids, edge, out };
	const struct unique_addresses_by by = { c->read_count, ids->count, edge_of_read, read_item, take_unique, &u };

	return unique_addresses_each(in, &by);
}
