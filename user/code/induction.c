// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "code/induction.h"

#define REGS 16 /* general registers of x86-64 */

enum { UNSEEN, UNKNOWN, LINEAR, CONSTANT, LOADED };

/* add, and origin's value at the header where kind is LINEAR; low: only 32 bits of it are claimed. LOADED: add, and
 * the 8 bytes at origin's value at the header + at */
struct value {
	uint8_t kind, origin, low;
	int64_t add, at;
};

struct induction_state {
	struct value reg[REGS];
};

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static struct value moved_by(struct value v, int64_t by, unsigned width)
{
	if ((v.kind != LINEAR && v.kind != CONSTANT && v.kind != LOADED) || (v.kind == LOADED && width == 4))
		return (struct value){ .kind = UNKNOWN };
	v.add = plus(v.add, by);
	if (width == 4) {
		v.low = 1;
		if (v.kind == CONSTANT)
			v.add = (int64_t)(uint32_t)v.add;
	}
	return v;
}

static void forget_values(struct induction_state *s, uint32_t mask)
{
	for (unsigned r = 0; r < REGS; r++)
		if (mask >> r & 1)
			s->reg[r] = (struct value){ .kind = UNKNOWN };
}

static struct value lea_value(const struct induction_state *s, const struct dec_insn *d)
{
	const struct dec_mem *m = &d->mem[DEC_MAX_MEM - 1];
	unsigned width = m->flags & DEC_M_ADDR32 ? 4 : d->effect.width;

	if (m->base < REGS && m->index == DEC_NOREG)
		return moved_by(s->reg[m->base], m->disp, width);
	if (m->base == DEC_NOREG && m->index < REGS && m->scale == 1)
		return moved_by(s->reg[m->index], m->disp, width);
	return (struct value){ .kind = UNKNOWN };
}

/* What a pointer points to. */
static struct value load_value(const struct induction_state *s, const struct dec_insn *d)
{
	const struct dec_mem *m = &d->mem[0];
	const struct value *v = m->base < REGS ? &s->reg[m->base] : NULL;

	if (!v || v->kind != LINEAR || v->low || m->index != DEC_NOREG || m->segment != DEC_NOREG ||
	    (m->flags & DEC_M_ADDR32) || d->effect.width != 8 || d->effect.src_width != 8)
		return (struct value){ .kind = UNKNOWN };
	return (struct value){ .kind = LOADED, .origin = v->origin, .at = plus(v->add, m->disp) };
}

static struct value result_of(const struct induction_state *s, const struct dec_insn *d)
{
	const struct dec_effect *f = &d->effect;
	struct value unknown = { .kind = UNKNOWN };
	int64_t imm = f->imm;

	switch (f->op) {
	case DEC_OP_LEA: return lea_value(s, d);
	case DEC_OP_MOV:
		if (f->src_kind == DEC_SRC_IMM)
			return (struct value){ .kind = CONSTANT,
					       .low = f->width == 4,
					       .add = f->width == 4 ? (int64_t)(uint32_t)imm : imm };
		if (f->src_kind == DEC_SRC_MEM)
			return load_value(s, d);
		if (f->src_kind != DEC_SRC_REG || f->src >= REGS || f->src_width < 4)
			return unknown;
		return moved_by(s->reg[f->src], 0, f->src_width == 4 ? 4 : f->width);
	case DEC_OP_ADD:
	case DEC_OP_SUB:
		if (f->src_kind != DEC_SRC_IMM || f->dst >= REGS)
			return unknown;
		return moved_by(s->reg[f->dst], f->op == DEC_OP_ADD ? imm : (int64_t)(0 - (uint64_t)imm), f->width);
	default: return unknown;
	}
}

/* spoils: what a call changes. */
static void step_values(struct induction_state *s, const struct dec_insn *d, uint32_t spoils)
{
	const struct dec_effect *f = &d->effect;
	struct value v = { .kind = UNKNOWN };
	bool known_dst = f->op != DEC_OP_NONE && f->op != DEC_OP_STRING && f->op != DEC_OP_LEAVE && f->dst < REGS;

	if (f->op == DEC_OP_XCHG && known_dst && f->src_kind == DEC_SRC_REG && f->src < REGS) {
		v = s->reg[f->dst];
		s->reg[f->dst] = s->reg[f->src];
		s->reg[f->src] = v;
		return;
	}
	if (known_dst)
		v = result_of(s, d);
	forget_values(s, d->writes);
	if (d->flags & DEC_F_CALL)
		forget_values(s, spoils);
	if ((d->flags & DEC_F_KNOWN_SP) && !(d->flags & DEC_F_CALL))
		s->reg[WREG_SP] = moved_by(s->reg[WREG_SP], d->sp_delta, 8);
	if (known_dst && (d->writes >> f->dst & 1))
		s->reg[f->dst] = v;
}

