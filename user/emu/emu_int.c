// SPDX-License-Identifier: GPL-2.0-or-later
/* What instructions on general registers do. Flags that the manuals leave undefined become unknown. */
#include <string.h>

#include "emu/emu_ops.h"

/* ---- arithmetic ---- */

static bool same_register(const struct emu_insn *i)
{
	return i->o[0].kind == EMU_K_REG && i->o[1].kind == EMU_K_REG && i->o[0].reg == i->o[1].reg;
}

static enum emu_outcome two(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size;
	struct emu_value a, b, r = { 0 };
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &a);
	bool carry = s->flags & EMU_CF;

	rc = rc ? rc : emu_load(s, m, i, &i->o[1], &b);
	if (rc)
		return rc;
	/* whatever it was */
	if (same_register(i) &&
	    (i->op == EMU_OP_XOR || i->op == EMU_OP_SUB || i->op == EMU_OP_SBB || i->op == EMU_OP_CMP)) {
		a = b = (struct emu_value){ 0, true };
	} else if (i->op == EMU_OP_AND && ((a.known && !a.v) || (b.known && !(b.v & width_mask(w))))) {
		a = b = (struct emu_value){ 0, true };
	} else if (i->op == EMU_OP_OR && b.known && (b.v & width_mask(w)) == width_mask(w)) {
		a.known = true;
	}
	r.known = a.known && b.known;
	if (i->op == EMU_OP_ADC || i->op == EMU_OP_SBB)
		r.known &= s->flags_known & EMU_CF;
	switch (i->op) {
	case EMU_OP_ADD: r.v = emu_add(s, a, b, false, w, r.known); break;
	case EMU_OP_ADC: r.v = emu_add(s, a, b, carry, w, r.known); break;
	case EMU_OP_SUB:
	case EMU_OP_CMP: r.v = emu_subtract(s, a, b, false, w, r.known); break;
	case EMU_OP_SBB: r.v = emu_subtract(s, a, b, carry, w, r.known); break;
	case EMU_OP_AND:
	case EMU_OP_TEST: r.v = a.v & b.v; break;
	case EMU_OP_OR: r.v = a.v | b.v; break;
	case EMU_OP_XOR: r.v = a.v ^ b.v; break;
	default: return EMU_O_NO_RULE;
	}
	if (i->op >= EMU_OP_AND && i->op <= EMU_OP_XOR) {
		emu_flags(s, EMU_ARITH, emu_result_flags(r.v, w), r.known);
		emu_flags(s, EMU_AF, 0, false);
	}
	return i->op == EMU_OP_CMP || i->op == EMU_OP_TEST ? EMU_OK : emu_store(s, m, i, &i->o[0], r);
}

static enum emu_outcome one_operand(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size;
	struct emu_value a, unit = { 1, true }, zero = { 0, true };
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &a);
	uint8_t carry = s->flags & EMU_CF;
	bool carry_known = s->flags_known & EMU_CF, known = a.known;

	if (rc)
		return rc;
	switch (i->op) {
	case EMU_OP_NOT: a.v = ~a.v; break;
	case EMU_OP_NEG: a.v = emu_subtract(s, zero, a, false, w, known); break;
	case EMU_OP_INC:
	case EMU_OP_DEC:
		a.v = i->op == EMU_OP_INC ? emu_add(s, a, unit, false, w, known)
					  : emu_subtract(s, a, unit, false, w, known);
		emu_flags(s, EMU_CF, carry, carry_known);
		break;
	case EMU_OP_BSWAP:
		a.v = w == 8 ? __builtin_bswap64(a.v) : __builtin_bswap32((uint32_t)a.v);
		a.known &= w >= 4;
		break;
	default: return EMU_O_NO_RULE;
	}
	return emu_store(s, m, i, &i->o[0], a);
}

static uint64_t rotated_left(uint64_t v, unsigned n, unsigned bits)
{
	n %= bits;
	return n ? (v << n | v >> (bits - n)) & (bits == 64 ? ~0ull : (1ull << bits) - 1) : v;
}

