// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vector and mask registers hold where a run begins: samples do not tell. But most was made shortly before, or
 * before the loop, from nothing (zero, all ones), from memory that nobody wrote since, or from general registers that are
 * still as they were. What a register holds is a recipe: the instruction that wrote it last and the recipes of what that
 * read. Forward over the function's graph; where ways meet with different recipes nothing is known. A recipe is
 * dropped when a general register that it reads is written (or memory, if it reads that), so that the sample's
 * are the right ones to follow it with.
 */
#include <stdlib.h>

#include "attr/cfg.h"
#include "attr/emu_vec_priv.h"

#define FUNCTION_MOST 16384 /* bytes: one look must cost less than a run */
#define KEPT 16
#define RECIPES 512
#define PASSES 12
#define READS 4
#define REGISTERS 40 /* vectors, then masks */

enum { NOTHING = 0, NOT_MET = UINT16_MAX };

struct recipe {
	uint64_t addr;
	struct emu_insn i;
	uint16_t from[READS]; /* recipes of what reads_of() it says */
	uint32_t gprs;	      /* that it and what it is made from read */
	bool memory;	      /* they read some that may be written */
};

struct around { /* a point in the code: recipe per register */
	uint16_t v[REGISTERS];
};

struct function {
	uint64_t start, end;
	struct cfg graph;
	bool usable;
	struct around *in; /* per block */
	struct recipe *recipe; /* from 1 */
	uint16_t recipes;
};

struct emu_before {
	struct emu_env env;
	struct emu_decoder *decoder;
	struct function kept[KEPT];
	unsigned next;
	struct emu_state scratch;
	struct emu_vec made[RECIPES];
};

struct emu_before *emu_before_new(const struct emu_env *env)
{
	struct emu_before *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->env = *env;
	b->decoder = emu_decoder_new();
	if (!b->decoder) {
		free(b);
		return NULL;
	}
	return b;
}

static void release(struct function *f)
{
	if (f->usable)
		cfg_release(&f->graph);
	free(f->in);
	free(f->recipe);
	memset(f, 0, sizeof(*f));
}

void emu_before_forget(struct emu_before *b)
{
	for (unsigned n = 0; n < KEPT; n++)
		release(&b->kept[n]);
}

void emu_before_free(struct emu_before *b)
{
	if (!b)
		return;
	emu_before_forget(b);
	emu_decoder_free(b->decoder);
	free(b);
}

/* ---- recipes ---- */

static unsigned number_of(const struct emu_operand *o)
{
	return o->kind == EMU_K_VEC ? o->reg : 32u + o->reg;
}

static bool is_register(const struct emu_operand *o)
{
	return o->kind == EMU_K_VEC || o->kind == EMU_K_MASK;
}

/* Vector and mask registers that it reads. More than READS: too many. */
static unsigned reads_of(const struct emu_insn *i, uint8_t *reg)
{
	bool merges = i->mask && !i->zeroing && i->o[0].kind == EMU_K_VEC;
	unsigned n = 0;

	for (unsigned k = 0; k < i->ops; k++)
		if (is_register(&i->o[k]) && (k || i->o[k].read || merges) && n++ < READS)
			reg[n - 1] = (uint8_t)number_of(&i->o[k]);
	if (i->mask && n++ < READS)
		reg[n - 1] = 32 + i->mask;
	if (!i->vex && (i->mnemonic == ZYDIS_MNEMONIC_PBLENDVB || i->mnemonic == ZYDIS_MNEMONIC_BLENDVPS ||
			i->mnemonic == ZYDIS_MNEMONIC_BLENDVPD) && n++ < READS)
		reg[n - 1] = 0;
	return n;
}

/* It needs none of them: pxor of a register with itself. */
static bool from_nothing(struct emu_before *b, const struct emu_insn *i)
{
	struct emu_state *s = &b->scratch;
	uint64_t want = vec_ones(i->o[0].size);

	memset(s, 0, sizeof(*s));
	if (emu_vector(s, NULL, i) != EMU_OK)
		return false;
	return i->o[0].kind == EMU_K_MASK ? s->k_known >> i->o[0].reg & 1 : (s->v[i->o[0].reg].known & want) == want;
}

static bool is_fixed(const struct emu_before *b, const struct emu_operand *o, uint64_t next)
{
	return b->env.fixed && o->reg == WREG_IP && o->index == EMU_NOREG && o->segment == EMU_NOREG && !o->strange &&
	       !o->narrow && b->env.fixed(b->env.ctx, next + (uint64_t)o->value, o->size);
}

