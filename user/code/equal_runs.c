// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/equal_runs.h"
#include "util/bisect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- which blocks run equally often ---- */

/* The anchor of a block: the header of its innermost loop, or the entry. */
static uint32_t block_anchor(const struct runs *r, uint32_t block)
{
	uint32_t l = r->cfg.block[block].loop;

	return l == CFG_NONE ? 0 : r->node_of[r->cfg.loop[l].header];
}

/* Nothing else leads to it, and nothing else follows its only predecessor. */
static uint32_t in_line_after(const struct runs *r, uint32_t block)
{
	const struct cfg *c = &r->cfg;
	const struct cfg_block *b = &c->block[block];
	uint32_t p;

	if (!r->complete || b->preds != 1 || !block)
		return CFG_NONE;
	p = c->pred[b->pred];
	if (p == block || c->block[p].succs != 1 || c->block[p].loop != b->loop ||
	    (c->block[p].flags & (CFG_VIA_COLD | CFG_LEAVES)))
		return CFG_NONE;
	return p;
}

static uint32_t add_node(struct runs *r, uint32_t kind, uint32_t block)
{
	const struct cfg *c = &r->cfg;
	struct runs_node *n = &r->node[r->nodes];

	*n = (struct runs_node){ .kind = kind, .block = block, .loop = CFG_NONE, .addr = c->start };
	if (block != CFG_NONE) {
		n->loop = c->block[block].loop;
		n->addr = cfg_block_addr(c, block);
	}
	if (n->loop != CFG_NONE)
		n->depth = c->loop[n->loop].depth;
	return r->nodes++;
}

static bool runs_at_all(const struct runs *r, uint32_t block)
{
	return !r->cfg.complete || (r->cfg.block[block].flags & CFG_REACHED);
}

static bool is_header(const struct cfg *c, uint32_t block)
{
	uint32_t l = c->block[block].loop;

	return l != CFG_NONE && c->loop[l].header == block;
}

static void classes(struct runs *r)
{
	const struct cfg *c = &r->cfg;

	for (uint32_t b = 0; b < c->blocks; b++)
		r->node_of[b] = CFG_NONE;
	add_node(r, FMT_CN_ENTRY, is_header(c, 0) ? CFG_NONE : 0);
	if (!is_header(c, 0))
		r->node_of[0] = 0;
	for (uint32_t b = 0; b < c->blocks; b++)
		if (is_header(c, b) && runs_at_all(r, b))
			r->node_of[b] = add_node(r, FMT_CN_LOOP, b);
	for (uint32_t b = 0; b < c->blocks; b++)
		if (r->node_of[b] == CFG_NONE && cfg_once(c, b))
			r->node_of[b] = block_anchor(r, b);
	for (uint32_t b = 0; b < c->blocks; b++) {
		uint32_t first = b, p;

		if (r->node_of[b] != CFG_NONE || !runs_at_all(r, b))
			continue;
		/* up the line to something that has a node, or its beginning; a circle ends as it began */
		while (r->node_of[first] == CFG_NONE && (p = in_line_after(r, first)) != CFG_NONE && p != b)
			first = p;
		if (r->node_of[first] == CFG_NONE)
			r->node_of[first] = add_node(r, FMT_CN_BLOCK, first);
		for (uint32_t at = b; r->node_of[at] == CFG_NONE; at = in_line_after(r, at))
			r->node_of[at] = r->node_of[first];
	}
}

static int sum_work_of_blocks(struct runs *r)
{
	const struct cfg *c = &r->cfg;

	for (uint32_t b = 0; b < c->blocks; b++) {
		for (uint32_t i = c->block[b].insn;
		     r->node_of[b] != CFG_NONE && i < c->block[b].insn + c->block[b].insns; i++) {
			struct dec_insn d;

			if (cfg_decode(c, i, &d))
				return -ENODATA;
			block_work_add(&r->node[r->node_of[b]].work, &d);
		}
	}
	return 0;
}

/* ---- how they could be measured ---- */

