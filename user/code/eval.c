// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "code/eval.h"

static inline bool full(const struct eval_state *s, unsigned r)
{
	return s->full >> r & 1;
}

static inline bool low(const struct eval_state *s, unsigned r)
{
	return s->low >> r & 1;
}

static inline void set_register(struct eval_state *s, unsigned r, uint64_t v)
{
	s->r[r] = v;
	s->full |= 1u << r;
	s->low |= 1u << r;
}

static inline void set_low(struct eval_state *s, unsigned r, uint64_t v)
{
	if (full(s, r))
		return;
	s->r[r] = (uint32_t)v;
	s->low |= 1u << r;
}

static inline void forget_registers(struct eval_state *s, uint32_t mask)
{
	s->full &= ~mask;
	s->low &= ~mask;
}

static bool address_part(const struct eval_state *s, uint8_t reg, bool narrow, uint64_t *v)
{
	if (reg == DEC_NOREG) {
		*v = 0;
		return true;
	}
	if (reg >= WREG_MAX || !(narrow ? low(s, reg) : full(s, reg)))
		return false;
	*v = s->r[reg];
	return true;
}

bool eval_address(const struct eval_state *s, const struct dec_mem *m, uint64_t next_ip, uint64_t *addr)
{
	bool narrow = m->flags & DEC_M_ADDR32;
	uint64_t base, index, segment, a;

	if (m->base == WREG_IP)
		base = next_ip;
	else if (!address_part(s, m->base, narrow, &base))
		return false;
	if (!address_part(s, m->index, narrow, &index) || !address_part(s, m->segment, false, &segment))
		return false;
	a = base + index * m->scale + (uint64_t)m->disp;
	if (narrow)
		a = (uint32_t)a;
	*addr = a + segment;
	return true;
}

static bool overlaps(uint64_t a, uint64_t an, uint64_t b, uint64_t bn)
{
	return a < b + bn && b < a + an;
}

static bool from_snapshot(const struct eval_run *run, uint64_t addr, unsigned size, uint64_t *v)
{
	uint64_t off = addr - run->sp;

	if (!run->stack || addr < run->sp || off > run->stack_bytes || run->stack_bytes - off < size)
		return false;
	*v = 0;
	memcpy(v, run->stack + off, size);
	return true;
}

/* Whether instruction k may have stored into [addr, +size). */
static bool may_store(const struct eval_run *run, unsigned k, uint64_t addr, unsigned size)
{
	const struct dec_insn *d = &run->insn[k];

	if (d->flags & (DEC_F_MEM_OTHER | DEC_F_SYSCALL))
		return true;
	if (!(d->flags & DEC_F_STORES))
		return false;
	for (unsigned m = 0; m < d->mem_cnt; m++) {
		uint64_t a;

		if (!(d->mem[m].flags & DEC_M_STORE))
			continue;
		if (!d->mem[m].size || (d->mem[m].flags & (DEC_M_REP | DEC_M_VECTOR)) ||
		    !eval_address(&run->state[k], &d->mem[m], run->ip[k] + d->len, &a) ||
		    overlaps(a, d->mem[m].size, addr, size))
			return true;
	}
	return false;
}

/* 1: the store at k wrote exactly these bytes, *v is their value; 0: did not touch them; -1: unclear */
static int forwarded(const struct eval_run *run, unsigned k, uint64_t addr, unsigned size, uint64_t *v)
{
	const struct dec_insn *d = &run->insn[k];
	uint64_t a;

	if (!may_store(run, k, addr, size))
		return 0;
	if (d->store_src == DEC_NOREG || d->mem[0].size != size ||
	    !eval_address(&run->state[k], &d->mem[0], run->ip[k] + d->len, &a) || a != addr)
		return -1;
	if (!(size == 8 ? full(&run->state[k], d->store_src) : low(&run->state[k], d->store_src)))
		return -1;
	*v = run->state[k].r[d->store_src];
	if (size < 8)
		*v &= (1ull << (8 * size)) - 1;
	return 1;
}