static uint16_t intern(struct function *f, const struct recipe *new)
{
	for (uint16_t n = 1; n < f->recipes; n++)
		if (f->recipe[n].addr == new->addr && !memcmp(f->recipe[n].from, new->from, sizeof(new->from)))
			return n;
	if (f->recipes == RECIPES)
		return NOTHING;
	f->recipe[f->recipes] = *new;
	return f->recipes++;
}

static uint16_t recipe_of(struct emu_before *b, struct function *f, const struct around *at, const struct emu_insn *i,
			  uint64_t addr)
{
	struct recipe new = { .addr = addr, .i = *i };
	const struct emu_operand *dst = &i->o[0];
	bool memory = false;
	uint8_t reg[READS];
	unsigned reads;

	if (i->op != EMU_OP_VECTOR || !emu_vec_rule(i->mnemonic) || !i->ops || !is_register(dst) ||
	    i->vec_written != (dst->kind == EMU_K_VEC ? 1ull << dst->reg : 0) ||
	    i->mask_written != (dst->kind == EMU_K_MASK ? 1u << dst->reg : 0))
		return NOTHING;
	for (unsigned k = 0; k < i->ops; k++) {
		const struct emu_operand *o = &i->o[k];

		if (o->kind == EMU_K_REG) {
			new.gprs |= 1u << o->reg;
		} else if (o->kind == EMU_K_MEM) {
			if (o->strange)
				return NOTHING;
			new.gprs |= o->reg == EMU_NOREG || o->reg == WREG_IP ? 0 : 1u << o->reg;
			new.gprs |= o->index == EMU_NOREG ? 0 : 1u << o->index;
			new.memory |= !is_fixed(b, o, addr + i->len);
			memory = true;
		} else if (!is_register(o) && o->kind != EMU_K_IMM) {
			return NOTHING;
		}
	}
	reads = reads_of(i, reg);
	if (reads > READS)
		return NOTHING;
	if (!memory && !new.gprs && from_nothing(b, i))
		reads = 0;
	for (unsigned k = 0; k < reads; k++) {
		const struct recipe *r = &f->recipe[at->v[reg[k]]];

		new.from[k] = at->v[reg[k]];
		new.gprs |= r->gprs;
		new.memory |= r->memory;
	}
	return intern(f, &new);
}

static bool writes_memory(const struct emu_insn *i)
{
	for (unsigned k = 0; k < i->ops; k++)
		if (i->o[k].kind == EMU_K_MEM && i->o[k].written)
			return true;
	return i->op == EMU_OP_PUSH || i->op == EMU_OP_MOVS || i->op == EMU_OP_STOS || i->op == EMU_OP_TRAP;
}

static void pass(struct emu_before *b, struct function *f, struct around *at, const struct emu_insn *i, uint64_t addr)
{
	uint16_t made = recipe_of(b, f, at, i, addr);
	uint64_t written = i->vec_written | (uint64_t)i->mask_written << 32;
	bool stores = writes_memory(i);

	if (i->op == EMU_OP_CALL || i->op == EMU_OP_SYSCALL)
		memset(at, 0, sizeof(*at));
	for (unsigned n = 0; n < REGISTERS; n++) {
		const struct recipe *r = &f->recipe[at->v[n]];

		if (written >> n & 1)
			at->v[n] = made;
		else if (r->gprs & i->gpr_written || (r->memory && stores))
			at->v[n] = NOTHING;
	}
}

/* ---- the graph ---- */

static bool walk(struct emu_before *b, struct function *f, uint32_t block, struct around *at, uint64_t until)
{
	const struct cfg_block *k = &f->graph.block[block];

	for (uint32_t n = k->insn; n < k->insn + k->insns; n++) {
		uint64_t addr = cfg_insn_addr(&f->graph, n), left = f->graph.end - addr;
		struct emu_insn i;

		if (addr == until)
			return true;
		if (emu_decode(b->decoder, f->graph.bytes + f->graph.insn[n], left < 15 ? left : 15, &i))
			return false;
		pass(b, f, at, &i, addr);
	}
	return !until;
}

/* What is the same on all ways that lead there. NOT_MET: none of them was walked yet. */
static struct around meet(const struct function *f, uint32_t block, const struct around *out)
{
	const struct cfg_block *k = &f->graph.block[block];
	struct around at;

	if (!block || !k->preds)
		return (struct around){ { NOTHING } };
	memset(&at, 0xff, sizeof(at));
	for (uint32_t p = k->pred; p < k->pred + k->preds; p++) {
		uint32_t from = f->graph.pred[p];
		bool elsewhere = f->graph.block[from].flags & CFG_VIA_COLD;

		for (unsigned n = 0; n < REGISTERS; n++) {
			uint16_t v = elsewhere ? NOTHING : out[from].v[n];

			if (at.v[n] == NOT_MET)
				at.v[n] = v;
			else if (v != NOT_MET && v != at.v[n])
				at.v[n] = NOTHING;
		}
	}
	return at;
}

