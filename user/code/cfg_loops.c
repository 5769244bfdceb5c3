// SPDX-License-Identifier: GPL-2.0-or-later
/* Dominators (semi-NCA) and natural loops (inner ones first, collapsed with union-find): near-linear,
 * so that hostile nests of a hundred thousand blocks take no longer than straight code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/cfg_priv.h"
#include "util/grow.h"

struct cfg_loops_walk {
	struct cfg *c;
	uint32_t *order;  /* blocks by depth-first number */
	uint32_t *number; /* of a block, CFG_NONE: not reached */
	uint32_t *parent; /* by number, of the spanning tree */
	uint32_t *out;    /* by number: the last number in its subtree */
	uint32_t *semi, *label, *link, *stack;
	uint32_t reached;
	struct cfg_edge *knot; /* edges back up the spanning tree that are no loop's */
	uint32_t knots, knot_cap;
};

static int walk_alloc(struct cfg_loops_walk *w, struct cfg *c)
{
	size_t n = c->blocks;
	uint32_t *all = malloc(n * 8 * sizeof(*all));

	if (!all)
		return -ENOMEM;
	memset(w, 0, sizeof(*w));
	w->c = c;
	w->order = all;
	w->number = all + n;
	w->parent = all + 2 * n;
	w->out = all + 3 * n;
	w->semi = all + 4 * n;
	w->label = all + 5 * n;
	w->link = all + 6 * n;
	w->stack = all + 7 * n;
	return 0;
}

/* Uses semi[] as the position among successors. */
static void depth_first(struct cfg_loops_walk *w)
{
	struct cfg *c = w->c;
	uint32_t top = 0;

	for (uint32_t i = 0; i < c->blocks; i++) {
		w->number[i] = CFG_NONE;
		w->semi[i] = 0;
	}
	w->number[0] = 0;
	w->order[0] = 0;
	w->parent[0] = CFG_NONE;
	w->reached = 1;
	w->stack[top++] = 0;
	while (top) {
		uint32_t at = w->stack[top - 1], to;

		if (w->semi[at] == c->block[at].succs) {
			w->out[w->number[at]] = w->reached - 1;
			top--;
			continue;
		}
		to = c->succ[c->block[at].succ + w->semi[at]++];
		if (w->number[to] != CFG_NONE)
			continue;
		w->parent[w->reached] = w->number[at];
		w->order[w->reached] = to;
		w->number[to] = w->reached++;
		w->stack[top++] = to;
	}
	for (uint32_t i = 0; i < w->reached; i++)
		c->block[w->order[i]].flags |= CFG_REACHED;
}

/* The vertex of smallest semidominator on the linked path above v; compresses the path. */
static uint32_t eval(struct cfg_loops_walk *w, uint32_t v)
{
	uint32_t top = 0;

	if (w->link[v] == CFG_NONE)
		return v;
	for (uint32_t u = v; w->link[w->link[u]] != CFG_NONE; u = w->link[u])
		w->stack[top++] = u;
	while (top) {
		uint32_t u = w->stack[--top], above = w->link[u];

		if (w->semi[w->label[above]] < w->semi[w->label[u]])
			w->label[u] = w->label[above];
		w->link[u] = w->link[above];
	}
	return w->label[v];
}

static void dominators(struct cfg_loops_walk *w)
{
	struct cfg *c = w->c;
	uint32_t *idom = w->parent; /* by number: in place of the tree's parents, from the root on */

	for (uint32_t v = 0; v < w->reached; v++) {
		w->semi[v] = w->label[v] = v;
		w->link[v] = CFG_NONE;
	}
	for (uint32_t v = w->reached; v-- > 1;) {
		const struct cfg_block *b = &c->block[w->order[v]];

		for (uint32_t i = 0; i < b->preds; i++) {
			uint32_t p = w->number[c->pred[b->pred + i]], u;

			if (p == CFG_NONE)
				continue;
			u = eval(w, p);
			if (w->semi[u] < w->semi[v])
				w->semi[v] = w->semi[u];
		}
		w->link[v] = w->parent[v];
	}
	for (uint32_t v = 1; v < w->reached; v++) {
		uint32_t d = idom[v];

		while (d > w->semi[v])
			d = idom[d];
		idom[v] = d;
		c->block[w->order[v]].idom = w->order[d];
	}
}