static enum emu_outcome shift_integer(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w, n;
	struct emu_value a, by, r;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &a);
	uint8_t f = 0;

	rc = rc ? rc : emu_load(s, m, i, &i->o[1], &by);
	if (rc)
		return rc;
	if (!by.known) {
		emu_flags(s, i->op == EMU_OP_ROL || i->op == EMU_OP_ROR ? EMU_CF | EMU_OF : EMU_ARITH, 0, false);
		return emu_store(s, m, i, &i->o[0], (struct emu_value){ 0 });
	}
	n = (unsigned)by.v & (w == 8 ? 63 : 31);
	if (!n) {
		/* 32 bits of a register are extended all the same */
		return emu_store(s, m, i, &i->o[0], a);
	}
	r.known = a.known;
	switch (i->op) {
	case EMU_OP_SHL:
		r.v = n < bits ? a.v << n & width_mask(w) : 0;
		f = n <= bits && a.v >> (bits - n) & 1 ? EMU_CF : 0;
		f |= !(r.v & sign_of(w)) != !(f & EMU_CF) ? EMU_OF : 0;
		break;
	case EMU_OP_SHR:
		r.v = n < bits ? a.v >> n : 0;
		f = n <= bits && a.v >> (n - 1) & 1 ? EMU_CF : 0;
		f |= a.v & sign_of(w) ? EMU_OF : 0;
		break;
	case EMU_OP_SAR:
		r.v = (uint64_t)(extended(a.v, w) >> (n < 64 ? n : 63)) & width_mask(w);
		f = extended(a.v, w) >> (n - 1) & 1 ? EMU_CF : 0;
		break;
	case EMU_OP_ROL:
		r.v = rotated_left(a.v, n, bits);
		f = r.v & 1 ? EMU_CF : 0;
		f |= !(r.v & sign_of(w)) != !(f & EMU_CF) ? EMU_OF : 0;
		break;
	case EMU_OP_ROR:
		r.v = rotated_left(a.v, bits - n % bits, bits);
		f = r.v & sign_of(w) ? EMU_CF : 0;
		f |= !(r.v & sign_of(w)) != !(r.v & sign_of(w) >> 1) ? EMU_OF : 0;
		break;
	default: return EMU_O_NO_RULE;
	}
	if (i->op != EMU_OP_ROL && i->op != EMU_OP_ROR) {
		emu_flags(s, EMU_ZF | EMU_SF | EMU_PF, emu_result_flags(r.v, w), a.known);
		emu_flags(s, EMU_AF, 0, false);
	}
	emu_flags(s, EMU_CF, f,
		  a.known && (n <= bits || i->op == EMU_OP_ROL || i->op == EMU_OP_ROR || i->op == EMU_OP_SAR));
	emu_flags(s, EMU_OF, f, a.known && n == 1);
	return emu_store(s, m, i, &i->o[0], r);
}

static enum emu_outcome shift_double(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w, n;
	struct emu_value a, b, by, r;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &a);
	bool left = i->op == EMU_OP_SHLD, cf;

	rc = rc ? rc : emu_load(s, m, i, &i->o[1], &b);
	rc = rc ? rc : emu_load(s, m, i, &i->o[2], &by);
	if (rc)
		return rc;
	n = (unsigned)by.v & (w == 8 ? 63 : 31);
	if (!by.known || n >= bits) {
		emu_flags(s, EMU_ARITH, 0, false);
		return emu_store(s, m, i, &i->o[0], (struct emu_value){ 0 });
	}
	if (!n)
		return emu_store(s, m, i, &i->o[0], a);
	r.known = a.known && b.known;
	r.v = (left ? a.v << n | b.v >> (bits - n) : a.v >> n | b.v << (bits - n)) & width_mask(w);
	cf = left ? a.v >> (bits - n) & 1 : a.v >> (n - 1) & 1;
	emu_flags(s, EMU_ZF | EMU_SF | EMU_PF, emu_result_flags(r.v, w), r.known);
	emu_flags(s, EMU_CF, cf ? EMU_CF : 0, a.known);
	emu_flags(s, EMU_OF, (r.v ^ a.v) & sign_of(w) ? EMU_OF : 0, r.known && n == 1);
	emu_flags(s, EMU_AF, 0, false);
	return emu_store(s, m, i, &i->o[0], r);
}

