// SPDX-License-Identifier: GPL-2.0-or-later
/* Arbitrary bytes as a function: graph, dominators, loops, induction registers. Whatever comes out
 * must be consistent with itself. First byte: where the function begins and ends. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "code/cfg.h"
#include "code/induction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x401000ull

struct bytes {
	const uint8_t *data;
	size_t size, split;
};

static size_t read_bytes(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct bytes *b = ctx;

	if (addr < BASE || addr - BASE >= b->size)
		return 0;
	if (len > b->size - (addr - BASE))
		len = b->size - (addr - BASE);
	memcpy(buf, b->data + (addr - BASE), len);
	return len;
}

struct list {
	uint64_t end;
	unsigned steps;
};

/* A list that leads somewhere for a while. */
static bool next_element(void *ctx, uint64_t addr, uint64_t *value)
{
	struct list *l = ctx;

	*value = l->steps % 7 == 5 ? l->end : addr + 16;
	return ++l->steps < 64;
}

/* two functions: one may be the other's cold half */
static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct bytes *b = ctx;
	bool second = addr >= BASE + b->split;

	*start = second ? BASE + b->split : BASE;
	*end = second ? BASE + b->size : BASE + b->split;
	return addr >= *start && addr < *end;
}

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check(const struct cfg *c)
{
	uint32_t budget = 1u << 16;
	struct induction in;
	struct list list;
	uint64_t trips;

	for (uint32_t b = 0; b < c->blocks; b++) {
		const struct cfg_block *k = &c->block[b];

		must(cfg_block_at(c, cfg_block_addr(c, b)) == b);
		must(k->insn + k->insns <= c->insns && k->succ + k->succs <= c->edges &&
		     k->pred + k->preds <= c->edges);
		must(k->loop == CFG_NONE || (k->loop < c->loops && cfg_dominates(c, c->loop[k->loop].header, b)));
		must(k->idom == CFG_NONE || cfg_dominates(c, k->idom, b));
		cfg_once(c, b);
	}
	for (uint32_t l = 0; l < c->loops; l++) {
		const struct cfg_loop *p = &c->loop[l];

		must(p->last >= l && p->last < c->loops && p->members && p->member + p->members <= c->members);
		must(p->latches && p->latch + p->latches <= c->latches && p->exit + p->exits <= c->exits);
		must(p->parent == CFG_NONE || (p->parent < l && c->loop[p->parent].last >= p->last));
		for (uint32_t i = 0; i < p->exits; i++)
			must(cfg_in_loop(c, c->exit[p->exit + i].from, l) &&
			     !cfg_in_loop(c, c->exit[p->exit + i].to, l));
		if (induction_find(c, l, &budget, &in))
			continue;
		must(in.exits && (in.entry_insn == CFG_NONE || in.entry_insn < c->insns));
		must(in.stride || !induction_trips(&in, &in.exit[0], c->start, c->end, &trips));
		induction_trips(&in, &in.exit[0], c->start, c->end, &trips);
		list = (struct list){ .end = c->end };
		if (induction_walk(&in, &in.exit[0], c->start, c->end, next_element, &list, &trips))
			must(!in.stride && trips && trips <= list.steps + 1u);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data + 1, size - 1, 0 };
	struct block_code code = { .id = 1, .read = read_bytes, .bounds = bounds, .ctx = &b };
	struct cfg c;

	if (size < 4 || size > 4096)
		return 0;
	b.split = 1 + data[0] * (b.size - 2) / 256;
	if (!cfg_build(&code, BASE, BASE + b.split, &c)) {
		check(&c);
		cfg_release(&c);
	}
	if (!cfg_build(&code, BASE + b.split, BASE + b.size, &c)) {
		check(&c);
		cfg_release(&c);
	}
	return 0;
}