/* Intervals of the dominator tree, so that dominance is two comparisons. */
static void number_tree(struct cfg_loops_walk *w)
{
	struct cfg *c = w->c;
	uint32_t *size = w->semi, *next = w->label;

	for (uint32_t v = 0; v < w->reached; v++)
		size[v] = 1;
	for (uint32_t v = w->reached; v-- > 1;)
		size[w->parent[v]] += size[v];
	next[0] = 1;
	c->block[0].dom_in = 0;
	c->block[0].dom_out = size[0] - 1;
	for (uint32_t v = 1; v < w->reached; v++) {
		struct cfg_block *b = &c->block[w->order[v]];
		uint32_t up = w->parent[v];

		b->dom_in = next[up];
		b->dom_out = b->dom_in + size[v] - 1;
		next[up] += size[v];
		next[v] = b->dom_in + 1;
	}
}

bool cfg_dominates(const struct cfg *c, uint32_t a, uint32_t b)
{
	return (c->block[a].flags & c->block[b].flags & CFG_REACHED) && c->block[b].dom_in >= c->block[a].dom_in &&
	       c->block[b].dom_in <= c->block[a].dom_out;
}

/* ---- loops ---- */

static uint32_t find_root(uint32_t *up, uint32_t x)
{
	while (up[x] != x) {
		up[x] = up[up[x]];
		x = up[x];
	}
	return x;
}

static bool is_latch(const struct cfg *c, uint32_t from, uint32_t header)
{
	return cfg_dominates(c, header, from);
}

/* A way back up the spanning tree that is no loop's. */
static int note_knot(struct cfg_loops_walk *w, uint32_t from, uint32_t to)
{
	w->c->irreducible++;
	if (!GROW(w->knot, w->knots, w->knot_cap, 16))
		return -ENOMEM;
	w->knot[w->knots++] = (struct cfg_edge){ from, to };
	return 0;
}

/* Loop of each header by depth-first number of the header, descending: inner ones come first. */
static int collect_loops(struct cfg_loops_walk *w, uint32_t *inner_of)
{
	struct cfg *c = w->c;
	uint32_t *up = w->link, top, n = 0, cap = 0;
	uint32_t *at = w->stack; /* a block is pushed once per collapse: at most once in all */

	for (uint32_t i = 0; i < c->blocks; i++) {
		up[i] = i;
		inner_of[i] = CFG_NONE; /* of a header: the loop it heads */
	}
	for (uint32_t v = w->reached; v-- > 0;) {
		uint32_t h = w->order[v];
		const struct cfg_block *b = &c->block[h];
		bool heads = false;

		top = 0;
		for (uint32_t i = 0; i < b->preds; i++) {
			uint32_t p = c->pred[b->pred + i], r;

			if (!(c->block[p].flags & CFG_REACHED))
				continue;
			if (!is_latch(c, p, h)) {
				if (w->number[p] >= v && w->number[p] <= w->out[v] && note_knot(w, p, h))
					return -ENOMEM;
				continue;
			}
			heads = true;
			r = find_root(up, p);
			if (r != h) {
				up[r] = h;
				at[top++] = r;
			}
		}
		if (!heads)
			continue;
		if (!GROW(c->loop, n, cap, 16))
			return -ENOMEM;
		c->loop[n] =
			(struct cfg_loop){ .header = h, .parent = CFG_NONE, .preheader = CFG_NONE, .anchor = CFG_NONE };
		c->block[h].loop = n;
		while (top) {
			uint32_t x = at[--top];
			const struct cfg_block *xb = &c->block[x];

			if (inner_of[x] != CFG_NONE)
				c->loop[inner_of[x]].parent = n;
			else
				c->block[x].loop = n;
			for (uint32_t i = 0; i < xb->preds; i++) {
				uint32_t p = c->pred[xb->pred + i], r;

				if (!(c->block[p].flags & CFG_REACHED))
					continue;
				r = find_root(up, p);
				if (r == h || up[r] == h || !cfg_dominates(c, h, p))
					continue;
				up[r] = h;
				at[top++] = r;
			}
		}
		inner_of[h] = n++;
	}
	c->loops = n;
	return 0;
}

