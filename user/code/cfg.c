// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "code/cfg_priv.h"
#include "code/block_starts.h"
#include "util/bisect.h"
#include "util/grow.h"
#include "util/map.h"

#define LEAF_BYTES 2048        /* of a callee whose effect on registers is looked up; by hand */
#define LEAVES_MAX 1024        /* such callees of one function: they cost about what its own code does; by hand */
#define COLD_MAX 1024          /* places elsewhere that one function jumps to */
#define COLD_BYTES (1u << 16)  /* of the code around one of them that is read; by hand */
#define COLD_BACK_MAX 32       /* places where one of them comes back */
#define COLD_BUDGET (1u << 20) /* instructions looked at for all of them */

struct cold {
	uint64_t target;
	uint32_t back[COLD_BACK_MAX], backs; /* instructions */
	bool unknown;                        /* too many, or unreadable */
};

struct cfg_builder {
	struct cfg *c;
	const struct block_code *code;
	uint8_t *lead, *branch; /* per instruction */
	uint32_t *block_of;
	uint32_t *stamp; /* per block: 1 + the last block that got an edge to it */
	uint32_t *table; /* targets of all tables: jump's instruction, count, targets... */
	size_t table_len, table_cap;
	struct cold *cold;
	unsigned colds, cold_cap;
	uint32_t cold_budget;
	uint32_t *edge; /* from, to, from, to... */
	size_t edge_len, edge_cap;
};

static uint32_t block_of_insn(const struct cfg *c, uint32_t insn)
{
	size_t behind = BISECT(i, c->blocks, c->block[i].insn <= insn);

	return behind ? (uint32_t)behind - 1 : 0;
}

const struct cfg_call *cfg_call_at(const struct cfg *c, uint32_t insn)
{
	size_t at = BISECT(i, c->calls, c->call[i].insn < insn);

	return at < c->calls && c->call[at].insn == insn ? &c->call[at] : NULL;
}

uint32_t cfg_block_at(const struct cfg *c, uint64_t addr)
{
	uint32_t i = cfg_insn_at(c, addr);

	return i == CFG_NONE ? CFG_NONE : block_of_insn(c, i);
}

static int push_number(uint32_t **array, size_t *len, size_t *cap, uint32_t value)
{
	if (!GROW(*array, *len, *cap, 256))
		return -ENOMEM;
	(*array)[(*len)++] = value;
	return 0;
}

static bool ends_block(uint32_t flags)
{
	return (flags & DEC_F_BRANCH) && !(flags & (DEC_F_CALL | DEC_F_SYSCALL));
}

static void add_back(struct cold *k, uint32_t insn)
{
	for (uint32_t i = 0; i < k->backs; i++)
		if (k->back[i] == insn)
			return;
	if (k->backs == COLD_BACK_MAX)
		k->unknown = true;
	else
		k->back[k->backs++] = insn;
}

/* Follows the code at offset `at` of the bytes around it, to where it jumps into this function.
 * shape: scratch of the caller beside the piece of code: it is called in a loop. */
static void walk_cold(struct cfg_builder *b, struct cold *k, const uint8_t *bytes, size_t len, uint64_t start,
		      size_t at, uint32_t *todo, uint8_t *seen)
{
	uint32_t top = 0;

	todo[top++] = (uint32_t)at;
	while (top) {
		at = todo[--top];
		while (at < len && !seen[at] && !k->unknown) {
			struct dec_insn d;
			uint64_t to;
			uint32_t back;

			seen[at] = 1;
			if (!b->cold_budget) {
				k->unknown = true;
				return;
			}
			b->cold_budget--;
			if (dec_decode_flow(bytes + at, len - at, &d))
				break;
			at += d.len;
			if (!ends_block(d.flags))
				continue;
			to = start + at + (uint64_t)d.target;
			back = d.flags & DEC_F_DIRECT ? cfg_insn_at(b->c, to) : CFG_NONE;
			/* jumps to the very start are tail calls of the whole function */
			if (back != CFG_NONE && back)
				add_back(k, back);
			else if ((d.flags & DEC_F_DIRECT) && to >= start && to - start < len && !seen[to - start] &&
				 top < len)
				todo[top++] = (uint32_t)(to - start);
			if (!(d.flags & DEC_F_COND))
				break;
		}
	}
}

/* The code that a jump out of the function goes to: where does it come back? A tail call's does not. */
static struct cold *cold_at(struct cfg_builder *b, uint64_t addr)
{
	uint64_t start, end;
	uint8_t *bytes, *seen;
	uint32_t *todo;
	struct cold *k;
	size_t len;