/* Whether anything changed. */
static bool join_states(struct induction_state *into, const struct induction_state *from)
{
	bool changed = false;

	for (unsigned r = 0; r < REGS; r++) {
		struct value *a = &into->reg[r];
		const struct value *b = &from->reg[r];

		if (a->kind == UNKNOWN || b->kind == UNSEEN)
			continue;
		if (a->kind == UNSEEN) {
			*a = *b;
			changed = true;
		} else if (a->kind != b->kind || a->origin != b->origin || a->at != b->at ||
			   (a->add != b->add && ((uint32_t)a->add != (uint32_t)b->add || !(a->low | b->low)))) {
			a->kind = UNKNOWN;
			changed = true;
		} else if (b->low && !a->low) {
			a->low = 1;
			changed = true;
		}
	}
	return changed;
}

/* One loop's body: states at the start of each member, by position in the member list. */
struct loop_flow {
	const struct cfg *c;
	const struct cfg_loop *l;
	uint32_t loop;
	struct induction_state *in;
	uint32_t *position; /* block -> position, valid for members */
	uint32_t *queue;
	uint8_t *queued;
	uint32_t *budget;
};

static uint32_t spoiled_at(const struct cfg *c, uint32_t insn)
{
	const struct cfg_call *call = cfg_call_at(c, insn);

	return call ? call->spoils : CFG_CALLER_SAVED;
}

static int run_block(struct loop_flow *f, uint32_t block, struct induction_state *s)
{
	const struct cfg_block *b = &f->c->block[block];
	struct dec_insn d;

	if (*f->budget < b->insns) {
		*f->budget = 0;
		return -E2BIG;
	}
	*f->budget -= b->insns;
	for (uint32_t i = 0; i < b->insns; i++) {
		if (cfg_decode(f->c, b->insn + i, &d))
			return -ENOENT;
		step_values(s, &d, d.flags & DEC_F_CALL ? spoiled_at(f->c, b->insn + i) : 0);
	}
	/* what runs elsewhere meanwhile may do anything */
	if (b->flags & CFG_VIA_COLD)
		forget_values(s, 0xffff & ~(1u << WREG_SP));
	return 0;
}

static int fixpoint(struct loop_flow *f)
{
	const struct cfg *c = f->c;
	uint32_t head = 0, tail = 0, size = f->l->members + 1;
	struct induction_state *start = &f->in[f->position[f->l->header]];
	int rc;

	for (unsigned r = 0; r < REGS; r++)
		start->reg[r] = (struct value){ .kind = LINEAR, .origin = (uint8_t)r };
	f->queue[tail++] = f->l->header;
	f->queued[f->position[f->l->header]] = 1;
	while (head != tail) {
		uint32_t at = f->queue[head];
		struct induction_state s = f->in[f->position[at]];

		head = (head + 1) % size;
		f->queued[f->position[at]] = 0;
		rc = run_block(f, at, &s);
		if (rc)
			return rc;
		for (uint32_t i = 0; i < c->block[at].succs; i++) {
			uint32_t to = c->succ[c->block[at].succ + i], p;

			/* the header is where an iteration begins */
			if (to == f->l->header || !cfg_in_loop(c, to, f->loop))
				continue;
			p = f->position[to];
			if (!join_states(&f->in[p], &s) || f->queued[p])
				continue;
			f->queued[p] = 1;
			f->queue[tail] = to;
			tail = (tail + 1) % size;
		}
	}
	return 0;
}

/* State at the end of a member. */
static int end_state(struct loop_flow *f, uint32_t block, struct induction_state *s)
{
	*s = f->in[f->position[block]];
	return run_block(f, block, s);
}

static bool advances(const struct value *v, unsigned r, int64_t *stride, bool *low)
{
	if (v->kind != LINEAR || v->origin != r)
		return false;
	*low = v->low;
	*stride = v->low ? (int64_t)(int32_t)v->add : v->add;
	return *stride != 0;
}

/* By register: how it advances at every latch. As masks: those that do by a constant, of these those of which only 32
 * bits count, and those that are loaded from where they point to. */
struct advance {
	int64_t stride[REGS];
	struct value next[REGS];
	uint32_t strides, low, lists;
};

