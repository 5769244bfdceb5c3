// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vector and mask registers hold where a run begins: samples do not tell. But most was made shortly before, or
 * before the loop, from nothing (zero, all ones), from memory that nobody wrote since, or from general registers that
 * are still as they were. What a register holds is a recipe: the instruction that wrote it last and the recipes of
 * what that read. Forward over the function's graph; where ways meet with different recipes nothing is known. A
 * recipe is dropped when a general register that it reads is written (or memory, if it reads that), so that the
 * sample's are the right ones to follow it with.
 */
#include <stdlib.h>

#include "code/cfg.h"
#include "emu/emu_vec_priv.h"

#define FUNCTION_MOST 8192 /* bytes: one look must cost less than a run */
#define KEPT 64            /* functions; of 16, some were forgotten that came again */
#define RECIPES 512        /* of one function: FUNCTION_MOST bytes seldom write vectors more often; by hand */
#define PASSES 12    /* over the blocks until nothing changes: one for each loop within a loop, and more; by hand */
#define READS 4      /* registers of one instruction: three operands and a mask */
#define CHAINS 256   /* two recipes in each */
#define REGISTERS 40 /* vectors, then masks */

enum { NOTHING = 0, NOT_MET = UINT16_MAX };

struct recipe {
	uint64_t addr;
	struct emu_insn i;
	uint16_t from[READS]; /* recipes of what reads_of() it says */
	uint16_t next;        /* in the same chain of function.first */
	uint32_t gprs;        /* that it and what it is made from read */
	bool memory;          /* they read some that may be written */
};

struct around { /* a point in the code: recipe per register */
	uint16_t v[REGISTERS];
};

struct emu_function {
	uint64_t start, end;
	struct cfg graph;
	bool usable;
	struct around *in;     /* per block */
	uint64_t *live;        /* per block: bit per register that may be read from its end on before it is written */
	struct recipe *recipe; /* from 1 */
	uint16_t recipes;
	uint16_t first[CHAINS]; /* by address */
};

struct emu_before {
	struct emu_env env;
	struct emu_function kept[KEPT];
	unsigned next;
	struct emu_insn *all; /* of the function that is being looked at */
	struct emu_insn one;
	struct emu_state scratch;
	struct emu_vec made[RECIPES];
};

struct emu_before *emu_before_new(const struct emu_env *env)
{
	struct emu_before *b = calloc(1, sizeof(*b));

	if (b)
		b->env = *env;
	return b;
}

static void release_function(struct emu_function *f)
{
	if (f->usable)
		cfg_release(&f->graph);
	free(f->in);
	free(f->live);
	free(f->recipe);
	memset(f, 0, sizeof(*f));
}

void emu_before_forget(struct emu_before *b)
{
	for (unsigned n = 0; n < KEPT; n++)
		release_function(&b->kept[n]);
}

void emu_before_free(struct emu_before *b)
{
	if (!b)
		return;
	emu_before_forget(b);
	free(b);
}

/* ---- recipes ---- */

static unsigned register_number(const struct emu_operand *o)
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
			reg[n - 1] = (uint8_t)register_number(&i->o[k]);
	if (i->mask && n++ < READS)
		reg[n - 1] = 32 + i->mask;
	if (!i->vex &&
	    (i->mnemonic == ZYDIS_MNEMONIC_PBLENDVB || i->mnemonic == ZYDIS_MNEMONIC_BLENDVPS ||
	     i->mnemonic == ZYDIS_MNEMONIC_BLENDVPD) &&
	    n++ < READS)
		reg[n - 1] = 0;
	return n;
}

/* It needs none of them: pxor of a register with itself. */
static bool from_nothing(struct emu_before *b, const struct emu_insn *i)
{
	struct emu_state *s = &b->scratch;
	uint64_t want = vec_ones(i->o[0].size);

	if (i->op != EMU_OP_VECTOR || !i->ops || !is_register(&i->o[0]))
		return false;
	for (unsigned k = 0; k < i->ops; k++)
		if (i->o[k].kind == EMU_K_MEM)
			return false;
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

static uint16_t intern(struct emu_function *f, const struct recipe *new)
{
	uint16_t *first = &f->first[new->addr % CHAINS];

	for (uint16_t n = *first; n; n = f->recipe[n].next)
		if (f->recipe[n].addr == new->addr && !memcmp(f->recipe[n].from, new->from, sizeof(new->from)))
			return n;
	if (f->recipes == RECIPES || f->live) /* all are there once it is settled */
		return NOTHING;
	f->recipe[f->recipes] = *new;
	f->recipe[f->recipes].next = *first;
	return *first = f->recipes++;
}

static uint16_t recipe_of(struct emu_before *b, struct emu_function *f, const struct around *at,
			  const struct emu_insn *i, uint64_t addr)
{
	struct recipe new = { .addr = addr, .i = *i };
	const struct emu_operand *dst = &i->o[0];
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
		} else if (!is_register(o) && o->kind != EMU_K_IMM) {
			return NOTHING;
		}
	}
	reads = reads_of(i, reg);
	if (reads > READS)
		return NOTHING;
	if (from_nothing(b, i))
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