/* ---- multiplication, division ---- */

static enum emu_outcome imul(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	const struct emu_operand *first = i->ops == 3 ? &i->o[1] : &i->o[0],
				 *second = i->ops == 3 ? &i->o[2] : &i->o[1];
	unsigned w = i->o[0].size;
	struct emu_value a, b, r;
	enum emu_outcome rc = emu_load(s, m, i, first, &a);
	__int128 wide;
	bool over;

	rc = rc ? rc : emu_load(s, m, i, second, &b);
	if (rc)
		return rc;
	wide = (__int128)extended(a.v, w) * extended(b.v, w);
	r = (struct emu_value){ (uint64_t)wide & width_mask(w), a.known && b.known };
	over = wide != extended(r.v, w);
	emu_flags(s, EMU_ARITH, 0, false);
	emu_flags(s, EMU_CF | EMU_OF, over ? EMU_CF | EMU_OF : 0, r.known);
	return emu_store(s, m, i, &i->o[0], r);
}

static void set_wide(struct emu_state *s, unsigned w, uint64_t low, uint64_t high, bool known)
{
	if (w == 1) {
		emu_set(s, WREG_AX, 2, (struct emu_value){ (low & 0xff) | (high & 0xff) << 8, known });
		return;
	}
	emu_set(s, WREG_AX, w, (struct emu_value){ low, known });
	emu_set(s, WREG_DX, w, (struct emu_value){ high, known });
}

static enum emu_outcome multiply(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w;
	bool is_signed = i->op == EMU_OP_IMUL_WIDE, over;
	struct emu_value a, b = { s->r[WREG_AX] & width_mask(w), s->known >> WREG_AX & 1 };
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &a);
	unsigned __int128 wide;
	uint64_t low, high;

	if (rc)
		return rc;
	wide = is_signed ? (unsigned __int128)((__int128)extended(a.v, w) * extended(b.v, w))
			 : (unsigned __int128)a.v * b.v;
	low = (uint64_t)wide & width_mask(w);
	high = (uint64_t)(wide >> bits) & width_mask(w);
	over = is_signed ? (__int128)wide != extended(low, w) : high;
	set_wide(s, w, low, high, a.known && b.known);
	emu_flags(s, EMU_ARITH, 0, false);
	emu_flags(s, EMU_CF | EMU_OF, over ? EMU_CF | EMU_OF : 0, a.known && b.known);
	return EMU_OK;
}

static enum emu_outcome divide(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w;
	uint32_t need = w == 1 ? 1u << WREG_AX : 1u << WREG_AX | 1u << WREG_DX;
	struct emu_value b;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &b);
	unsigned __int128 n, q, r;

	if (rc)
		return rc;
	emu_flags(s, EMU_ARITH, 0, false);
	if (!b.known || (s->known & need) != need) {
		set_wide(s, w, 0, 0, false);
		return EMU_OK;
	}
	if (!(b.v &= width_mask(w)))
		return EMU_O_TRAP;
	if (w == 1)
		n = s->r[WREG_AX] & 0xffff;
	else
		n = (unsigned __int128)(s->r[WREG_DX] & width_mask(w)) << bits | (s->r[WREG_AX] & width_mask(w));
	if (i->op == EMU_OP_DIV) {
		q = n / b.v;
		r = n % b.v;
		if (q > width_mask(w))
			return EMU_O_TRAP;
	} else {
		__int128 sn = w == 8 ? (__int128)n : (__int128)extended((uint64_t)n, 2 * w), sb = extended(b.v, w), sq;

		/* the one quotient that has no room at all */
		if (sb == -1 && sn == (__int128)((unsigned __int128)1 << 127))
			return EMU_O_TRAP;
		sq = sn / sb;
		q = (unsigned __int128)sq;
		r = (unsigned __int128)(sn % sb);
		if (sq != extended((uint64_t)q, w))
			return EMU_O_TRAP;
	}
	set_wide(s, w, (uint64_t)q & width_mask(w), (uint64_t)r & width_mask(w), true);
	return EMU_OK;
}