static void at_latch(const struct value *v, unsigned r, bool first, struct advance *a)
{
	int64_t by = 0;
	bool low = false, list = v->kind == LOADED && v->origin == r;

	if (!advances(v, r, &by, &low) || (!first && by != a->stride[r]))
		a->strides &= ~(1u << r);
	if (!list || (!first && (v->at != a->next[r].at || v->add != a->next[r].add)))
		a->lists &= ~(1u << r);
	a->stride[r] = by;
	a->next[r] = *v;
	a->low |= (uint32_t)low << r;
}

static int common_advances(struct loop_flow *f, struct advance *a)
{
	*a = (struct advance){ .strides = 0xffff & ~(1u << WREG_SP), .lists = 0xffff & ~(1u << WREG_SP) };
	for (uint32_t i = 0; i < f->l->latches && (a->strides | a->lists); i++) {
		struct induction_state s;
		int rc = end_state(f, f->c->latch[f->l->latch + i], &s);

		if (rc)
			return rc;
		for (unsigned r = 0; r < REGS; r++)
			at_latch(&s.reg[r], r, !i, a);
	}
	return 0;
}

/* ---- ways past the loop, from what leads to it to where it ends ---- */

#define PAST_BLOCKS 64 /* of all ways past one loop; with more of them nothing is claimed; by hand */

struct induction_past {
	struct induction_state
		end; /* of what leads to the loop: as in there, or registers' own values, numbered from REGS */
	uint32_t block[PAST_BLOCKS];
	struct induction_state at[PAST_BLOCKS];
	bool queued[PAST_BLOCKS];
	uint32_t count;
	bool lost; /* too many */
};

static bool is_exit(const struct loop_flow *f, uint32_t block)
{
	for (uint32_t i = 0; i < f->l->exits; i++)
		if (f->c->exit[f->l->exit + i].to == block)
			return true;
	return false;
}

static void past_into(const struct loop_flow *f, struct induction_past *p, uint32_t from,
		      const struct induction_state *s)
{
	const struct cfg_block *b = &f->c->block[from];

	for (uint32_t k = b->succ; k < b->succ + b->succs; k++) {
		uint32_t to = f->c->succ[k], i = 0;

		/* through the loop, or in again */
		if (cfg_in_loop(f->c, to, f->loop) || to == f->l->preheader)
			continue;
		while (i < p->count && p->block[i] != to)
			i++;
		if (i == PAST_BLOCKS) {
			p->lost = true;
			return;
		}
		p->block[i] = to;
		p->count += i == p->count;
		p->queued[i] |= join_states(&p->at[i], s);
	}
}

static void past_find(struct loop_flow *f, struct induction_past *p)
{
	bool any;

	memset(p, 0, sizeof(*p));
	if (f->l->preheader == CFG_NONE || !f->l->preheader_may_skip)
		return;
	for (unsigned r = 0; r < REGS; r++)
		p->end.reg[r] = (struct value){ .kind = LINEAR, .origin = (uint8_t)r };
	p->lost = run_block(f, f->l->preheader, &p->end);
	for (unsigned r = 0; r < REGS; r++)
		if (p->end.reg[r].kind != LINEAR && p->end.reg[r].kind != CONSTANT)
			p->end.reg[r] = (struct value){ .kind = LINEAR, .origin = (uint8_t)(REGS + r) };
	past_into(f, p, f->l->preheader, &p->end);
	do {
		any = false;
		for (uint32_t i = 0; i < p->count && !p->lost; i++) {
			struct induction_state s = p->at[i];

			if (!p->queued[i])
				continue;
			p->queued[i] = false;
			/* what is paired there goes no further */
			if (is_exit(f, p->block[i]))
				continue;
			any = true;
			p->lost = run_block(f, p->block[i], &s);
			past_into(f, p, p->block[i], &s);
		}
	} while (any && !p->lost);
}

/* What no turn would leave in the register. */
static bool past_value(const struct induction_past *p, const struct induction *in, const struct value *v, int64_t add)
{
	const struct value *first = &p->end.reg[in->reg];
	uint64_t off = (uint64_t)v->add - (uint64_t)first->add - (uint64_t)add + (uint64_t)in->stride;

	return v->kind == first->kind && (v->kind == LINEAR || v->kind == CONSTANT) && v->origin == first->origin &&
	       (in->bits == 32 || v->low || first->low ? !(uint32_t)off : !off);
}