	for (unsigned i = 0; i < b->colds; i++)
		if (addr == b->cold[i].target)
			return &b->cold[i];
	if (!b->code->bounds || !b->code->bounds(b->code->ctx, addr, &start, &end))
		return NULL;
	if (addr < start || addr >= end || (start <= b->c->start && end >= b->c->end) || b->colds == COLD_MAX)
		return NULL;
	if (!GROW(b->cold, b->colds, b->cold_cap, 8))
		return NULL;
	k = &b->cold[b->colds++];
	*k = (struct cold){ .target = addr };
	len = end - start > COLD_BYTES ? COLD_BYTES : (size_t)(end - start);
	bytes = calloc(2, len);
	seen = bytes ? bytes + len : NULL;
	todo = malloc((len + 1) * sizeof(*todo));
	if (bytes && todo)
		len = b->code->read(b->code->ctx, start, bytes, len);
	if (bytes && todo && addr - start < len)
		walk_cold(b, k, bytes, len, start, (size_t)(addr - start), todo, seen);
	free(bytes);
	free(todo);
	return k;
}

static bool is_indirect_jump(uint32_t flags)
{
	return ends_block(flags) && !(flags & (DEC_F_DIRECT | DEC_F_RET | DEC_F_TRAP));
}

static uint64_t target_of(const struct cfg *c, uint32_t insn, const struct dec_insn *d)
{
	return cfg_insn_addr(c, insn) + d->len + (uint64_t)d->target;
}

static int add_table(struct cfg_builder *b, uint32_t jump)
{
	uint32_t target[CODE_TABLE_MAX], n = cfg_table_find(b->c, b->code, jump, target);
	int rc = 0;

	if (!n)
		return 0;
	if (b->table_len + n + 2 > CFG_MAX_EDGES)
		return -E2BIG;
	rc = push_number(&b->table, &b->table_len, &b->table_cap, jump);
	rc = rc ? rc : push_number(&b->table, &b->table_len, &b->table_cap, n);
	for (uint32_t i = 0; i < n && !rc; i++) {
		b->lead[target[i]] = 1;
		rc = push_number(&b->table, &b->table_len, &b->table_cap, target[i]);
	}
	b->c->tables++;
	return rc;
}

static int mark_starts(struct cfg_builder *b)
{
	struct cfg *c = b->c;
	struct dec_insn d;
	int rc;

	b->lead[0] = 1;
	for (uint32_t i = 0; i < c->insns; i++) {
		if (!b->branch[i])
			continue;
		if (dec_decode_flow(c->bytes + c->insn[i], (size_t)(c->end - c->start) - c->insn[i], &d))
			return -ENODATA;
		if (!ends_block(d.flags))
			continue;
		if (i + 1 < c->insns)
			b->lead[i + 1] = 1;
		if (d.flags & DEC_F_DIRECT) {
			uint64_t target = target_of(c, i, &d);
			uint32_t to = cfg_insn_at(c, target);
			struct cold *k;

			if (to != CFG_NONE) {
				b->lead[to] = 1;
				continue;
			}
			if (target >= c->start && target < c->end) { /* overlapping code */
				c->complete = false;
				continue;
			}
			k = cold_at(b, target);
			if ((k && k->unknown) || b->colds == COLD_MAX)
				c->complete = false;
			for (uint32_t n = 0; k && n < k->backs; n++)
				b->lead[k->back[n]] = 1;
		} else if (is_indirect_jump(d.flags)) {
			rc = add_table(b, i);
			if (rc)
				return rc;
		}
	}
	return 0;
}

static int make_blocks(struct cfg_builder *b)
{
	struct cfg *c = b->c;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->insns; i++)
		n += b->lead[i];
	if (n > CFG_MAX_BLOCKS)
		return -E2BIG;
	c->block = calloc(n, sizeof(*c->block));
	b->stamp = calloc(n, sizeof(*b->stamp));
	if (!c->block || !b->stamp)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->insns; i++) {
		if (b->lead[i]) {
			c->block[c->blocks] = (struct cfg_block){ .insn = i, .idom = CFG_NONE, .loop = CFG_NONE };
			c->blocks++;
		}
		c->block[c->blocks - 1].insns++;
		b->block_of[i] = c->blocks - 1;
	}
	return 0;
}

static int add_cfg_edge(struct cfg_builder *b, uint32_t from, uint32_t to_insn)
{
	uint32_t to = b->block_of[to_insn];
	int rc;

	if (b->edge_len / 2 >= CFG_MAX_EDGES)
		return -E2BIG;
	if (b->stamp[to] == from + 1) /* tables repeat their targets */
		return 0;
	b->stamp[to] = from + 1;
	rc = push_number(&b->edge, &b->edge_len, &b->edge_cap, from);
	return rc ? rc : push_number(&b->edge, &b->edge_len, &b->edge_cap, to);
}