static bool add_loop_exit(const struct cfg *c, struct runs_trips *t, uint32_t which)
{
	const struct induction_exit *e = &t->in.exit[which];
	uint64_t addr = cfg_block_addr(c, e->to);

	if (e->reg == DEC_NOREG)
		return false;
	for (uint32_t i = 0; i < t->exits; i++) {
		const struct induction_exit *o = &t->in.exit[t->exit_at[i]];

		if (t->exit[i] == addr)
			/* else nobody knows which was taken */
			return o->reg == e->reg && o->add == e->add && o->next == e->next;
	}
	if (t->exits == RUNS_EXITS)
		return false;
	t->exit[t->exits] = addr;
	t->exit_at[t->exits++] = (uint8_t)which;
	return true;
}

/* Breakpoints on the way in and on every way out, within the same turn of the enclosing loop. */
static void find_trips(struct runs *r, uint32_t loop, uint32_t *budget)
{
	const struct cfg *c = &r->cfg;
	const struct cfg_loop *l = &c->loop[loop];
	struct runs_trips *t = &r->trips[loop];
	bool ok;

	if (!r->complete || l->preheader == CFG_NONE || c->block[l->preheader].loop != l->parent || !*budget ||
	    induction_find(c, loop, budget, &t->in))
		return;
	ok = t->in.exits_all && t->in.entry_insn != CFG_NONE && (t->in.entry_known || t->in.entry_reg != DEC_NOREG);
	for (uint32_t i = 0; i < t->in.exits && ok; i++)
		ok = add_loop_exit(c, t, i);
	if (!ok || !t->exits)
		return;
	t->may_skip = l->preheader_may_skip;
	t->entry = cfg_insn_addr(c, t->in.entry_insn);
	/* a call there would come back to the same breakpoint's instruction only once: fine */
	for (uint32_t i = 0; i < t->exits; i++)
		if (t->exit[i] == t->entry)
			t->entry = 0;
}

static void add_link(struct runs *r, uint32_t parent, uint32_t child, uint32_t how, uint32_t loop)
{
	r->link[r->links++] = (struct runs_link){ .parent = parent, .child = child, .how = how, .loop = loop };
}

/* What a block's count is measured against: its loop's header, the entry, or, in a cycle that is no
 * loop, the block that stands for that. */
static uint32_t node_around(const struct runs *r, uint32_t block, uint32_t loop)
{
	const struct cfg *c = &r->cfg;
	uint32_t anchor = loop == CFG_NONE ? c->anchor : c->loop[loop].anchor;

	if (anchor != CFG_NONE && anchor != block && (c->block[block].flags & CFG_KNOT) &&
	    r->node_of[anchor] != CFG_NONE && r->node_of[anchor] != r->node_of[block])
		return r->node_of[anchor];
	return loop == CFG_NONE ? 0 : r->node_of[c->loop[loop].header];
}

static uint32_t loop_around(const struct runs *r, uint32_t node)
{
	const struct runs_node *k = &r->node[node];

	return k->kind == FMT_CN_LOOP ? r->cfg.loop[k->loop].parent : k->loop;
}

bool runs_knot(const struct runs *r, uint32_t node, uint32_t *loop)
{
	uint32_t block = r->node[node].block;

	*loop = loop_around(r, node);
	return node && block != CFG_NONE && (r->cfg.block[block].flags & CFG_KNOT) &&
	       runs_knot_anchor(r, *loop) != CFG_NONE;
}

uint32_t runs_knot_anchor(const struct runs *r, uint32_t loop)
{
	uint32_t block = loop == CFG_NONE ? r->cfg.anchor : r->cfg.loop[loop].anchor;

	return block == CFG_NONE ? CFG_NONE : r->node_of[block];
}

void runs_knot_hang(struct runs *r, uint32_t node)
{
	uint32_t loop = loop_around(r, node), *anchor = loop == CFG_NONE ? &r->cfg.anchor : &r->cfg.loop[loop].anchor;

	*anchor = r->node[node].block;
	for (uint32_t i = 0; i < r->links; i++)
		if (r->link[i].how == FMT_CL_RATIO)
			r->link[i].parent =
				node_around(r, r->node[r->link[i].child].block, loop_around(r, r->link[i].child));
}

