// SPDX-License-Identifier: GPL-2.0-or-later
/* Operands of instructions on general registers: where they lie, what they hold, and the flags that results leave. */
#include "emu/emu_ops.h"

bool emu_address(const struct emu_state *s, const struct emu_operand *o, uint64_t next, uint64_t *addr)
{
	uint64_t a = (uint64_t)o->value;

	if (o->strange)
		return false;
	if (o->reg == WREG_IP) {
		a += next;
	} else if (o->reg != EMU_NOREG) {
		if (!(s->known >> o->reg & 1))
			return false;
		a += s->r[o->reg];
	}
	if (o->index != EMU_NOREG) {
		if (!(s->known >> o->index & 1))
			return false;
		a += s->r[o->index] * o->scale;
	}
	if (o->narrow)
		a = (uint32_t)a;
	if (o->segment != EMU_NOREG) {
		if (!(s->known >> o->segment & 1))
			return false;
		a += s->r[o->segment];
	}
	*addr = a;
	return true;
}

/* ---- operands ---- */

enum emu_outcome emu_load_at(struct emu_memory *m, uint64_t addr, unsigned size, struct emu_value *out)
{
	uint64_t known;

	out->v = 0;
	if (size > 8 || !emu_mem_read(m, addr, &out->v, size, &known))
		return EMU_O_FAULT;
	out->known = known == (1ull << size) - 1;
	return EMU_OK;
}

enum emu_outcome emu_load(const struct emu_state *s, struct emu_memory *m, const struct emu_insn *i,
			  const struct emu_operand *o, struct emu_value *out)
{
	uint64_t addr;

	*out = (struct emu_value){ 0 };
	switch (o->kind) {
	case EMU_K_REG:
		*out = (struct emu_value){ s->r[o->reg] & width_mask(o->size), s->known >> o->reg & 1 };
		return EMU_OK;
	case EMU_K_HIGH: *out = (struct emu_value){ s->r[o->reg] >> 8 & 0xff, s->known >> o->reg & 1 }; return EMU_OK;
	case EMU_K_IMM: *out = (struct emu_value){ (uint64_t)o->value, true }; return EMU_OK;
	case EMU_K_MEM:
		if (o->size > 8)
			return EMU_O_NO_RULE;
		return emu_address(s, o, s->r[WREG_IP] + i->len, &addr) ? emu_load_at(m, addr, o->size, out) : EMU_OK;
	default: return EMU_O_NO_RULE;
	}
}

void emu_set(struct emu_state *s, unsigned reg, unsigned size, struct emu_value v)
{
	bool old = s->known >> reg & 1;

	if (size >= 4)
		s->r[reg] = size == 4 ? (uint32_t)v.v : v.v;
	else
		s->r[reg] = (s->r[reg] & ~width_mask(size)) | (v.v & width_mask(size));
	s->known &= ~(1u << reg);
	s->known |= (uint32_t)(v.known && (size >= 4 || old)) << reg;
}

enum emu_outcome emu_store(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i,
			   const struct emu_operand *o, struct emu_value v)
{
	uint64_t addr;

	switch (o->kind) {
	case EMU_K_REG: emu_set(s, o->reg, o->size, v); return EMU_OK;
	case EMU_K_HIGH:
		s->r[o->reg] = (s->r[o->reg] & ~0xff00ull) | (v.v & 0xff) << 8;
		if (!v.known)
			s->known &= ~(1u << o->reg);
		return EMU_OK;
	case EMU_K_MEM:
		/* stored nobody knows where: what lies there is taken for unchanged */
		if (!emu_address(s, o, s->r[WREG_IP] + i->len, &addr))
			return EMU_OK;
		return o->size <= 8 && emu_mem_write(m, addr, &v.v, o->size, v.known ? ~0ull : 0) ? EMU_OK
												  : EMU_O_FAULT;
	default: return EMU_O_NO_RULE;
	}
}

/* ---- flags ---- */

void emu_flags(struct emu_state *s, uint8_t which, uint8_t value, bool known)
{
	s->flags = (uint8_t)((s->flags & ~which) | (value & which));
	s->flags_known = (uint8_t)(known ? s->flags_known | which : s->flags_known & ~which);
}

uint8_t emu_result_flags(uint64_t r, unsigned width)
{
	r &= width_mask(width);
	return (uint8_t)((r ? 0 : EMU_ZF) | (r & sign_of(width) ? EMU_SF : 0) |
			 (__builtin_parity((uint8_t)r) ? 0 : EMU_PF));
}

