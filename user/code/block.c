// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "code/block.h"
#include "code/eval.h"
#include "code/block_starts.h"
#include "format.h"
#include "util/bisect.h"
#include "util/grow.h"
#include "util/map.h"

#define KEY_BITS 44 /* of an address; the rest is the code's id */

struct block {
	uint64_t start;
	uint32_t count; /* instructions of the block itself */
	uint32_t bytes;
	bool start_known;
	struct block_work work;
	uint8_t *code; /* bytes as decoded */
	uint32_t *off;
	struct dec_insn *insn;
};

struct block_function {
	struct block_starts starts;
	bool usable;
};

struct block_cache {
	struct map blocks;    /* key(code, ip) -> struct block *, several keys to one block */
	struct map functions; /* key(code, start) -> struct block_function * */
	struct block **all;
	uint32_t all_cap;
	size_t bytes, max_bytes;
	struct block_stats stats;
	/* scratch of one evaluation */
	struct dec_insn insn[2 * BLOCK_MAX_INSNS];
	uint64_t code_ip[2 * BLOCK_MAX_INSNS], ip[2 * BLOCK_MAX_INSNS];
	struct eval_state state[2 * BLOCK_MAX_INSNS + 1];
};

struct block_cache *block_cache_new(size_t max_bytes)
{
	struct block_cache *c = calloc(1, sizeof(*c));

	if (c)
		c->max_bytes = max_bytes ? max_bytes : 16u << 20;
	return c;
}

static void free_block(struct block *b)
{
	if (!b)
		return;
	free(b->code);
	free(b->off);
	free(b->insn);
	free(b);
}

void block_cache_forget(struct block_cache *c)
{
	uint64_t key, *value;
	size_t pos = 0;

	for (uint64_t i = 0; i < c->stats.blocks; i++)
		free_block(c->all[i]);
	while (map_next(&c->functions, &pos, &key, &value)) {
		struct block_function *f = (struct block_function *)(uintptr_t)*value;

		block_starts_release(&f->starts);
		free(f);
	}
	map_release(&c->blocks);
	map_release(&c->functions);
	c->blocks = c->functions = (struct map){ 0 };
	c->stats.blocks = c->stats.functions = 0;
	c->bytes = 0;
}

void block_cache_free(struct block_cache *c)
{
	if (!c)
		return;
	block_cache_forget(c);
	free(c->all);
	free(c);
}

const struct block_stats *block_cache_stats(const struct block_cache *c)
{
	return &c->stats;
}

static bool make_key(const struct block_code *code, uint64_t addr, uint64_t *key)
{
	/* user addresses have 47 bits; the low bits of a JIT's differ, the high ones rarely */
	if (code->id >> (64 - KEY_BITS))
		return false;
	*key = code->id << KEY_BITS ^ (addr & ((1ull << KEY_BITS) - 1)) ^ (addr >> KEY_BITS << 61);
	return true;
}

static const struct block_function *cached_function_of(struct block_cache *c, const struct block_code *code,
						       uint64_t addr)
{
	uint64_t start, end, key, *slot;
	struct block_function *f;

	if (!code->bounds || code->volatile_bytes || !code->bounds(code->ctx, addr, &start, &end))
		return NULL;
	if (addr < start || addr >= end || !make_key(code, start, &key))
		return NULL;
	slot = map_get(&c->functions, key);
	if (slot)
		return (struct block_function *)(uintptr_t)*slot;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->usable = !block_starts_find(code, start, end, &f->starts) && f->starts.decoded;
	slot = map_put(&c->functions, key, NULL);
	if (!slot) {
		block_starts_release(&f->starts);
		free(f);
		return NULL;
	}
	*slot = (uint64_t)(uintptr_t)f;
	c->stats.functions++;
	c->bytes += sizeof(*f) + f->starts.count * sizeof(uint32_t);
	return f;
}