static void pass_insn(struct emu_before *b, struct emu_function *f, struct around *at, const struct emu_insn *i,
		      uint64_t addr)
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

static const struct emu_insn *insn(struct emu_before *b, const struct emu_function *f, uint32_t n)
{
	size_t left = f->graph.end - cfg_insn_addr(&f->graph, n);

	if (b->all)
		return &b->all[n];
	return emu_decode(f->graph.bytes + f->graph.insn[n], left < 15 ? left : 15, &b->one) ? NULL : &b->one;
}

/* Each instruction is looked at several times. False: not all can be decoded, or none has to do with vectors. */
static bool decode_all(struct emu_before *b, const struct emu_function *f)
{
	struct emu_insn *all = malloc(f->graph.insns * sizeof(*all));
	bool ok = all, vectors = false;

	for (uint32_t n = 0; ok && n < f->graph.insns; n++) {
		const struct emu_insn *i = insn(b, f, n);

		ok = i;
		if (i) {
			all[n] = *i;
			vectors |= i->op == EMU_OP_VECTOR;
		}
	}
	b->all = all;
	return ok && vectors;
}

static bool walk_block(struct emu_before *b, struct emu_function *f, uint32_t block, struct around *at, uint64_t until)
{
	const struct cfg_block *k = &f->graph.block[block];

	for (uint32_t n = k->insn; n < k->insn + k->insns; n++) {
		uint64_t addr = cfg_insn_addr(&f->graph, n);
		const struct emu_insn *i;

		if (addr == until)
			return true;
		i = insn(b, f, n);
		if (!i)
			return false;
		pass_insn(b, f, at, i, addr);
	}
	return !until;
}

/* What is the same on all ways that lead there. NOT_MET: none of them was walked yet. */
static struct around join_predecessors(const struct emu_function *f, uint32_t block, const struct around *out)
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

static bool settle_function(struct emu_before *b, struct emu_function *f)
{
	struct around *out = malloc(f->graph.blocks * sizeof(*out));
	bool changed = true, ok = out;

	if (out)
		memset(out, 0xff, f->graph.blocks * sizeof(*out));
	for (unsigned p = 0; ok && changed; p++) {
		changed = false;
		ok = p < PASSES;
		for (uint32_t k = 0; ok && k < f->graph.blocks; k++) {
			struct around at = join_predecessors(f, k, out);

			f->in[k] = at;
			if (at.v[0] == NOT_MET)
				continue;
			ok = walk_block(b, f, k, &at, 0);
			changed |= memcmp(&at, &out[k], sizeof(at)) != 0;
			out[k] = at;
		}
	}
	free(out);
	return ok;
}

/* Registers that instructions from `from` to the block's end read, of those that are written in none before them. */
static uint64_t used(struct emu_before *b, const struct emu_function *f, uint32_t block, uint64_t from, uint64_t live)
{
	const struct cfg_block *k = &f->graph.block[block];
	uint64_t use = 0, written = 0;

	for (uint32_t n = k->insn; n < k->insn + k->insns; n++) {
		const struct emu_insn *i = cfg_insn_addr(&f->graph, n) < from ? NULL : insn(b, f, n);
		uint8_t reg[READS];
		unsigned reads;

		if (!i)
			continue;
		reads = from_nothing(b, i) ? 0 : reads_of(i, reg);
		for (unsigned r = 0; r < reads && r < READS; r++)
			use |= 1ull << reg[r] & ~written;
		written |= i->op == EMU_OP_CALL ? ~0ull : i->vec_written | (uint64_t)i->mask_written << 32;
	}
	return use | (live & ~written);
}