/* Renumbers: a loop before those inside it, with all of those in one run. */
static int order_loops(struct cfg *c)
{
	uint32_t n = c->loops, *size, *next, *id;
	struct cfg_loop *sorted;

	if (!n)
		return 0;
	size = calloc(3 * (size_t)n, sizeof(*size));
	sorted = malloc(n * sizeof(*sorted));
	if (!size || !sorted) {
		free(size);
		free(sorted);
		return -ENOMEM;
	}
	next = size + n;
	id = size + 2 * (size_t)n;
	/* parents come after their children so far */
	for (uint32_t i = 0; i < n; i++) {
		size[i]++;
		if (c->loop[i].parent != CFG_NONE)
			size[c->loop[i].parent] += size[i];
	}
	for (uint32_t i = n, roots = 0; i-- > 0;) {
		uint32_t parent = c->loop[i].parent;
		struct cfg_loop l = c->loop[i];

		if (parent == CFG_NONE) {
			id[i] = roots;
			roots += size[i];
			l.depth = 1;
		} else {
			id[i] = next[parent];
			next[parent] += size[i];
			l.parent = id[parent];
			l.depth = sorted[id[parent]].depth + 1;
		}
		next[i] = id[i] + 1;
		l.last = id[i] + size[i] - 1;
		sorted[id[i]] = l;
	}
	for (uint32_t i = 0; i < c->blocks; i++)
		if (c->block[i].loop != CFG_NONE)
			c->block[i].loop = id[c->block[i].loop];
	free(c->loop);
	free(size);
	c->loop = sorted;
	return 0;
}

/* Blocks sorted by innermost loop: those of a loop and of all inside it are one run. */
static int list_members(struct cfg *c)
{
	uint32_t at = 0;

	if (!c->loops)
		return 0;
	c->member = malloc(c->blocks * sizeof(*c->member));
	if (!c->member)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->blocks; i++)
		if (c->block[i].loop != CFG_NONE)
			c->loop[c->block[i].loop].members++;
	for (uint32_t l = 0; l < c->loops; l++) {
		c->loop[l].member = at;
		at += c->loop[l].members;
		c->loop[l].members = 0;
	}
	c->members = at;
	for (uint32_t i = 0; i < c->blocks; i++) {
		struct cfg_loop *l;

		if (c->block[i].loop == CFG_NONE)
			continue;
		l = &c->loop[c->block[i].loop];
		c->member[l->member + l->members++] = i;
	}
	for (uint32_t l = c->loops; l-- > 0;) {
		uint32_t last = c->loop[l].last;

		c->loop[l].members = (last + 1 < c->loops ? c->loop[last + 1].member : at) - c->loop[l].member;
	}
	return 0;
}

static void enter_loop(struct cfg *c, struct cfg_loop *l)
{
	const struct cfg_block *h = &c->block[l->header];

	for (uint32_t i = 0; i < h->preds; i++) {
		uint32_t p = c->pred[h->pred + i];

		if (!(c->block[p].flags & CFG_REACHED))
			continue;
		if (is_latch(c, p, l->header)) {
			c->latch[c->latches++] = p;
			l->latches++;
			continue;
		}
		l->entries++;
		l->preheader = l->entries == 1 ? p : CFG_NONE;
		l->preheader_may_skip = l->entries == 1 && c->block[p].succs > 1;
	}
	/* the function's entry is a way in, too */
	if (!l->header) {
		l->entries++;
		l->preheader = CFG_NONE;
	}
}

