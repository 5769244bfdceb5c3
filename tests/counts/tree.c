// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/cfg.h"
#include "proc/ehframe.h"
#include "code/induction.h"
#include "proc/module.h"
#include "counts/tree.h"

#define AMPLE (8u << 20) /* instructions looked at for one function */

struct builder {
	struct truth *truth;
	struct tree *t;
	struct map node_of[TRUTH_OBJECTS]; /* block address -> node + 1 */
	struct map site[TRUTH_OBJECTS];    /* call instruction -> node + 1 of its block */
	struct map seen[TRUTH_OBJECTS];    /* function start */
};

static int room(void **array, uint32_t n, uint32_t *cap, size_t size)
{
	void *bigger;

	if (n < *cap)
		return 0;
	bigger = realloc(*array, (*cap ? *cap * 2 : 1024) * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*cap = *cap ? *cap * 2 : 1024;
	return 0;
}

#define ROOM(t, what) room((void **)&(t)->what, (t)->what##s, &(t)->what##_cap, sizeof(*(t)->what))

static uint64_t runs_at(const struct builder *b, uint32_t object, uint64_t addr)
{
	const uint64_t *n = map_get(&b->truth->runs[object], addr);

	return n ? *n : 0;
}

static int add_node(struct builder *b, uint32_t object, uint64_t addr, enum tree_kind kind)
{
	struct tree *t = b->t;
	uint64_t *slot;

	if (ROOM(t, node))
		return -ENOMEM;
	t->node[t->nodes] = (struct tree_node){
		.object = object, .addr = addr, .kind = kind, .runs = runs_at(b, object, addr), .function = t->functions
	};
	slot = map_put(&b->node_of[object], addr, NULL);
	if (!slot)
		return -ENOMEM;
	*slot = ++t->nodes;
	return 0;
}

static int add_link(struct tree *t, uint32_t parent, uint32_t child, double ratio, enum counts_how how,
		    uint64_t anchors)
{
	if (ROOM(t, link))
		return -ENOMEM;
	t->link[t->links++] = (struct tree_link){ parent, child, ratio, how, anchors };
	return 0;
}

static uint32_t node_at(const struct builder *b, uint32_t object, uint64_t addr)
{
	const uint64_t *n = map_get(&b->node_of[object], addr);

	return n ? (uint32_t)*n - 1 : UINT32_MAX;
}

static size_t code_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return module_read(ctx, addr, buf, len);
}

static bool code_bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct ehframe *f = module_ehframe(ctx);

	return f && ehframe_function(f, addr, start, end);
}

static int link_block(struct builder *b, const struct cfg *c, uint32_t object, uint32_t block, const bool *trips)
{
	uint32_t inner = c->block[block].loop, up, me = node_at(b, object, cfg_block_addr(c, block)), anchor;
	const struct cfg_loop *l = inner == CFG_NONE ? NULL : &c->loop[inner];
	uint64_t pre;

	if (me == UINT32_MAX || (!block && inner == CFG_NONE))
		return 0;
	if (l && l->header == block) {
		if (trips[inner] && l->preheader != CFG_NONE && !l->preheader_may_skip) {
			up = node_at(b, object, cfg_block_addr(c, l->preheader));
			pre = runs_at(b, object, cfg_block_addr(c, l->preheader));
			if (up != UINT32_MAX && pre)
				return add_link(b->t, up, me, (double)b->t->node[me].runs / (double)pre, COUNTS_TRIPS,
						pre);
		}
		anchor = l->parent == CFG_NONE ? 0 : c->loop[l->parent].header;
		if (anchor == block)
			return 0;
	} else {
		anchor = l ? l->header : 0;
	}
	up = node_at(b, object, cfg_block_addr(c, anchor));
	if (up == UINT32_MAX || !b->t->node[up].runs)
		return 0;
	return add_link(b->t, up, me, (double)b->t->node[me].runs / (double)b->t->node[up].runs,
			c->complete && cfg_once(c, block) && !(l && l->header == block) ? COUNTS_ONCE : COUNTS_RATIO,
			b->t->node[up].runs);
}

static int add_part(struct builder *b, const struct cfg *c, uint32_t object, uint32_t block)
{
	struct tree *t = b->t;
	uint32_t node = node_at(b, object, cfg_block_addr(c, block));

	if (node == UINT32_MAX)
		return 0;
	if (ROOM(t, part))
		return -ENOMEM;
	t->part[t->parts++] =
		(struct counts_piece){ .node = node, .group = t->functions, .instructions = c->block[block].insns };
	for (uint32_t i = 0; i < c->block[block].insns; i++)
		t->function[t->functions].instructions +=
			(double)runs_at(b, object, cfg_insn_addr(c, c->block[block].insn + i));
	return 0;
}