/* What memory held when instruction i read it: written by an earlier instruction of the run, or in the
 * piece of stack that was seen at `at`, if nothing between the two can have changed it. */
static bool memory_at(const struct eval_run *run, unsigned i, uint64_t addr, unsigned size, uint64_t *v)
{
	for (unsigned k = i; k-- > 0;) {
		int f = forwarded(run, k, addr, size, v);

		if (f > 0)
			return true;
		if (f < 0)
			break;
		if (k == run->at && i > run->at)
			return from_snapshot(run, addr, size, v);
	}
	if (i > run->at)
		return false;
	for (unsigned k = i; k < run->at; k++)
		if (may_store(run, k, addr, size))
			return false;
	return from_snapshot(run, addr, size, v);
}

static uint64_t extend(uint64_t v, unsigned width, bool sign)
{
	if (width >= 8)
		return v;
	v &= (1ull << (8 * width)) - 1;
	if (sign && v >> (8 * width - 1))
		v |= ~0ull << (8 * width);
	return v;
}

static bool source_value(const struct eval_run *run, unsigned i, const struct eval_state *s, uint64_t *v)
{
	const struct dec_insn *d = &run->insn[i];
	const struct dec_effect *f = &d->effect;
	unsigned width = f->src_width < f->width ? f->src_width : f->width;
	uint64_t addr;

	switch (f->src_kind) {
	case DEC_SRC_IMM: *v = (uint64_t)f->imm; return true;
	case DEC_SRC_REG:
		if (!(width == 8 ? full(s, f->src) : low(s, f->src)))
			return false;
		*v = extend(s->r[f->src], width, f->sign);
		return true;
	case DEC_SRC_MEM:
		if (!f->src_width || f->src_width > 8 || !eval_address(s, &d->mem[0], run->ip[i] + d->len, &addr) ||
		    !memory_at(run, i, addr, f->src_width, v))
			return false;
		*v = extend(*v, f->src_width, f->sign);
		return true;
	default: return true;
	}
}

static bool compute(const struct dec_effect *f, uint64_t a, uint64_t b, uint64_t *v)
{
	unsigned bits = 8u * f->width, count = (unsigned)(b & (bits - 1));

	if (f->width == 4)
		a = (uint32_t)a;
	switch (f->op) {
	case DEC_OP_ADD: *v = a + b; break;
	case DEC_OP_SUB: *v = a - b; break;
	case DEC_OP_AND: *v = a & b; break;
	case DEC_OP_OR: *v = a | b; break;
	case DEC_OP_XOR: *v = a ^ b; break;
	case DEC_OP_SHL: *v = a << count; break;
	case DEC_OP_SHR: *v = a >> count; break;
	case DEC_OP_SAR: *v = f->width == 4 ? (uint64_t)((int32_t)a >> count) : (uint64_t)((int64_t)a >> count); break;
	case DEC_OP_IMUL: *v = a * b; break;
	case DEC_OP_NEG: *v = -a; break;
	case DEC_OP_NOT: *v = ~a; break;
	case DEC_OP_BSWAP: *v = f->width == 8 ? __builtin_bswap64(a) : __builtin_bswap32((uint32_t)a); break;
	default: return false;
	}
	return true;
}

static void apply_string(const struct eval_state *before, struct eval_state *after, const struct dec_insn *d)
{
	uint64_t n = 1;

	if (d->flags & DEC_F_REP) {
		if (!full(before, WREG_CX))
			return;
		n = before->r[WREG_CX];
		for (unsigned m = 0; m < d->mem_cnt; m++)
			if (d->mem[m].flags & DEC_M_STOP)
				return;
		set_register(after, WREG_CX, 0);
	}
	for (unsigned r = WREG_SI; r <= WREG_DI; r++) {
		uint64_t step = n * d->effect.width;

		if (!(d->writes >> r & 1) || !full(before, r))
			continue;
		set_register(after, r,
			     before->r[WREG_FLAGS] & EVAL_FLAG_DF ? before->r[r] - step : before->r[r] + step);
	}
}