/* Who went past the loop arrives here with that; or nobody does. */
static bool past_fits(const struct loop_flow *f, const struct induction_past *p, const struct induction *in,
		      uint32_t to, unsigned q, int64_t add)
{
	const struct cfg_block *b = &f->c->block[to];

	if (!f->l->preheader_may_skip)
		return true;
	for (uint32_t k = b->pred; k < b->pred + b->preds; k++) {
		uint32_t from = f->c->pred[k];

		if (cfg_in_loop(f->c, from, f->loop))
			continue;
		if (from != f->l->preheader && p->lost)
			return false;
		if (from == f->l->preheader && !past_value(p, in, &p->end.reg[q], add))
			return false;
	}
	for (uint32_t i = 0; i < p->count; i++)
		if (p->block[i] == to)
			return past_value(p, in, &p->at[i].reg[q], add);
	return true;
}

/* Of a list: whether this is the element's address plus *add, or the next one's. */
static bool of_list(const struct value *v, const struct induction *in, bool *next, int64_t *add)
{
	if (v->origin != in->reg || v->low || (v->kind != LINEAR && (v->kind != LOADED || v->at != in->at)))
		return false;
	*next = v->kind == LOADED;
	*add = *next ? plus(v->add, (int64_t)(0 - (uint64_t)in->then)) : v->add;
	return true;
}

static void list_exit(const struct induction_state *end, const struct induction *in, struct induction_exit *x)
{
	for (unsigned q = 0; q < REGS && x->reg == DEC_NOREG; q++)
		if (of_list(&end->reg[q], in, &x->next, &x->add))
			x->reg = (uint8_t)q;
}

/* Which register tells at an exit: any that still is the induction's header value plus a constant. */
static void exits_of(struct loop_flow *f, const struct induction_state *ends, const struct induction_past *past,
		     struct induction *in)
{
	in->exits_all = true;
	for (uint32_t i = 0; i < f->l->exits; i++) {
		const struct cfg_edge *e = &f->c->exit[f->l->exit + i];
		struct induction_exit *x = &in->exit[in->exits];
		bool low = true;

		if (i == INDUCTION_EXITS) {
			in->exits_all = false;
			break;
		}
		*x = (struct induction_exit){ .from = e->from, .to = e->to, .reg = DEC_NOREG };
		if (!in->stride)
			list_exit(&ends[i], in, x);
		for (unsigned q = 0; in->stride && q < REGS; q++) {
			const struct value *v = &ends[i].reg[q];

			if (v->kind != LINEAR || v->origin != in->reg || (!low && v->low) ||
			    !past_fits(f, past, in, x->to, q, v->add))
				continue;
			if (x->reg != DEC_NOREG && (v->low || !low))
				continue;
			x->reg = (uint8_t)q;
			x->add = v->add;
			low = v->low;
		}
		if (x->reg == DEC_NOREG)
			in->exits_all = false;
		else if (in->stride && low)
			in->bits = 32;
		in->exits++;
	}
	in->exits_all = in->exits_all && in->exits;
}

/* The value before the loop, from the pre-header's last instruction on. */
static void value_at_entry(struct loop_flow *f, struct induction *in)
{
	const struct cfg *c = f->c;
	const struct cfg_block *b;
	struct induction_state s;
	struct dec_insn d;

	in->entry_insn = CFG_NONE;
	in->entry_reg = DEC_NOREG;
	if (f->l->preheader == CFG_NONE || (c->block[f->l->preheader].flags & CFG_VIA_COLD))
		return;
	b = &c->block[f->l->preheader];
	in->entry_insn = b->insn + b->insns - 1;
	for (unsigned r = 0; r < REGS; r++)
		s.reg[r] = (struct value){ .kind = LINEAR, .origin = (uint8_t)r };
	if (cfg_decode(c, in->entry_insn, &d))
		return;
	step_values(&s, &d, CFG_CALLER_SAVED);
	if (s.reg[in->reg].kind == LINEAR) {
		in->entry_reg = s.reg[in->reg].origin;
		in->entry_add = s.reg[in->reg].add;
	}
	/* the whole block: does it set a constant? */
	for (unsigned r = 0; r < REGS; r++)
		s.reg[r] = (struct value){ .kind = UNKNOWN };
	if (run_block(f, f->l->preheader, &s))
		return;
	if (s.reg[in->reg].kind == CONSTANT) {
		in->entry_known = true;
		in->entry_value = s.reg[in->reg].add;
	}
}