/* ---- bits ---- */

static enum emu_outcome bit_test(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w, n;
	struct emu_operand o = i->o[0];
	struct emu_value a, at;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[1], &at);

	if (rc)
		return rc;
	if (o.kind == EMU_K_MEM && i->o[1].kind == EMU_K_REG) {
		/* a string of bits: the address moves */
		if (!at.known)
			o.strange = true;
		else
			o.value += (extended(at.v, w) >> (w == 8 ? 6 : w == 4 ? 5 : 4)) * (int64_t)w;
	}
	rc = emu_load(s, m, i, &o, &a);
	if (rc)
		return rc;
	n = (unsigned)at.v & (bits - 1);
	emu_flags(s, EMU_OF | EMU_SF | EMU_AF | EMU_PF, 0, false);
	emu_flags(s, EMU_CF, a.v >> n & 1 ? EMU_CF : 0, a.known && at.known);
	a.known &= at.known;
	switch (i->op) {
	case EMU_OP_BT: return EMU_OK;
	case EMU_OP_BTS: a.v |= 1ull << n; break;
	case EMU_OP_BTR: a.v &= ~(1ull << n); break;
	default: a.v ^= 1ull << n; break;
	}
	return emu_store(s, m, i, &o, a);
}

static enum emu_outcome bit_scan(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w;
	struct emu_value a, r;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[1], &a);
	uint8_t f = 0;

	if (rc)
		return rc;
	a.v &= width_mask(w);
	r.known = a.known;
	emu_flags(s, EMU_ARITH, 0, false);
	switch (i->op) {
	case EMU_OP_BSF:
	case EMU_OP_BSR:
		emu_flags(s, EMU_ZF, a.v ? 0 : EMU_ZF, a.known);
		/* its register stays as it is, and libc relies on it; of 64 bits the high ones need not */
		if (a.known && !a.v) {
			if (i->o[0].size == 4 && s->r[i->o[0].reg] >> 32)
				s->known &= ~(1u << i->o[0].reg);
			return EMU_OK;
		}
		r.v = !a.v                  ? 0
		      : i->op == EMU_OP_BSF ? (unsigned)__builtin_ctzll(a.v)
					    : 63u - (unsigned)__builtin_clzll(a.v);
		break;
	case EMU_OP_POPCNT:
		r.v = (unsigned)__builtin_popcountll(a.v);
		emu_flags(s, EMU_ARITH, a.v ? 0 : EMU_ZF, a.known);
		break;
	default:
		r.v = !a.v                    ? bits
		      : i->op == EMU_OP_TZCNT ? (unsigned)__builtin_ctzll(a.v)
					      : (unsigned)__builtin_clzll(a.v) - (64 - bits);
		f = (a.v ? 0 : EMU_CF) | (r.v ? 0 : EMU_ZF);
		emu_flags(s, EMU_CF | EMU_ZF, f, a.known);
		break;
	}
	return emu_store(s, m, i, &i->o[0], r);
}