void block_work_add(struct block_work *w, const struct dec_insn *d)
{
	w->insns++;
	w->compute += !!(d->flags & DEC_F_COMPUTE);
	for (unsigned m = 0; m < d->mem_cnt; m++) {
		unsigned lanes = d->mem[m].flags & DEC_M_VECTOR ? d->mem[m].lanes : 1;
		bool variable = !d->mem[m].size || (d->mem[m].flags & DEC_M_REP);

		w->variable += variable;
		if (d->mem[m].flags & DEC_M_LOAD) {
			w->loads += lanes;
			w->load_bytes += variable ? 0 : lanes * d->mem[m].size;
		}
		if (d->mem[m].flags & DEC_M_STORE) {
			w->stores += lanes;
			w->store_bytes += variable ? 0 : lanes * d->mem[m].size;
		}
	}
}

/* Decodes from `from` to the end of the block around ip. */
static struct block *decode_block(const struct block_code *code, uint64_t from, const struct block_function *f)
{
	uint8_t bytes[BLOCK_MAX_INSNS * DEC_MAX_BYTES];
	struct dec_insn insn[BLOCK_MAX_INSNS];
	uint32_t off[BLOCK_MAX_INSNS];
	size_t have = 0, at = 0;
	unsigned n = 0;
	struct block *b;

	while (n < BLOCK_MAX_INSNS) {
		if (have - at < DEC_MAX_BYTES && have < sizeof(bytes)) {
			size_t want = sizeof(bytes) - have;

			have += code->read(code->ctx, from + have, bytes + have, want > 256 ? 256 : want);
		}
		if (dec_decode(bytes + at, have - at, &insn[n]))
			break;
		off[n] = (uint32_t)at;
		at += insn[n].len;
		if (insn[n++].flags & DEC_F_BRANCH)
			break;
		if (f) {
			int i = block_starts_index(&f->starts, from + at);

			if (i < 0 || (f->starts.insn[i] & STARTS_MARK))
				break;
		}
	}
	if (!n)
		return NULL;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	b->start = from;
	b->count = n;
	b->bytes = (uint32_t)at;
	b->code = malloc(at);
	b->off = malloc(n * sizeof(*off));
	b->insn = malloc(n * sizeof(*insn));
	if (!b->code || !b->off || !b->insn) {
		free_block(b);
		return NULL;
	}
	memcpy(b->code, bytes, at);
	memcpy(b->off, off, n * sizeof(*off));
	memcpy(b->insn, insn, n * sizeof(*insn));
	for (unsigned i = 0; i < n; i++)
		block_work_add(&b->work, &insn[i]);
	return b;
}

/* Where decoding begins: the start if it is certain, else the instruction itself. */
static uint64_t block_start(const struct block_function *f, uint64_t ip, bool *start_known)
{
	int i = f ? block_starts_index(&f->starts, ip) : -1;
	int first = i;

	*start_known = false;
	if (i < 0 || !f->starts.complete)
		return ip;
	while (first > 0 && !(f->starts.insn[first] & STARTS_MARK) && i - first < BLOCK_MAX_INSNS / 2)
		first--;
	*start_known = f->starts.insn[first] & STARTS_MARK;
	return f->starts.start + (f->starts.insn[first] & STARTS_OFFSET);
}

static bool remember(struct block_cache *c, uint64_t key, struct block *b)
{
	uint64_t *slot;

	if (!GROW(c->all, c->stats.blocks, c->all_cap, 256))
		return false;
	slot = map_put(&c->blocks, key, NULL);
	if (!slot)
		return false;
	*slot = (uint64_t)(uintptr_t)b;
	c->all[c->stats.blocks++] = b;
	c->bytes += sizeof(*b) + b->bytes + b->count * (sizeof(*b->insn) + sizeof(*b->off));
	return true;
}

static bool unchanged(const struct block_code *code, const struct block *b)
{
	uint8_t now[BLOCK_MAX_INSNS * DEC_MAX_BYTES];

	return code->read(code->ctx, b->start, now, b->bytes) == b->bytes && !memcmp(now, b->code, b->bytes);
}