static int score(const struct induction *in)
{
	unsigned told = 0;

	for (uint32_t i = 0; i < in->exits; i++)
		told += in->exit[i].reg != DEC_NOREG;
	if (!told)
		return -1;
	return (in->entry_known || in->entry_reg != DEC_NOREG ? 64 : 0) + (in->exits_all ? 32 : 0) + (int)told * 2 +
	       (in->bits == 64);
}

static int pick_exit(struct loop_flow *f, struct induction *out)
{
	struct induction_state ends[INDUCTION_EXITS];
	struct advance a;
	struct induction_past past;
	int best = -1, rc = common_advances(f, &a);

	if (rc)
		return rc;
	if (!(a.strides | a.lists))
		return -ENOENT;
	for (uint32_t i = 0; i < f->l->exits && i < INDUCTION_EXITS; i++) {
		rc = end_state(f, f->c->exit[f->l->exit + i].from, &ends[i]);
		if (rc)
			return rc;
	}
	past_find(f, &past);
	for (unsigned i = 0; i < 2 * REGS; i++) {
		unsigned r = i % REGS;
		struct induction in = { .reg = (uint8_t)r, .bits = 64 };

		if (!((i < REGS ? a.strides : a.lists) >> r & 1))
			continue;
		if (i < REGS) {
			in.bits = a.low >> r & 1 ? 32 : 64;
			in.stride = a.stride[r];
		} else {
			in.at = a.next[r].at;
			in.then = a.next[r].add;
		}
		exits_of(f, ends, &past, &in);
		value_at_entry(f, &in);
		if (score(&in) > best) {
			best = score(&in);
			*out = in;
		}
	}
	return best < 0 ? -ENOENT : 0;
}

int induction_find(const struct cfg *c, uint32_t loop, uint32_t *budget, struct induction *out)
{
	struct loop_flow f = { .c = c, .l = &c->loop[loop], .loop = loop, .budget = budget };
	int rc = -ENOMEM;

	memset(out, 0, sizeof(*out));
	if (!c->complete)
		return -ENOENT;
	if (*budget < f.l->members) {
		*budget = 0;
		return -E2BIG;
	}
	f.in = calloc(f.l->members, sizeof(*f.in));
	f.position = calloc(c->blocks, sizeof(*f.position));
	f.queue = malloc((f.l->members + 1) * sizeof(*f.queue));
	f.queued = calloc(f.l->members, 1);
	if (f.in && f.position && f.queue && f.queued) {
		for (uint32_t i = 0; i < f.l->members; i++)
			f.position[c->member[f.l->member + i]] = i;
		rc = fixpoint(&f);
		rc = rc ? rc : pick_exit(&f, out);
	}
	free(f.in);
	free(f.position);
	free(f.queue);
	free(f.queued);
	return rc;
}

bool induction_trips(const struct induction *in, const struct induction_exit *e, uint64_t entry_reg_value,
		     uint64_t exit_reg_value, uint64_t *trips)
{
	uint64_t first, distance, stride = (uint64_t)in->stride;

	if (!in->stride || e->reg == DEC_NOREG || (!in->entry_known && in->entry_reg == DEC_NOREG))
		return false;
	first = in->entry_known ? (uint64_t)in->entry_value : entry_reg_value + (uint64_t)in->entry_add;
	distance = exit_reg_value - (uint64_t)e->add - first;
	if (in->stride < 0) {
		stride = 0 - stride;
		distance = 0 - distance;
	}
	if (in->bits == 32)
		distance = (uint32_t)distance;
	if (distance % stride)
		return false;
	*trips = distance / stride + 1;
	/* half of the numbers are what a difference below zero looks like */
	return distance >> (in->bits - 1) == 0;
}

bool induction_walk(const struct induction *in, const struct induction_exit *e, uint64_t entry_reg_value,
		    uint64_t exit_reg_value, induction_peek_fn peek, void *ctx, uint64_t *trips)
{
	uint64_t at, last = exit_reg_value - (uint64_t)e->add, next;

	if (in->stride || e->reg == DEC_NOREG || (!in->entry_known && in->entry_reg == DEC_NOREG))
		return false;
	at = in->entry_known ? (uint64_t)in->entry_value : entry_reg_value + (uint64_t)in->entry_add;
	for (uint64_t n = 1; n <= INDUCTION_WALK_MOST; n++) {
		if (!e->next && at == last) {
			*trips = n;
			return true;
		}
		if (!peek(ctx, at + (uint64_t)in->at, &next))
			return false;
		next += (uint64_t)in->then;
		if (e->next && next == last) {
			*trips = n;
			return true;
		}
		at = next;
	}
	return false;
}