static void links(struct runs *r, uint32_t *budget)
{
	const struct cfg *c = &r->cfg;

	for (uint32_t n = 1; n < r->nodes; n++) {
		const struct runs_node *k = &r->node[n];

		if (k->kind == FMT_CN_LOOP) {
			find_trips(r, k->loop, budget);
			if (r->trips[k->loop].entry)
				add_link(r, r->node_of[c->loop[k->loop].preheader], n, FMT_CL_TRIPS, k->loop);
		}
		add_link(r, node_around(r, k->block, loop_around(r, n)), n, FMT_CL_RATIO, CFG_NONE);
	}
}

int runs_build(const struct block_code *code, uint64_t start, uint64_t end, uint32_t *budget, struct runs *r)
{
	int rc;

	memset(r, 0, sizeof(*r));
	rc = cfg_build(code, start, end, &r->cfg);
	if (rc)
		return rc;
	r->complete = r->cfg.complete;
	r->node = calloc(r->cfg.blocks + 1, sizeof(*r->node));
	r->node_of = malloc((r->cfg.blocks + 1) * sizeof(*r->node_of));
	r->link = calloc(2 * ((size_t)r->cfg.blocks + 1), sizeof(*r->link));
	r->trips = calloc(r->cfg.loops + 1, sizeof(*r->trips));
	rc = r->node && r->node_of && r->link && r->trips ? 0 : -ENOMEM;
	if (!rc) {
		classes(r);
		rc = sum_work_of_blocks(r);
	}
	if (!rc)
		links(r, budget);
	if (rc)
		runs_release(r);
	return rc;
}

void runs_release(struct runs *r)
{
	cfg_release(&r->cfg);
	free(r->node);
	free(r->node_of);
	free(r->link);
	free(r->trips);
	memset(r, 0, sizeof(*r));
}

static uint32_t insn_around(const struct cfg *c, uint64_t addr)
{
	size_t behind;

	if (addr < c->start || addr >= c->end || !c->insns)
		return CFG_NONE;
	behind = BISECT(i, c->insns, c->insn[i] <= addr - c->start);
	return behind ? (uint32_t)behind - 1 : 0;
}

uint32_t runs_node_at(const struct runs *r, uint64_t addr)
{
	uint32_t i = insn_around(&r->cfg, addr), b;

	if (i == CFG_NONE)
		return CFG_NONE;
	b = cfg_block_at(&r->cfg, cfg_insn_addr(&r->cfg, i));
	return b == CFG_NONE ? CFG_NONE : r->node_of[b];
}

const struct cfg_call *runs_call_before(const struct runs *r, uint64_t return_addr)
{
	uint32_t insn = insn_around(&r->cfg, return_addr - 1);
	const struct cfg_call *call;

	if (insn == CFG_NONE)
		return NULL;
	call = cfg_call_at(&r->cfg, insn);
	return call && !call->tail ? call : NULL;
}

/* Past it, and what would be the first element is what it ends with. */
static bool no_list(const struct runs_trips *t, const struct induction_exit *e, uint64_t entry_value,
		    uint64_t exit_value)
{
	return t->may_skip && e->next && !t->in.entry_known &&
	       exit_value - (uint64_t)e->add == entry_value + (uint64_t)t->in.entry_add;
}

bool runs_trip_count(const struct runs_trips *t, uint32_t i, uint64_t entry_value, uint64_t exit_value,
		     induction_peek_fn peek, void *ctx, uint64_t *trips)
{
	const struct induction_exit *e = &t->in.exit[t->exit_at[i]];

	if (!t->in.stride) {
		*trips = 0;
		return no_list(t, e, entry_value, exit_value) ||
		       (peek && induction_walk(&t->in, e, entry_value, exit_value, peek, ctx, trips));
	}

	if (induction_trips(&t->in, e, entry_value, exit_value, trips))
		return true;
	/* past the loop, straight to where it ends: what one more iteration would make one */
	if (!t->may_skip || !induction_trips(&t->in, e, entry_value, exit_value + (uint64_t)t->in.stride, trips) ||
	    *trips != 1)
		return false;
	*trips = 0;
	return true;
}