/* Every edge out of a loop, for each loop it leaves; deep nests with many exits are cut off. */
static int list_exits(struct cfg *c)
{
	size_t cap = 0, n = 0;

	c->latch = malloc((c->edges + 1) * sizeof(*c->latch));
	if (!c->latch)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->loops; i++) {
		c->loop[i].latch = c->latches;
		enter_loop(c, &c->loop[i]);
	}
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t b = 0; b < c->blocks; b++) {
			const struct cfg_block *k = &c->block[b];

			for (uint32_t s = 0; k->loop != CFG_NONE && s < k->succs; s++) {
				uint32_t to = c->succ[k->succ + s];

				for (uint32_t l = k->loop; l != CFG_NONE && !cfg_in_loop(c, to, l);
				     l = c->loop[l].parent) {
					if (pass)
						c->exit[c->loop[l].exit + c->loop[l].exits] =
							(struct cfg_edge){ b, to };
					else if (++n > CFG_MAX_EDGES)
						return -E2BIG;
					c->loop[l].exits++;
				}
			}
		}
		if (pass)
			break;
		for (uint32_t l = 0; l < c->loops; l++) {
			c->loop[l].exit = (uint32_t)cap;
			cap += c->loop[l].exits;
			c->loop[l].exits = 0;
		}
		c->exit = malloc((cap + 1) * sizeof(*c->exit));
		if (!c->exit)
			return -ENOMEM;
		c->exits = (uint32_t)cap;
	}
	return 0;
}

/* The nearest block above both; *steps bounds the climbing of all calls together. */
static uint32_t common_dominator(const struct cfg *c, uint32_t a, uint32_t b, uint32_t *steps)
{
	while (a != CFG_NONE && !cfg_dominates(c, a, b)) {
		if (!*steps)
			return 0;
		--*steps;
		a = c->block[a].idom;
	}
	return a == CFG_NONE ? 0 : a;
}

/* What every run of the function, every iteration of a loop must pass: see cfg_once(). */
static void find_bottlenecks(struct cfg *c)
{
	uint32_t steps = 1u << 24, at = CFG_NONE;

	for (uint32_t i = 0; i < c->blocks; i++)
		if ((c->block[i].flags & CFG_REACHED) &&
		    (!c->block[i].succs || (c->block[i].flags & (CFG_LEAVES | CFG_RETURNS | CFG_STOPS))))
			at = at == CFG_NONE ? i : common_dominator(c, at, i, &steps);
	c->bottleneck = at == CFG_NONE ? 0 : at;
	for (uint32_t n = 0; n < c->loops; n++) {
		struct cfg_loop *l = &c->loop[n];

		at = c->latch[l->latch];
		for (uint32_t i = 1; i < l->latches; i++)
			at = common_dominator(c, at, c->latch[l->latch + i], &steps);
		for (uint32_t i = 0; i < l->exits; i++)
			at = common_dominator(c, at, c->exit[l->exit + i].from, &steps);
		l->bottleneck = steps ? at : l->header;
	}
}

/* ---- knots ---- */

static uint32_t *loop_anchor(struct cfg *c, uint32_t loop)
{
	return loop == CFG_NONE ? &c->anchor : &c->loop[loop].anchor;
}

struct flooded {
	uint8_t *mark; /* by block: bits */
	uint32_t *stack;
	uint32_t steps; /* counted down for all knots together */
};

/* Blocks from (or to) which the anchor can be reached without leaving the loop or passing its header.
 * bit: 1 forward, 2 backward. */
static void flood(const struct cfg *c, uint32_t loop, uint32_t anchor, uint8_t bit, struct flooded *f)
{
	uint32_t top = 0, header = loop == CFG_NONE ? CFG_NONE : c->loop[loop].header;

	f->mark[anchor] |= bit;
	f->stack[top++] = anchor;
	while (top) {
		const struct cfg_block *b = &c->block[f->stack[--top]];
		uint32_t n = bit == 1 ? b->succs : b->preds;

		for (uint32_t i = 0; i < n && f->steps; i++) {
			uint32_t to = bit == 1 ? c->succ[b->succ + i] : c->pred[b->pred + i];

			--f->steps;
			if (to == header || (f->mark[to] & bit) || (loop != CFG_NONE && !cfg_in_loop(c, to, loop)))
				continue;
			f->mark[to] |= bit;
			f->stack[top++] = to;
		}
	}
}