/* Those with a destination of their own. */
static enum emu_outcome bmi(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size, bits = 8 * w, n;
	struct emu_value a, b = { 0, true }, r;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[1], &a);
	uint8_t f = 0;

	if (!rc && i->ops > 2)
		rc = emu_load(s, m, i, &i->o[2], &b);
	if (rc)
		return rc;
	r.known = a.known && b.known;
	n = (unsigned)b.v & (bits - 1);
	switch (i->op) {
	case EMU_OP_ANDN: r.v = ~a.v & b.v; break;
	case EMU_OP_BLSR:
		r.v = a.v & (a.v - 1);
		f = a.v ? 0 : EMU_CF;
		break;
	case EMU_OP_BLSI:
		r.v = a.v & -a.v;
		f = a.v ? EMU_CF : 0;
		break;
	case EMU_OP_BLSMSK:
		r.v = a.v ^ (a.v - 1);
		f = a.v ? 0 : EMU_CF;
		break;
	case EMU_OP_BZHI:
		r.v = (b.v & 0xff) < bits ? a.v & ((1ull << (b.v & 0xff)) - 1) : a.v;
		f = (b.v & 0xff) < bits ? 0 : EMU_CF;
		break;
	case EMU_OP_SHLX: r.v = a.v << n; break;
	case EMU_OP_SHRX: r.v = a.v >> n; break;
	case EMU_OP_SARX: r.v = (uint64_t)(extended(a.v, w) >> n); break;
	case EMU_OP_RORX: r.v = rotated_left(a.v, bits - n, bits); break;
	default: return EMU_O_NO_RULE;
	}
	r.v &= width_mask(w);
	if (i->op <= EMU_OP_BZHI) {
		emu_flags(s, EMU_CF | EMU_OF | EMU_ZF | EMU_SF,
			  (uint8_t)(f | (emu_result_flags(r.v, w) & (EMU_ZF | EMU_SF))), r.known);
		emu_flags(s, EMU_AF | EMU_PF, 0, false);
	}
	return emu_store(s, m, i, &i->o[0], r);
}

static enum emu_outcome mulx(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size;
	struct emu_value a, d = { s->r[WREG_DX] & width_mask(w), s->known >> WREG_DX & 1 };
	enum emu_outcome rc = emu_load(s, m, i, &i->o[2], &a);
	unsigned __int128 wide = (unsigned __int128)a.v * d.v;
	bool known = a.known && d.known;

	if (rc)
		return rc;
	emu_store(s, m, i, &i->o[1], (struct emu_value){ (uint64_t)wide & width_mask(w), known });
	return emu_store(s, m, i, &i->o[0], (struct emu_value){ (uint64_t)(wide >> 8 * w) & width_mask(w), known });
}

/* ---- moves ---- */

static enum emu_outcome move_integer(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	struct emu_value v, old;
	enum emu_outcome rc = EMU_OK;
	int cond;

	switch (i->op) {
	case EMU_OP_LEA: {
		struct emu_operand o = i->o[1];

		o.segment = EMU_NOREG;
		v.known = emu_address(s, &o, s->r[WREG_IP] + i->len, &v.v);
		v.v = v.known ? v.v : 0;
		break;
	}
	case EMU_OP_SETCC:
		cond = emu_condition(s, i->cond);
		v = (struct emu_value){ cond > 0, cond >= 0 };
		break;
	case EMU_OP_CMOV:
		cond = emu_condition(s, i->cond);
		rc = emu_load(s, m, i, &i->o[1], &v);
		rc = rc ? rc : emu_load(s, m, i, &i->o[0], &old);
		if (rc)
			return rc;
		if (cond < 0)
			v.known &= old.known && old.v == v.v;
		else if (!cond)
			v = old;
		break;
	default:
		rc = emu_load(s, m, i, &i->o[1], &v);
		if (i->op == EMU_OP_MOVBE)
			v.v = __builtin_bswap64(v.v) >> (64 - 8 * i->o[1].size);
		if (i->op == EMU_OP_MOVSX)
			v.v = (uint64_t)extended(v.v, i->o[1].size);
		break;
	}
	return rc ? rc : emu_store(s, m, i, &i->o[0], v);
}