static int add_function(struct builder *b, struct module *m, uint32_t object, uint64_t start, uint64_t end)
{
	struct block_code code = { .id = 1, .read = code_read, .bounds = code_bounds, .ctx = m };
	struct tree *t = b->t;
	uint32_t budget = AMPLE;
	bool *trips = NULL;
	struct cfg c;
	int rc = cfg_build(&code, start, end, &c);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	if (ROOM(t, function))
		rc = -ENOMEM;
	else
		t->function[t->functions] =
			(struct tree_function){ .object = object, .start = start, .end = end, .complete = c.complete };
	trips = calloc(c.loops + 1, sizeof(*trips));
	rc = trips ? rc : -ENOMEM;
	for (uint32_t l = 0; l < c.loops && !rc; l++) {
		struct induction in;

		trips[l] = !induction_find(&c, l, &budget, &in) && in.exits_all &&
			   (in.entry_known || in.entry_reg != DEC_NOREG);
	}
	for (uint32_t i = 0; i < c.blocks && !rc; i++) {
		uint32_t l = c.block[i].loop;

		if (runs_at(b, object, cfg_block_addr(&c, i)))
			rc = add_node(b, object, cfg_block_addr(&c, i),
				      !i                                       ? TREE_ENTRY
				      : l != CFG_NONE && c.loop[l].header == i ? TREE_HEADER
									       : TREE_BLOCK);
	}
	for (uint32_t i = 0; i < c.blocks && !rc; i++) {
		rc = link_block(b, &c, object, i, trips);
		rc = rc ? rc : add_part(b, &c, object, i);
	}
	for (uint32_t i = 0; i < c.insns && !rc; i++) {
		uint32_t at = cfg_block_at(&c, cfg_insn_addr(&c, i));
		uint32_t node = at == CFG_NONE ? UINT32_MAX : node_at(b, object, cfg_block_addr(&c, at));
		uint64_t *slot = node == UINT32_MAX ? NULL : map_put(&b->site[object], cfg_insn_addr(&c, i), NULL);

		if (slot)
			*slot = node + 1;
	}
	t->functions += !rc;
	free(trips);
	cfg_release(&c);
	return rc;
}

static int add_object(struct builder *b, uint32_t object)
{
	struct err e;
	struct module *m = module_open_path(intern_get(&b->truth->objects, object, NULL), NULL, 0, &e);
	uint64_t addr, *runs;
	size_t pos = 0;
	int rc = 0;

	while (!rc && map_next(&b->truth->runs[object], &pos, &addr, &runs)) {
		uint64_t start, end;
		bool added;

		if (!m || !code_bounds(m, addr, &start, &end)) {
			b->t->unmapped += (double)*runs;
			continue;
		}
		if (map_put(&b->seen[object], start, &added) && added)
			rc = add_function(b, m, object, start, end);
	}
	if (m)
		module_close_path(m);
	return rc;
}

static int link_calls(struct builder *b)
{
	for (uint32_t i = 0; i < b->truth->calls; i++) {
		const struct truth_call *c = &b->truth->call[i];
		const uint64_t *site = map_get(&b->site[c->from_object], c->from);
		uint32_t to = node_at(b, c->to_object, c->to), from = site ? (uint32_t)*site - 1 : UINT32_MAX;
		double runs;
		int rc;

		if (from == UINT32_MAX || to == UINT32_MAX || b->t->node[to].kind != TREE_ENTRY ||
		    !b->t->node[from].runs)
			continue;
		runs = (double)b->t->node[from].runs;
		rc = add_link(b->t, from, to, (double)c->count / runs,
			      (double)c->count == runs ? COUNTS_ONCE : COUNTS_RATIO, b->t->node[from].runs);
		if (rc)
			return rc;
	}
	return 0;
}

int tree_build(struct truth *truth, struct tree *out)
{
	struct builder *b = calloc(1, sizeof(*b));
	int rc = b ? 0 : -ENOMEM;

	memset(out, 0, sizeof(*out));
	if (!b)
		return rc;
	b->truth = truth;
	b->t = out;
	out->total = (double)truth->total;
	for (uint32_t o = 1; o <= truth->objects.count && o < TRUTH_OBJECTS && !rc; o++)
		rc = add_object(b, o);
	rc = rc ? rc : link_calls(b);
	for (uint32_t o = 0; o < TRUTH_OBJECTS; o++) {
		map_release(&b->node_of[o]);
		map_release(&b->site[o]);
		map_release(&b->seen[o]);
	}
	free(b);
	return rc;
}

void tree_release(struct tree *t)
{
	free(t->node);
	free(t->link);
	free(t->part);
	free(t->function);
}