/* State after instruction i from the state before it. */
static void apply_insn(const struct eval_run *run, unsigned i, const struct eval_state *s, struct eval_state *out)
{
	const struct dec_insn *d = &run->insn[i];
	const struct dec_effect *f = &d->effect;
	uint64_t a = 0, b = 0, v = 0;

	*out = *s;
	forget_registers(out, d->writes);
	if ((d->flags & DEC_F_KNOWN_SP) && full(s, WREG_SP))
		out->r[WREG_SP] = s->r[WREG_SP] + (uint64_t)(int64_t)d->sp_delta;
	switch (f->op) {
	case DEC_OP_NONE: return;
	case DEC_OP_LEAVE:
		if (!full(s, WREG_BP))
			return;
		set_register(out, WREG_SP, s->r[WREG_BP] + 8);
		if (memory_at(run, i, s->r[WREG_BP], 8, &v))
			set_register(out, WREG_BP, v);
		return;
	case DEC_OP_STRING: apply_string(s, out, d); return;
	case DEC_OP_XCHG:
		if (full(s, f->src))
			set_register(out, f->dst, s->r[f->src]);
		if (full(s, f->dst))
			set_register(out, f->src, s->r[f->dst]);
		return;
	case DEC_OP_LEA:
		if (f->width == 4) {
			struct dec_mem m = d->mem[DEC_MAX_MEM - 1];

			m.flags |= DEC_M_ADDR32; /* only the low half is kept */
			if (eval_address(s, &m, run->ip[i] + d->len, &v))
				set_register(out, f->dst, (uint32_t)v);
		} else if (eval_address(s, &d->mem[DEC_MAX_MEM - 1], run->ip[i] + d->len, &v)) {
			set_register(out, f->dst, v);
		}
		return;
	case DEC_OP_MOV:
		if (source_value(run, i, s, &v))
			set_register(out, f->dst, f->width == 4 ? (uint32_t)v : v);
		return;
	default: break;
	}
	if (!source_value(run, i, s, &b))
		return;
	if (f->mul3) {
		a = (uint64_t)f->imm;
	} else {
		if (!(f->width == 8 ? full(s, f->dst) : low(s, f->dst)))
			return;
		a = s->r[f->dst];
	}
	if (compute(f, a, b, &v))
		set_register(out, f->dst, f->width == 4 ? (uint32_t)v : v);
}

static void invert_lea(const struct dec_insn *d, const struct eval_state *a, struct eval_state *b)
{
	const struct dec_mem *m = &d->mem[DEC_MAX_MEM - 1];
	unsigned dst = d->effect.dst;
	uint64_t v;

	if (d->effect.width != 8 || (m->flags & DEC_M_ADDR32) || !full(a, dst) || m->base >= WREG_IP)
		return;
	v = a->r[dst] - (uint64_t)m->disp;
	if (m->index == DEC_NOREG)
		set_register(b, m->base, v); /* also when base is not dst: it has not changed since */
	else if (m->base == dst && m->index != dst && full(b, m->index))
		set_register(b, dst, v - b->r[m->index] * m->scale);
	else if (m->index == dst && m->base != dst && m->scale == 1 && full(b, m->base))
		set_register(b, dst, v - b->r[m->base]);
	else if (m->base != dst && m->index != dst && full(b, m->index))
		set_register(b, m->base, v - b->r[m->index] * m->scale);
}