uint64_t emu_add(struct emu_state *s, struct emu_value a, struct emu_value b, bool carry, unsigned w, bool known)
{
	uint64_t mask = width_mask(w), x = a.v & mask, y = b.v & mask, r = (x + y + carry) & mask;
	uint8_t f = emu_result_flags(r, w);

	f |= r < x || (carry && r == x) ? EMU_CF : 0;
	f |= (x ^ r) & (y ^ r) & sign_of(w) ? EMU_OF : 0;
	f |= (x ^ y ^ r) & 16 ? EMU_AF : 0;
	emu_flags(s, EMU_ARITH, f, known);
	return r;
}

uint64_t emu_subtract(struct emu_state *s, struct emu_value a, struct emu_value b, bool borrow, unsigned w, bool known)
{
	uint64_t mask = width_mask(w), x = a.v & mask, y = b.v & mask, r = (x - y - borrow) & mask;
	uint8_t f = emu_result_flags(r, w);

	f |= x < y || (borrow && x == y) ? EMU_CF : 0;
	f |= (x ^ y) & (x ^ r) & sign_of(w) ? EMU_OF : 0;
	f |= (x ^ y ^ r) & 16 ? EMU_AF : 0;
	emu_flags(s, EMU_ARITH, f, known);
	return r;
}

void emu_compare(struct emu_state *s, struct emu_value a, struct emu_value b, unsigned width)
{
	emu_subtract(s, a, b, false, width, a.known && b.known);
}

int emu_condition(const struct emu_state *s, uint8_t cond)
{
	static const uint8_t needs[8] = { EMU_OF, EMU_CF, EMU_ZF,          EMU_CF | EMU_ZF,
					  EMU_SF, EMU_PF, EMU_SF | EMU_OF, EMU_SF | EMU_OF | EMU_ZF };
	uint8_t need = needs[cond >> 1 & 7], f = s->flags;
	bool less = !(f & EMU_SF) != !(f & EMU_OF), v;

	if ((s->flags_known & need) != need) {
		/* one of two may be enough */
		if ((cond >> 1 & 7) == 3 && (s->flags_known & f & need))
			return !(cond & 1);
		if ((cond >> 1 & 7) == 7 && (s->flags_known & f & EMU_ZF))
			return !(cond & 1);
		return -1;
	}
	switch (cond >> 1 & 7) {
	case 6: v = less; break;
	case 7: v = less || f & EMU_ZF; break;
	default: v = f & need; break;
	}
	return v != (cond & 1);
}

/* As in emu_int.c, where all is known; the shift is by as many bits as there are, at most. */
static void settle_shift(struct emu_state *s, enum emu_lazy of, unsigned w)
{
	uint64_t a = s->lazy_a, r = s->lazy_r >> (64 - 8 * w), n = s->lazy_b;
	uint8_t f = 0;

	switch (of) {
	case EMU_LAZY_SHL:
		f = a >> (8 * w - n) & 1 ? EMU_CF : 0;
		f |= !(r & sign_of(w)) != !(f & EMU_CF) ? EMU_OF : 0;
		break;
	case EMU_LAZY_SHR:
		f = a >> (n - 1) & 1 ? EMU_CF : 0;
		f |= a & sign_of(w) ? EMU_OF : 0;
		break;
	default: f = extended(a, w) >> (n - 1) & 1 ? EMU_CF : 0; break;
	}
	emu_flags(s, EMU_ARITH, (uint8_t)(f | emu_result_flags(r, w)), true);
	emu_flags(s, n == 1 ? EMU_AF : EMU_AF | EMU_OF, 0, false);
}

void emu_settle_flags(struct emu_state *s)
{
	enum emu_lazy of = s->lazy;
	unsigned w = s->lazy_width, shift = 64 - 8 * w;

	if (of == EMU_LAZY_NONE)
		return;
	s->lazy = EMU_LAZY_NONE;
	if (of >= EMU_LAZY_SHL) {
		settle_shift(s, of, w);
		return;
	}
	if (of == EMU_LAZY_LOGIC) {
		emu_flags(s, EMU_ARITH, emu_result_flags(s->lazy_r >> shift, w), true);
		emu_flags(s, EMU_AF, 0, false);
		return;
	}
	(of == EMU_LAZY_ADD ? emu_add : emu_subtract)(s, (struct emu_value){ s->lazy_a >> shift, true },
						      (struct emu_value){ s->lazy_b >> shift, true }, false, w, true);
}