/* The other direction. Arguments of calls do not count. */
static bool find_live(struct emu_before *b, struct emu_function *f)
{
	uint64_t *in = calloc(f->graph.blocks, sizeof(*in));
	bool changed = true;

	f->live = calloc(f->graph.blocks, sizeof(*f->live));
	for (unsigned p = 0; in && f->live && changed && p < PASSES; p++) {
		changed = false;
		for (uint32_t k = f->graph.blocks; k-- > 0;) {
			uint64_t live = 0, now;

			for (uint32_t n = 0; n < f->graph.block[k].succs; n++)
				live |= in[f->graph.succ[f->graph.block[k].succ + n]];
			now = used(b, f, k, 0, live);
			changed |= now != in[k];
			in[k] = now;
			f->live[k] = live;
		}
	}
	free(in);
	return f->live;
}

static bool study(struct emu_before *b, struct emu_function *f)
{
	struct recipe *fewer;
	bool ok;

	f->in = calloc(f->graph.blocks, sizeof(*f->in));
	f->recipe = calloc(RECIPES, sizeof(*f->recipe));
	f->recipes = 1;
	ok = f->in && f->recipe && f->graph.complete && decode_all(b, f) && settle_function(b, f) && find_live(b, f);
	free(b->all);
	b->all = NULL;
	fewer = ok ? realloc(f->recipe, f->recipes * sizeof(*f->recipe)) : NULL;
	f->recipe = fewer ? fewer : f->recipe;
	return ok;
}

static struct emu_function *graph_of_function_at(struct emu_before *b, uint64_t ip)
{
	struct block_code code = { .read = b->env.code, .ctx = b->env.ctx };
	struct emu_function *f;
	uint64_t start, end;

	if (!b->env.function || !b->env.function(b->env.ctx, ip, &start, &end) || end <= start ||
	    end - start > FUNCTION_MOST)
		return NULL;
	for (unsigned n = 0; n < KEPT; n++)
		if (b->kept[n].start == start && b->kept[n].end == end)
			return &b->kept[n];
	f = &b->kept[b->next++ % KEPT];
	release_function(f);
	f->usable = !cfg_build(&code, start, end, &f->graph);
	if (f->usable && !study(b, f))
		release_function(f);
	f->start = start; /* what is of no use is not looked at twice */
	f->end = end;
	return f;
}

/* ---- at the sample ---- */

/* Masks are kept as eight bytes. */
static void set_vector(struct emu_state *s, unsigned n, const struct emu_vec *v)
{
	if (n < 32) {
		s->v[n] = *v;
	} else if (vec_known(v, 0, 8)) {
		s->k[n - 32] = vec_at(v, 0, 8);
		s->k_known |= (uint8_t)(1u << (n - 32));
	}
}

static void recompute(struct emu_before *b, struct emu_memory *m, const struct emu_state *s, const struct recipe *r,
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
		set_vector(t, reg[k], &made[r->from[k]]);
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
	struct emu_function *f = graph_of_function_at(b, s->r[WREG_IP]);
	uint32_t block = f && f->usable ? cfg_block_at(&f->graph, s->r[WREG_IP]) : CFG_NONE;
	struct emu_vec *made = b->made;
	struct around at;

	if (block == CFG_NONE || f->in[block].v[0] == NOT_MET)
		return;
	at = f->in[block];
	memset(made, 0, sizeof(b->made));
	if (walk_block(b, f, block, &at, s->r[WREG_IP])) {
		uint64_t live = used(b, f, block, s->r[WREG_IP], f->live[block]);
		bool wanted[RECIPES] = { false };

		for (unsigned n = 0; n < REGISTERS; n++) { /* memory is not touched for nothing */
			if (f->recipe[at.v[n]].memory && !(live >> n & 1))
				at.v[n] = NOTHING;
			wanted[at.v[n]] = true;
		}
		/* made from earlier ones only */
		for (unsigned r = f->recipes; r-- > 1;)
			for (unsigned k = 0; wanted[r] && k < READS; k++)
				wanted[f->recipe[r].from[k]] = true;
		for (unsigned r = 1; r < f->recipes; r++)
			if (wanted[r])
				recompute(b, m, s, &f->recipe[r], made, &made[r]);
		for (unsigned n = 0; n < REGISTERS; n++)
			if (at.v[n])
				set_vector(s, n, &made[at.v[n]]);
	}
}