static int out_edges(struct cfg_builder *b, uint32_t block, size_t *table_at)
{
	struct cfg *c = b->c;
	struct cfg_block *k = &c->block[block];
	uint32_t last = k->insn + k->insns - 1;
	struct dec_insn d = { 0 };
	int rc = 0;

	if (b->branch[last] && cfg_decode(c, last, &d))
		return -ENODATA;
	if ((!ends_block(d.flags) || (d.flags & DEC_F_COND)) && last + 1 < c->insns)
		rc = add_cfg_edge(b, block, last + 1);
	else if (!ends_block(d.flags) || (d.flags & (DEC_F_TRAP | DEC_F_COND)))
		k->flags |= CFG_STOPS;
	if (rc || !ends_block(d.flags))
		return rc;
	if (d.flags & DEC_F_RET)
		k->flags |= CFG_RETURNS;
	if (d.flags & DEC_F_DIRECT) {
		uint64_t target = target_of(c, last, &d);
		uint32_t to = cfg_insn_at(c, target);
		struct cold *cold;

		if (to != CFG_NONE)
			return add_cfg_edge(b, block, to);
		k->flags |= CFG_LEAVES;
		cold = target >= c->start && target < c->end ? NULL : cold_at(b, target);
		for (uint32_t n = 0; cold && n < cold->backs && !rc; n++) {
			k->flags |= CFG_VIA_COLD;
			rc = add_cfg_edge(b, block, cold->back[n]);
		}
		return rc;
	}
	if (!is_indirect_jump(d.flags))
		return 0;
	if (*table_at < b->table_len && b->table[*table_at] == last) {
		uint32_t n = b->table[*table_at + 1];

		k->flags |= CFG_TABLE;
		for (uint32_t i = 0; i < n && !rc; i++)
			rc = add_cfg_edge(b, block, b->table[*table_at + 2 + i]);
		*table_at += 2 + n;
		return rc;
	}
	k->flags |= CFG_LEAVES;
	/* through a pointer in memory at a fixed place or in an object: a tail call, as in a PLT */
	if (d.mem_cnt == 1 && d.mem[0].index == DEC_NOREG)
		return 0;
	k->flags |= CFG_UNRESOLVED;
	c->unresolved++;
	c->complete = false;
	return 0;
}

static int make_edges(struct cfg_builder *b)
{
	struct cfg *c = b->c;
	size_t table_at = 0, n;
	uint32_t *fill;

	for (uint32_t i = 0; i < c->blocks; i++) {
		int rc = out_edges(b, i, &table_at);

		if (rc)
			return rc;
	}
	n = b->edge_len / 2;
	c->edges = (uint32_t)n;
	c->succ = malloc((n + 1) * sizeof(*c->succ));
	c->pred = malloc((n + 1) * sizeof(*c->pred));
	fill = calloc(c->blocks + 1, sizeof(*fill));
	if (!c->succ || !c->pred || !fill) {
		free(fill);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		c->block[b->edge[2 * i]].succs++;
		c->block[b->edge[2 * i + 1]].preds++;
		c->succ[i] = b->edge[2 * i + 1]; /* edges come in their source's order */
	}
	for (uint32_t i = 0, s = 0, p = 0; i < c->blocks; i++) {
		c->block[i].succ = s;
		c->block[i].pred = p;
		fill[i] = p;
		s += c->block[i].succs;
		p += c->block[i].preds;
	}
	for (size_t i = 0; i < n; i++)
		c->pred[fill[b->edge[2 * i + 1]]++] = b->edge[2 * i];
	free(fill);
	return 0;
}

/* Compilers know what a function of the same file changes, and keep values in the rest across calls. */
static uint32_t spoiled_by_leaf(const struct cfg_builder *b, uint64_t start, uint64_t end)
{
	uint8_t bytes[LEAF_BYTES];
	size_t len = (size_t)(end - start);
	uint32_t mask = 0;

	if (b->code->read(b->code->ctx, start, bytes, len) != len)
		return CFG_CALLER_SAVED;
	for (size_t at = 0; at < len;) {
		struct dec_insn d;
		uint64_t to;

		if (dec_decode(bytes + at, len - at, &d))
			return CFG_CALLER_SAVED;
		at += d.len;
		mask |= d.writes;
		to = start + at + (uint64_t)d.target;
		if ((d.flags & DEC_F_BRANCH) && !(d.flags & (DEC_F_RET | DEC_F_TRAP | DEC_F_SYSCALL)) &&
		    ((d.flags & DEC_F_CALL) || !(d.flags & DEC_F_DIRECT) || to < start || to >= end))
			return CFG_CALLER_SAVED;
	}
	return mask & CFG_CALLER_SAVED;
}

