// SPDX-License-Identifier: GPL-2.0-or-later
#include "emu/emu_code.h"

#include <stdlib.h>
#include <string.h>

#include "code/decode.h"
#include "util/map.h"

#define BLOCK 256 /* instructions whose memory is had at once; by hand */

struct emu_code_block {
	struct code code[BLOCK];
	struct code_rest rest[BLOCK];
	struct emu_code_block *before;
};

struct emu_codes {
	struct emu_env env;
	struct map at; /* ip -> struct code * */
	struct emu_code_block *block;
	uint32_t count, used; /* of all blocks; of the last one */
	bool by_rules;
};

struct emu_codes *emu_codes_new(const struct emu_env *env)
{
	struct emu_codes *k = calloc(1, sizeof(*k));

	if (k)
		k->env = *env;
	return k;
}

void emu_codes_forget(struct emu_codes *k)
{
	for (struct emu_code_block *b = k->block, *before; b; b = before) {
		before = b->before;
		free(b);
	}
	k->block = NULL;
	k->count = k->used = 0;
	map_release(&k->at);
}

void emu_codes_free(struct emu_codes *k)
{
	if (k)
		emu_codes_forget(k);
	free(k);
}

void emu_codes_by_rules(struct emu_codes *k)
{
	k->by_rules = true;
}

uint32_t emu_codes_count(const struct emu_codes *k)
{
	return k->count;
}

static bool has_code_room(struct emu_codes *k)
{
	struct emu_code_block *b;

	if (k->block && k->used < BLOCK)
		return true;
	b = aligned_alloc(_Alignof(struct emu_code_block), sizeof(*b));
	if (!b)
		return false;
	b->before = k->block;
	k->block = b;
	k->used = 0;
	return true;
}

static struct code *decode_at(struct emu_codes *k, uint64_t ip)
{
	uint8_t bytes[DEC_MAX_BYTES] = { 0 };
	size_t len = k->env.code(k->env.ctx, ip, bytes, sizeof(bytes));
	struct code_rest *rest;
	struct code *c;

	if (!len || !has_code_room(k))
		return NULL;
	c = &k->block->code[k->used];
	rest = &k->block->rest[k->used];
	memset(c, 0, sizeof(*c));
	memset(rest, 0, sizeof(*rest));
	if (emu_decode(bytes, len, &rest->i))
		return NULL;
	c->ip = ip;
	c->rest = rest;
	c->leaves = rest->i.op == EMU_OP_JMP || rest->i.op == EMU_OP_CALL || rest->i.op == EMU_OP_RET;
	emu_needs_of(&rest->i, &rest->needs);
	c->moves = rest->i.moves;
	c->repeated = rest->i.rep;
	c->listed = rest->needs.listed;
	emu_quick_of(&rest->i, k->by_rules, &c->quick);
	return c;
}

struct code *emu_codes_at(struct emu_codes *k, uint64_t ip)
{
	struct code *c = emu_codes_known(k, ip);
	uint64_t *v;

	if (c)
		return c;
	c = decode_at(k, ip);
	v = c ? map_put(&k->at, ip, NULL) : NULL;
	if (!v)
		return NULL;
	*v = (uintptr_t)c;
	k->used++;
	k->count++;
	return c;
}

struct code *emu_codes_known(const struct emu_codes *k, uint64_t ip)
{
	const uint64_t *v = map_get(&k->at, ip);

	return v ? (struct code *)(uintptr_t)*v : NULL;
}