static int find_block(struct block_cache *c, const struct block_code *code, uint64_t ip, struct block **out)
{
	const struct block_function *f;
	uint64_t key, *slot, start;
	struct block *b;
	bool start_known;

	if (!make_key(code, ip, &key))
		return -ENODATA;
	slot = map_get(&c->blocks, key);
	if (slot) {
		b = (struct block *)(uintptr_t)*slot;
		if (code->volatile_bytes && !unchanged(code, b)) {
			/* stays in c->all until the next flush */
			map_del(&c->blocks, key);
			c->stats.rewritten++;
			return -ESTALE;
		}
		c->stats.hits++;
		*out = b;
		return 0;
	}
	c->stats.misses++;
	if (c->bytes > c->max_bytes) {
		block_cache_forget(c);
		c->stats.flushes++;
	}
	f = cached_function_of(c, code, ip);
	if (f && !f->usable)
		f = NULL;
	start = block_start(f, ip, &start_known);
	b = decode_block(code, start, f);
	if (b && ip - start >= b->bytes && start != ip) {
		/* longer than a block may be: keep to what follows the sample */
		free_block(b);
		start_known = false;
		b = decode_block(code, ip, f);
	}
	if (!b)
		return -ENODATA;
	b->start_known = start_known;
	if (code->volatile_bytes && !unchanged(code, b)) {
		free_block(b);
		c->stats.rewritten++;
		return -ESTALE;
	}
	if (!remember(c, key, b)) {
		free_block(b);
		return -ENOMEM;
	}
	*out = b;
	return 0;
}

static int index_in(const struct block *b, uint64_t ip)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->start + b->off[i] == ip)
			return (int)i;
	return -1;
}

/* Appends a block's instructions from index `from` to the run; returns the new count. */
static unsigned append(struct block_cache *c, unsigned n, const struct block *b, unsigned from, unsigned limit,
		       uint64_t bias)
{
	for (unsigned i = from; i < b->count && n < limit; i++, n++) {
		c->insn[n] = b->insn[i];
		c->code_ip[n] = b->start + b->off[i];
		c->ip[n] = c->code_ip[n] + bias;
	}
	return n;
}

/* Goes on behind the block: fall-through, direct jumps and calls. */
static unsigned evaluate_behind(struct block_cache *c, const struct block_code *code, unsigned n, unsigned follow,
				uint64_t bias)
{
	unsigned limit = n + follow;

	if (limit > 2 * BLOCK_MAX_INSNS)
		limit = 2 * BLOCK_MAX_INSNS;
	while (n < limit) {
		const struct dec_insn *last = &c->insn[n - 1];
		uint64_t next = c->code_ip[n - 1] + last->len;
		struct block *b;
		int at;

		if (last->flags & DEC_F_BRANCH) {
			if (!(last->flags & DEC_F_DIRECT) || (last->flags & (DEC_F_COND | DEC_F_TRAP)))
				break;
			next += (uint64_t)last->target;
		}
		if (find_block(c, code, next, &b))
			break;
		at = index_in(b, next);
		if (at < 0)
			break;
		n = append(c, n, b, (unsigned)at, limit, bias);
	}
	return n;
}

static void emit_access(const struct block_state *s, struct block_result *out, struct block_access *a, uint64_t sp)
{
	unsigned ops = a->known ? 1 : a->lanes;

	if (a->known)
		out->known++;
	else
		out->unknown += ops;
	if (a->in_block) {
		if (a->known)
			out->block_known++;
		else
			out->block_unknown += ops;
	}
	if (a->known && s->stack_end && a->addr >= sp - RED_ZONE && a->addr < s->stack_end)
		a->flags |= FMT_A_STACK;
	if (out->count < BLOCK_MAX_ACCESSES)
		out->access[out->count++] = *a;
}

static void emit_insn(struct block_cache *c, unsigned i, unsigned at, unsigned own, const struct block_state *s,
		      struct block_result *out)
{
	const struct dec_insn *d = &c->insn[i];
	const struct eval_state *st = &c->state[i];
	uint64_t sp = st->full >> WREG_SP & 1 ? st->r[WREG_SP] : s->regs[WREG_SP];