static enum emu_outcome exchange_operands(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->o[0].size;
	struct emu_value a, b, acc = { s->r[WREG_AX] & width_mask(w), s->known >> WREG_AX & 1 }, sum;
	enum emu_outcome rc = emu_load(s, m, i, &i->o[0], &a);

	rc = rc ? rc : emu_load(s, m, i, &i->o[1], &b);
	if (rc)
		return rc;
	if (i->op == EMU_OP_CMPXCHG) {
		emu_compare(s, acc, a, w);
		if (!acc.known || !a.known) {
			emu_set(s, WREG_AX, w, (struct emu_value){ 0 });
			return emu_store(s, m, i, &i->o[0], (struct emu_value){ 0 });
		}
		if (acc.v == a.v)
			return emu_store(s, m, i, &i->o[0], b);
		emu_set(s, WREG_AX, w, a);
		return EMU_OK;
	}
	sum = b;
	if (i->op == EMU_OP_XADD) {
		sum.known = a.known && b.known;
		sum.v = emu_add(s, a, b, false, w, sum.known);
	}
	/* the first operand last: it wins where both are the same */
	rc = emu_store(s, m, i, &i->o[1], a);
	return rc ? rc : emu_store(s, m, i, &i->o[0], sum);
}

enum emu_outcome emu_push(struct emu_state *s, struct emu_memory *m, struct emu_value v, unsigned w)
{
	if (!(s->known >> WREG_SP & 1))
		return EMU_O_FAULT;
	if (!emu_mem_write(m, s->r[WREG_SP] - w, &v.v, w, v.known ? ~0ull : 0))
		return EMU_O_FAULT;
	s->r[WREG_SP] -= w;
	return EMU_OK;
}

enum emu_outcome emu_pop(struct emu_state *s, struct emu_memory *m, struct emu_value *v, unsigned w)
{
	enum emu_outcome rc;

	if (!(s->known >> WREG_SP & 1))
		return EMU_O_FAULT;
	rc = emu_load_at(m, s->r[WREG_SP], w, v);
	if (!rc)
		s->r[WREG_SP] += w;
	return rc;
}

static enum emu_outcome push_or_pop(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	unsigned w = i->width == 2 ? 2 : 8;
	struct emu_value v;
	enum emu_outcome rc;

	switch (i->op) {
	case EMU_OP_PUSH: rc = emu_load(s, m, i, &i->o[0], &v); return rc ? rc : emu_push(s, m, v, w);
	case EMU_OP_POP: rc = emu_pop(s, m, &v, w); return rc ? rc : emu_store(s, m, i, &i->o[0], v);
	default: /* leave */
		emu_set(s, WREG_SP, 8, (struct emu_value){ s->r[WREG_BP], s->known >> WREG_BP & 1 });
		rc = emu_pop(s, m, &v, 8);
		if (!rc)
			emu_set(s, WREG_BP, 8, v);
		return rc;
	}
}

static void extend_accumulator(struct emu_state *s, const struct emu_insn *i)
{
	unsigned w = i->width;
	bool known = s->known >> WREG_AX & 1;

	if (i->op == EMU_OP_CBW)
		emu_set(s, WREG_AX, w, (struct emu_value){ (uint64_t)extended(s->r[WREG_AX], w / 2), known });
	else
		emu_set(s, WREG_DX, w, (struct emu_value){ extended(s->r[WREG_AX], w) < 0 ? ~0ull : 0, known });
}

enum emu_outcome emu_forget_written(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	uint64_t addr;

	/* memory first: its address may be made of a register that is written, too (pushf) */
	for (unsigned k = 0; k < i->ops; k++) {
		const struct emu_operand *o = &i->o[k];

		if (o->kind == EMU_K_MEM && o->written && emu_address(s, o, s->r[WREG_IP] + i->len, &addr) &&
		    !emu_mem_forget(m, addr, o->size))
			return EMU_O_FAULT;
	}
	s->known &= ~i->gpr_written;
	s->fpu_changed |= i->fpu_changed;
	s->k_known &= (uint8_t)~i->mask_written;
	emu_flags(s, i->flags_written, 0, false);
	for (uint64_t left = i->vec_written; left; left &= left - 1)
		if (__builtin_ctzll(left) < 32)
			s->v[__builtin_ctzll(left)].known = 0;
	return EMU_OK;
}

/* Not sampled. Programs leave it as the kernel sets it: one that does not, mostly saves it, changes it, and puts it
 * back. */