/* Each edge belongs to the innermost loop around both of its ends; one anchor for each loop. */
static int find_knots(struct cfg_loops_walk *w)
{
	struct cfg *c = w->c;
	struct flooded f = { .steps = 1u << 24,
			     .mark = calloc(c->blocks, 1),
			     .stack = malloc(c->blocks * sizeof(*f.stack)) };
	uint32_t *touched = malloc((w->knots + 1) * sizeof(*touched)), n = 0;
	int rc = f.mark && f.stack && touched ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < w->knots && !rc; i++) {
		uint32_t to = w->knot[i].to, l = c->block[w->knot[i].from].loop, *anchor;

		while (l != CFG_NONE && !cfg_in_loop(c, to, l) && f.steps) {
			f.steps--;
			l = c->loop[l].parent;
		}
		anchor = loop_anchor(c, l);
		if (*anchor == CFG_NONE)
			touched[n++] = l;
		if (*anchor == CFG_NONE || w->number[to] < w->number[*anchor])
			*anchor = to;
	}
	for (uint32_t i = 0; i < n && !rc && f.steps; i++) {
		uint32_t l = touched[i], anchor = *loop_anchor(c, l);

		flood(c, l, anchor, 1, &f);
		flood(c, l, anchor, 2, &f);
		for (uint32_t b = 0; b < c->blocks && f.steps; b++) {
			f.steps -= f.steps > 0;
			if (f.mark[b] == 3 && (c->block[b].loop == l || b == anchor ||
					       (c->block[b].loop != CFG_NONE && c->loop[c->block[b].loop].header == b &&
						c->loop[c->block[b].loop].parent == l)))
				c->block[b].flags |= CFG_KNOT;
			f.mark[b] = 0;
		}
	}
	/* too much to look at: nothing is known of any loop's blocks */
	for (uint32_t l = 0; l < c->loops && !f.steps; l++)
		if (c->loop[l].anchor == CFG_NONE)
			c->loop[l].anchor = c->loop[l].header;
	if (!f.steps && c->anchor == CFG_NONE)
		c->anchor = 0;
	free(f.mark);
	free(f.stack);
	free(touched);
	return rc;
}

int cfg_loops_find(struct cfg *c)
{
	uint32_t *inner_of = malloc(c->blocks * sizeof(*inner_of));
	struct cfg_loops_walk w;
	int rc = inner_of ? walk_alloc(&w, c) : -ENOMEM;

	if (rc) {
		free(inner_of);
		return rc;
	}
	depth_first(&w);
	dominators(&w);
	number_tree(&w);
	c->anchor = CFG_NONE;
	rc = collect_loops(&w, inner_of);
	free(inner_of);
	rc = rc ? rc : order_loops(c);
	if (!rc && w.knots)
		rc = find_knots(&w);
	free(w.order);
	free(w.knot);
	rc = rc ? rc : list_members(c);
	rc = rc ? rc : list_exits(c);
	if (!rc)
		find_bottlenecks(c);
	return rc;
}

bool cfg_once(const struct cfg *c, uint32_t block)
{
	const struct cfg_block *b = &c->block[block];

	if (!(b->flags & CFG_REACHED))
		return false;
	if (block == 0 && b->loop == CFG_NONE)
		return true;
	if (b->loop != CFG_NONE && c->loop[b->loop].header == block)
		return true;
	/* a knot may run it again; unknown edges may pass it by */
	if (!c->complete || (b->loop == CFG_NONE ? c->anchor : c->loop[b->loop].anchor) != CFG_NONE)
		return false;
	return cfg_dominates(c, block, b->loop == CFG_NONE ? c->bottleneck : c->loop[b->loop].bottleneck);
}