	for (unsigned m = 0; m < d->mem_cnt; m++) {
		const struct dec_mem *mem = &d->mem[m];
		struct block_access a = { .ip = c->code_ip[i], .size = mem->size, .lanes = 1 };

		a.step = (int16_t)((int)i - (int)at);
		a.in_block = i < own;
		a.flags = (uint16_t)((mem->flags & DEC_M_LOAD ? FMT_A_LOAD : 0) |
				     (mem->flags & DEC_M_STORE ? FMT_A_STORE : 0) |
				     (d->flags & DEC_F_ATOMIC ? FMT_A_ATOMIC : 0));
		if (mem->flags & DEC_M_VECTOR)
			a.lanes = mem->lanes;
		else
			a.known = eval_address(st, mem, c->ip[i] + d->len, &a.addr);
		if (mem->flags & DEC_M_REP) {
			bool counted = !(mem->flags & DEC_M_STOP) && (st->full >> WREG_CX & 1);
			uint64_t n = st->r[WREG_CX];

			a.flags |= FMT_A_REP;
			if (counted && !n)
				continue;
			a.size = counted ? n * mem->size : 0;
			if (s->regs[WREG_FLAGS] & EVAL_FLAG_DF) {
				if (counted)
					a.addr -= (n - 1) * mem->size;
				else
					a.known = false; /* ends there, begins somewhere below */
			}
		}
		emit_access(s, out, &a, sp);
	}
}

/* What stands there now is not what ran when the sample was taken. */
static bool other_code(const struct block_code *code, const struct block_state *s)
{
	uint64_t words[WIRE_CODE_WORDS];

	return code->volatile_bytes && s->code_hash &&
	       code->read(code->ctx, s->code_ip, words, sizeof(words)) == sizeof(words) &&
	       wire_code_hash((const void *)words) != s->code_hash;
}

int block_sample(struct block_cache *c, const struct block_code *code, const struct block_state *s, unsigned follow,
		 struct block_result *out)
{
	struct eval_run run = { .insn = c->insn, .ip = c->ip, .state = c->state };
	uint64_t bias = s->regs[WREG_IP] - s->code_ip;
	unsigned n, own;
	struct block *b;
	int rc, at;

	out->count = 0;
	out->known = out->unknown = out->block_known = out->block_unknown = 0;
	if (other_code(code, s)) {
		c->stats.rewritten++;
		return -ESTALE;
	}
	rc = find_block(c, code, s->code_ip, &b);
	if (rc) {
		c->stats.undecodable += rc == -ENODATA;
		return rc;
	}
	at = index_in(b, s->code_ip);
	if (at < 0) {
		c->stats.undecodable++;
		return -ENODATA;
	}
	out->start = b->start;
	out->start_known = b->start_known;
	out->work = b->work;
	own = n = append(c, 0, b, 0, BLOCK_MAX_INSNS, bias);
	if (follow)
		n = evaluate_behind(c, code, n, follow, bias);
	run.count = n;
	run.at = (unsigned)at;
	run.stack = s->stack;
	run.stack_bytes = s->stack_bytes;
	run.sp = s->regs[WREG_SP];
	eval_run(&run, s->regs);
	for (unsigned i = 0; i < n; i++)
		if (c->insn[i].mem_cnt)
			emit_insn(c, i, (unsigned)at, own, s, out);
	return 0;
}

int block_previous(struct block_cache *c, const struct block_code *code, uint64_t code_ip, struct dec_insn *insn,
		   uint64_t *addr)
{
	const struct block_function *f = cached_function_of(c, code, code_ip - 1);
	uint8_t bytes[DEC_MAX_BYTES];
	uint32_t want;
	size_t have, next;

	if (!f || !f->usable)
		return -ENODATA;
	want = (uint32_t)(code_ip - f->starts.start);
	/* the last instruction that begins before code_ip; it must end there */
	next = BISECT(i, f->starts.count, (f->starts.insn[i] & STARTS_OFFSET) < want);
	if (!next)
		return -ENODATA;
	*addr = f->starts.start + (f->starts.insn[next - 1] & STARTS_OFFSET);
	have = code->read(code->ctx, *addr, bytes, sizeof(bytes));
	if (dec_decode(bytes, have, insn) || *addr + insn->len != code_ip)
		return -ENODATA;
	return 0;
}