static uint32_t spoiled_by(const struct cfg_builder *b, uint64_t target, uint32_t *budget)
{
	uint64_t start, end, *kept;
	bool added = true;

	if (!target || !b->code->bounds || !*budget || !b->code->bounds(b->code->ctx, target, &start, &end) ||
	    start != target || end <= start || end - start > LEAF_BYTES)
		return CFG_CALLER_SAVED;
	--*budget;
	kept = b->code->spoils ? map_put(b->code->spoils, target, &added) : NULL;
	if (!kept)
		return spoiled_by_leaf(b, start, end);
	if (added)
		*kept = spoiled_by_leaf(b, start, end);
	return (uint32_t)*kept;
}

static int find_calls(struct cfg_builder *b)
{
	struct cfg *c = b->c;
	uint32_t cap = 0, budget = LEAVES_MAX;

	for (uint32_t i = 0; i < c->insns; i++) {
		uint32_t block = b->block_of[i];
		bool last = i + 1 == c->block[block].insn + c->block[block].insns;
		bool tail;
		struct dec_insn d;

		if (!b->branch[i])
			continue;
		if (dec_decode_flow(c->bytes + c->insn[i], (size_t)(c->end - c->start) - c->insn[i], &d))
			return -ENODATA;
		tail = last && (c->block[block].flags & CFG_LEAVES) && !(c->block[block].flags & CFG_VIA_COLD);
		if (!(d.flags & DEC_F_CALL) && !tail)
			continue;
		if (!GROW(c->call, c->calls, cap, 16))
			return -ENOMEM;
		c->call[c->calls++] = (struct cfg_call){
			.insn = i,
			.block = block,
			.tail = !(d.flags & DEC_F_CALL),
			.target = d.flags & DEC_F_DIRECT ? target_of(c, i, &d) : 0,
		};
		c->call[c->calls - 1].spoils =
			tail ? CFG_CALLER_SAVED : spoiled_by(b, c->call[c->calls - 1].target, &budget);
	}
	return 0;
}

static int read_insns(struct cfg_builder *b, uint64_t start, uint64_t end)
{
	const struct block_code *code = b->code;
	struct cfg *c = b->c;
	struct block_starts l;
	int rc = block_starts_find(code, start, end, &l);

	if (rc)
		return rc;
	if (!l.decoded || !l.count) {
		block_starts_release(&l);
		return -ENODATA;
	}
	c->start = start;
	c->end = end;
	c->insn = l.insn; /* taken over */
	c->insns = l.count;
	b->branch = malloc(c->insns);
	for (uint32_t i = 0; b->branch && i < c->insns; i++) {
		b->branch[i] = !!(c->insn[i] & STARTS_BRANCH);
		c->insn[i] &= STARTS_OFFSET;
	}
	c->bytes = malloc((size_t)(end - start));
	if (!c->bytes || !b->branch)
		return -ENOMEM;
	if (code->read(code->ctx, start, c->bytes, (size_t)(end - start)) != end - start)
		return -ENODATA;
	return 0;
}

int cfg_build(const struct block_code *code, uint64_t start, uint64_t end, struct cfg *out)
{
	struct cfg_builder b = { .c = out, .code = code, .cold_budget = COLD_BUDGET };
	int rc;

	memset(out, 0, sizeof(*out));
	rc = read_insns(&b, start, end);
	if (rc)
		goto out;
	out->complete = true;
	b.lead = calloc(out->insns, 1);
	b.block_of = malloc(out->insns * sizeof(*b.block_of));
	rc = b.lead && b.block_of ? mark_starts(&b) : -ENOMEM;
	rc = rc ? rc : make_blocks(&b);
	rc = rc ? rc : make_edges(&b);
	rc = rc ? rc : find_calls(&b);
	rc = rc ? rc : cfg_loops_find(out);
out:
	free(b.lead);
	free(b.branch);
	free(b.block_of);
	free(b.stamp);
	free(b.cold);
	free(b.table);
	free(b.edge);
	if (rc)
		cfg_release(out);
	return rc;
}

void cfg_release(struct cfg *c)
{
	free(c->bytes);
	free(c->insn);
	free(c->block);
	free(c->succ);
	free(c->pred);
	free(c->loop);
	free(c->member);
	free(c->latch);
	free(c->exit);
	free(c->call);
	memset(c, 0, sizeof(*c));
}