static bool settle(struct emu_before *b, struct function *f)
{
	struct around *out = malloc(f->graph.blocks * sizeof(*out));
	bool changed = true, ok = out;

	if (out)
		memset(out, 0xff, f->graph.blocks * sizeof(*out));
	for (unsigned p = 0; ok && changed; p++) {
		changed = false;
		ok = p < PASSES;
		for (uint32_t k = 0; ok && k < f->graph.blocks; k++) {
			struct around at = meet(f, k, out);

			f->in[k] = at;
			if (at.v[0] == NOT_MET)
				continue;
			ok = walk(b, f, k, &at, 0);
			changed |= memcmp(&at, &out[k], sizeof(at)) != 0;
			out[k] = at;
		}
	}
	free(out);
	return ok;
}

static struct function *function_at(struct emu_before *b, uint64_t ip)
{
	struct block_code code = { .read = b->env.code, .ctx = b->env.ctx };
	struct function *f;
	uint64_t start, end;

	if (!b->env.function || !b->env.function(b->env.ctx, ip, &start, &end) || end <= start || end - start > FUNCTION_MOST)
		return NULL;
	for (unsigned n = 0; n < KEPT; n++)
		if (b->kept[n].start == start && b->kept[n].end == end)
			return &b->kept[n];
	f = &b->kept[b->next++ % KEPT];
	release(f);
	f->start = start;
	f->end = end;
	if (cfg_build(&code, start, end, &f->graph))
		return f;
	f->usable = true;
	f->in = calloc(f->graph.blocks, sizeof(*f->in));
	f->recipe = calloc(RECIPES, sizeof(*f->recipe));
	f->recipes = 1;
	if (!f->graph.complete || !f->in || !f->recipe || !settle(b, f)) {
		release(f);
		f->start = start;
		f->end = end;
	}
	return f;
}

/* ---- at the sample ---- */

/* Masks are kept as eight bytes. */
static void set(struct emu_state *s, unsigned n, const struct emu_vec *v)
{
	if (n < 32) {
		s->v[n] = *v;
	} else if (vec_known(v, 0, 8)) {
		s->k[n - 32] = vec_at(v, 0, 8);
		s->k_known |= (uint8_t)(1u << (n - 32));
	}
}

static void follow(struct emu_before *b, struct emu_memory *m, const struct emu_state *s, const struct recipe *r,
		   const struct emu_vec *made, struct emu_vec *out)
{
	struct emu_state *t = &b->scratch;
	uint8_t reg[READS];
	unsigned reads = reads_of(&r->i, reg);

	memset(t, 0, sizeof(*t));
	memcpy(t->r, s->r, sizeof(t->r));
	t->known = s->known;
	t->r[WREG_IP] = r->addr;
	for (unsigned k = 0; k < reads; k++)
		set(t, reg[k], &made[r->from[k]]);
	if (emu_vector(t, m, &r->i) != EMU_OK)
		return;
	if (r->i.o[0].kind == EMU_K_VEC) {
		*out = t->v[r->i.o[0].reg];
	} else if (t->k_known >> r->i.o[0].reg & 1) {
		memset(out, 0, sizeof(*out));
		vec_set(out, 0, 8, t->k[r->i.o[0].reg]);
	}
}

void emu_before(struct emu_before *b, struct emu_memory *m, struct emu_state *s)
{
	struct function *f = function_at(b, s->r[WREG_IP]);
	uint32_t block = f && f->usable ? cfg_block_at(&f->graph, s->r[WREG_IP]) : CFG_NONE;
	struct emu_vec *made = b->made;
	struct around at;

	if (block == CFG_NONE || f->in[block].v[0] == NOT_MET)
		return;
	at = f->in[block];
	memset(made, 0, sizeof(b->made));
	if (walk(b, f, block, &at, s->r[WREG_IP])) {
		bool wanted[RECIPES] = { false };

		for (unsigned n = 0; n < REGISTERS; n++)
			wanted[at.v[n]] = true;
		/* made from earlier ones only */
		for (unsigned r = f->recipes; r-- > 1;)
			for (unsigned k = 0; wanted[r] && k < READS; k++)
				wanted[f->recipe[r].from[k]] = true;
		for (unsigned r = 1; r < f->recipes; r++)
			if (wanted[r])
				follow(b, m, s, &f->recipe[r], made, &made[r]);
		for (unsigned n = 0; n < REGISTERS; n++)
			if (at.v[n])
				set(s, n, &made[at.v[n]]);
	}
}