static enum emu_outcome store_fpu_control(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	return emu_store(s, m, i, &i->o[0], (struct emu_value){ 0x37f, !s->fpu_changed });
}

enum emu_outcome emu_integer(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	switch (i->op) {
	case EMU_OP_NOP: return EMU_OK;
	case EMU_OP_MOV:
	case EMU_OP_MOVBE:
	case EMU_OP_MOVSX:
	case EMU_OP_LEA:
	case EMU_OP_SETCC:
	case EMU_OP_CMOV: return move_integer(s, m, i);
	case EMU_OP_ADD:
	case EMU_OP_ADC:
	case EMU_OP_SUB:
	case EMU_OP_SBB:
	case EMU_OP_CMP:
	case EMU_OP_AND:
	case EMU_OP_TEST:
	case EMU_OP_OR:
	case EMU_OP_XOR: return two(s, m, i);
	case EMU_OP_NOT:
	case EMU_OP_NEG:
	case EMU_OP_INC:
	case EMU_OP_DEC:
	case EMU_OP_BSWAP: return one_operand(s, m, i);
	case EMU_OP_SHL:
	case EMU_OP_SHR:
	case EMU_OP_SAR:
	case EMU_OP_ROL:
	case EMU_OP_ROR: return shift_integer(s, m, i);
	case EMU_OP_SHLD:
	case EMU_OP_SHRD: return shift_double(s, m, i);
	case EMU_OP_IMUL: return imul(s, m, i);
	case EMU_OP_IMUL_WIDE:
	case EMU_OP_MUL: return multiply(s, m, i);
	case EMU_OP_DIV:
	case EMU_OP_IDIV: return divide(s, m, i);
	case EMU_OP_CBW:
	case EMU_OP_CWD: extend_accumulator(s, i); return EMU_OK;
	case EMU_OP_XCHG:
	case EMU_OP_XADD:
	case EMU_OP_CMPXCHG: return exchange_operands(s, m, i);
	case EMU_OP_BT:
	case EMU_OP_BTS:
	case EMU_OP_BTR:
	case EMU_OP_BTC: return bit_test(s, m, i);
	case EMU_OP_BSF:
	case EMU_OP_BSR:
	case EMU_OP_TZCNT:
	case EMU_OP_LZCNT:
	case EMU_OP_POPCNT: return bit_scan(s, m, i);
	case EMU_OP_ANDN:
	case EMU_OP_BLSR:
	case EMU_OP_BLSI:
	case EMU_OP_BLSMSK:
	case EMU_OP_BZHI:
	case EMU_OP_SHLX:
	case EMU_OP_SHRX:
	case EMU_OP_SARX:
	case EMU_OP_RORX: return bmi(s, m, i);
	case EMU_OP_MULX: return mulx(s, m, i);
	case EMU_OP_PUSH:
	case EMU_OP_POP:
	case EMU_OP_LEAVE: return push_or_pop(s, m, i);
	case EMU_OP_STC: emu_flags(s, EMU_CF, EMU_CF, true); return EMU_OK;
	case EMU_OP_CLC: emu_flags(s, EMU_CF, 0, true); return EMU_OK;
	case EMU_OP_CMC: emu_flags(s, EMU_CF, (uint8_t)~s->flags, s->flags_known & EMU_CF); return EMU_OK;
	case EMU_OP_STD: emu_flags(s, EMU_DF, EMU_DF, true); return EMU_OK;
	case EMU_OP_CLD: emu_flags(s, EMU_DF, 0, true); return EMU_OK;
	case EMU_OP_MOVS:
	case EMU_OP_STOS:
	case EMU_OP_CMPS:
	case EMU_OP_SCAS: return emu_string(s, m, i);
	case EMU_OP_XSAVE:
	case EMU_OP_XSAVEC: return emu_xsave(s, m, i);
	case EMU_OP_FNSTCW: return store_fpu_control(s, m, i);
	default: return EMU_O_NO_RULE;
	}
}