/* State before instruction i from the state after it. */
static void invert(const struct eval_run *run, unsigned i, const struct eval_state *a, struct eval_state *b)
{
	const struct dec_insn *d = &run->insn[i];
	const struct dec_effect *f = &d->effect;
	uint64_t src = 0, v;
	bool wide = f->width == 8;

	*b = *a;
	forget_registers(b, d->writes);
	if ((d->flags & DEC_F_KNOWN_SP) && full(a, WREG_SP))
		b->r[WREG_SP] = a->r[WREG_SP] - (uint64_t)(int64_t)d->sp_delta;
	switch (f->op) {
	case DEC_OP_NONE: return;
	case DEC_OP_LEAVE:
		if (full(a, WREG_SP))
			set_register(b, WREG_BP, a->r[WREG_SP] - 8);
		return;
	case DEC_OP_STRING:
		if (d->flags & DEC_F_REP)
			return;
		for (unsigned r = WREG_SI; r <= WREG_DI; r++) {
			if (!(d->writes >> r & 1) || !full(a, r))
				continue;
			v = a->r[WREG_FLAGS] & EVAL_FLAG_DF ? a->r[r] + f->width : a->r[r] - f->width;
			set_register(b, r, v);
		}
		return;
	case DEC_OP_XCHG:
		if (full(a, f->src))
			set_register(b, f->dst, a->r[f->src]);
		if (full(a, f->dst))
			set_register(b, f->src, a->r[f->dst]);
		return;
	case DEC_OP_LEA: invert_lea(d, a, b); return;
	case DEC_OP_MOV:
		if (f->src_kind != DEC_SRC_REG || f->src == f->dst || f->src_width < 4)
			return;
		if (wide && f->src_width == 8 && full(a, f->dst))
			set_register(b, f->src, a->r[f->dst]);
		else if (low(a, f->dst))
			set_low(b, f->src, a->r[f->dst]);
		return;
	default: break;
	}
	if (!(wide ? full(a, f->dst) : low(a, f->dst)) || f->mul3)
		return;
	v = a->r[f->dst];
	if (f->src_kind == DEC_SRC_IMM)
		src = (uint64_t)f->imm;
	else if (f->src_kind == DEC_SRC_REG && f->src != f->dst && (wide ? full(b, f->src) : low(b, f->src)))
		src = b->r[f->src];
	else if (f->src_kind != DEC_SRC_NONE)
		return;
	switch (f->op) {
	case DEC_OP_ADD: v -= src; break;
	case DEC_OP_SUB: v += src; break;
	case DEC_OP_XOR: v ^= src; break;
	case DEC_OP_NEG: v = -v; break;
	case DEC_OP_NOT: v = ~v; break;
	case DEC_OP_BSWAP: v = wide ? __builtin_bswap64(v) : __builtin_bswap32((uint32_t)v); break;
	default: return;
	}
	if (wide)
		set_register(b, f->dst, v);
	else
		set_low(b, f->dst, v);
}

static void merge_states(struct eval_state *into, const struct eval_state *from)
{
	uint32_t more = from->full & ~into->full;

	for (unsigned r = 0; more; r++, more >>= 1)
		if (more & 1)
			set_register(into, r, from->r[r]);
	more = from->low & ~into->low;
	for (unsigned r = 0; more; r++, more >>= 1)
		if (more & 1)
			set_low(into, r, from->r[r]);
}

void eval_run(const struct eval_run *run, const uint64_t *regs)
{
	struct eval_state *st = run->state, t;

	st[run->at].full = st[run->at].low = (1u << WREG_MAX) - 1;
	memcpy(st[run->at].r, regs, sizeof(st->r));
	for (unsigned i = run->at; i-- > 0;)
		invert(run, i, &st[i + 1], &st[i]);
	/* What is computed inside the run from what was known at its start. */
	for (unsigned i = 0; i < run->at; i++) {
		apply_insn(run, i, &st[i], &t);
		merge_states(&st[i + 1], &t);
	}
	for (unsigned i = run->at; i < run->count; i++)
		apply_insn(run, i, &st[i], &st[i + 1]);
}
