// SPDX-License-Identifier: GPL-2.0-or-later
/* Integer and bitwise arithmetic of elements. */
#include "emu/emu_vec_priv.h"

#define FN1(name, expr)                                                                                                \
	static uint64_t name(uint64_t a, unsigned bits)                                                                \
	{                                                                                                              \
		return (uint64_t)(expr);                                                                               \
	}
#define FN2(name, expr)                                                                                                \
	static uint64_t name(uint64_t a, uint64_t b, unsigned bits)                                                    \
	{                                                                                                              \
		return (uint64_t)(expr);                                                                               \
	}
#define SA vec_signed(a, bits)
#define SB vec_signed(b, bits)

static uint64_t clamp(int64_t x, int64_t low, int64_t high)
{
	return (uint64_t)(x < low ? low : x > high ? high : x);
}
#define TO_SIGNED(x, bits) clamp(x, -(1ll << ((bits)-1)), (1ll << ((bits)-1)) - 1)
#define TO_UNSIGNED(x, bits) clamp(x, 0, (1ll << (bits)) - 1)

FN2(add, a + b)
FN2(sub, a - b)
FN2(add_signed, TO_SIGNED(SA + SB, bits))
FN2(sub_signed, TO_SIGNED(SA - SB, bits))
FN2(add_unsigned, TO_UNSIGNED((int64_t)(a + b), bits))
FN2(sub_unsigned, TO_UNSIGNED((int64_t)(a - b), bits))
FN2(equal, a == b ? ~0ull : 0)
FN2(greater, SA > SB ? ~0ull : 0)
FN2(min_unsigned, a < b ? a : b)
FN2(max_unsigned, a > b ? a : b)
FN2(min_signed, SA < SB ? a : b)
FN2(max_signed, SA > SB ? a : b)
FN2(average, (a + b + 1) >> 1)
FN2(mul_low, a *b)
FN2(mul_high_signed, (SA * SB) >> bits)
FN2(mul_high_unsigned, (a * b) >> bits)
FN2(mul_round, ((SA * SB >> 14) + 1) >> 1)
FN2(mul_even_unsigned, (a & 0xffffffff) * (b & 0xffffffff))
FN2(mul_even_signed, (uint64_t)(int32_t)a *(uint64_t)(int32_t)b)
FN2(multiply_add, (uint64_t)((int16_t)a *(int64_t)(int16_t)b + (int64_t)(int16_t)(a >> 16) * (int16_t)(b >> 16)))
FN2(multiply_add_bytes, TO_SIGNED((int64_t)(a & 255) * (int8_t)b + (int64_t)(a >> 8 & 255) * (int8_t)(b >> 8), bits))
FN2(sign, SB < 0 ? -a : b ? a : 0)
FN1(magnitude, SA < 0 ? -a : a)
FN1(count_ones, __builtin_popcountll(a))
FN1(leading_zeros, a ? (unsigned)__builtin_clzll(a) - (64 - bits) : bits)
FN1(same, a)
FN1(extend_sign, SA)
FN2(test, (a & b) != 0)
FN2(test_none, (a & b) == 0)
FN2(shift_left, b < bits ? a << b : 0)
FN2(shift_right, b < bits ? a >> b : 0)
FN2(shift_signed, SA >> (b < bits ? b : bits - 1))
FN2(rotate_left, a << b % bits | (b % bits ? a >> (bits - b % bits) : 0))
FN2(rotate_right, a >> b % bits | (b % bits ? a << (bits - b % bits) : 0))

static uint64_t sum_differences(uint64_t a, uint64_t b, unsigned bits)
{
	uint64_t sum = 0;

	for (unsigned n = 0; n < 64; n += 8) {
		int d = (int)(a >> n & 255) - (int)(b >> n & 255);

		sum += (uint64_t)(d < 0 ? -d : d);
	}
	return sum;
}

/* By an immediate, or by the low eight bytes of a register or of memory: the same for all elements. */
static enum emu_outcome shift(struct vec_ctx *c)
{
	bool imm = c->i->ops && c->i->o[c->i->ops - 1].kind == EMU_K_IMM;
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec a, by, r = { .known = 0 };
	uint64_t count;

	/* The legacy form with an immediate has one operand that is both. */
	if (!vec_get_each(c, vec_last(c, imm ? 0 : 1), len, &a))
		return c->bad;
	if (imm) {
		count = vec_imm(c);
	} else {
		if (!vec_get(c, vec_last(c, 0), &by))
			return c->bad;
		if (!vec_known(&by, 0, 8))
			return vec_put(c, &r, len);
		count = vec_at(&by, 0, 8);
	}
	for (unsigned at = 0; at < len; at += w)
		vec_set(&r, at, w, c->rule->f2(vec_at(&a, at, w), count, w * 8));
	r.known = vec_whole(a.known, w);
	return vec_put(c, &r, len);
}

static uint64_t whole_bytes(uint8_t bits)
{
	uint64_t x = 0;

	if (bits == 255)
		return ~0ull;
	for (unsigned n = 0; bits && n < 8; n++)
		x |= bits >> n & 1 ? 255ull << (8 * n) : 0;
	return x;
}

/*
 * Bitwise: table bit a << 2 | b << 1 | c, as vpternlog has it. A byte is known if it is the same whatever the unknown
 * ones are; registers named twice are one unknown.
 */
static enum emu_outcome logic(struct vec_ctx *c, const struct emu_operand *const *o, uint8_t table)
{
	unsigned len = vec_len(c), tie[3];
	struct emu_vec v[3], r = { .known = 0 };

	for (unsigned n = 0; n < 3; n++) {
		tie[n] = n;
		for (unsigned p = 0; p < n; p++)
			if (o[p] && o[n] && vec_same(o[p], o[n]))
				tie[n] = p;
		if (!o[n])
			v[n] = (struct emu_vec){ .known = ~0ull };
		else if (!vec_get_each(c, o[n], len, &v[n]))
			return c->bad;
	}
	for (unsigned at = 0; at < len; at += 8) {
		uint64_t any = 0, all = ~0ull, sure[3], x[3];

		for (unsigned n = 0; n < 3; n++)
			sure[n] = whole_bytes((uint8_t)(v[n].known >> at));
		for (unsigned guess = 0; guess < 8; guess++) {
			uint64_t y = 0;

			for (unsigned n = 0; n < 3; n++)
				x[n] = (vec_at(&v[n], at, 8) & sure[n]) | (guess >> tie[n] & 1 ? ~sure[n] : 0);
			for (unsigned row = 0; row < 8; row++)
				if (table >> row & 1)
					y |= (row & 4 ? x[0] : ~x[0]) & (row & 2 ? x[1] : ~x[1]) &
					     (row & 1 ? x[2] : ~x[2]);
			any |= y;
			all &= y;
			if (!~(sure[0] & sure[1] & sure[2]))
				break;
		}
		vec_set(&r, at, 8, any);
		for (unsigned n = 0; any != all && n < 8; n++)
			if ((any ^ all) >> (8 * n) & 255)
				r.known &= ~(1ull << (at + n));
	}
	return vec_put(c, &r, len);
}

static enum emu_outcome ternary(struct vec_ctx *c)
{
	const struct emu_operand *const o[3] = { vec_last(c, 2), vec_last(c, 1), vec_last(c, 0) };

	return logic(c, o, vec_imm(c));
}

/* arg: the table. */
static enum emu_outcome binary(struct vec_ctx *c)
{
	const struct emu_operand *const o[3] = { NULL, vec_last(c, 1), vec_last(c, 0) };

	return logic(c, o, c->rule->arg);
}

/* packs: the same, each element from one of twice the size. */
FN2(pack_signed, TO_SIGNED(vec_signed(a | b << bits, 2 * bits), bits))
FN2(pack_unsigned, TO_UNSIGNED(vec_signed(a | b << bits, 2 * bits), bits))

/* vpmovs, vpmovus: f2 sees one element and the bits of the result. */
static enum emu_outcome narrow(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0);
	unsigned in = c->rule->arg, out = c->rule->element, len = src->size;
	struct emu_vec a, r = { .known = 0 };

	if (src->kind != EMU_K_VEC || !vec_get(c, src, &a))
		return c->bad;
	for (unsigned e = 0; e * in < len; e++)
		if (vec_known(&a, e * in, in))
			vec_set(&r, e * out, out, c->rule->f2(vec_at(&a, e * in, in), in * 8, out * 8));
	return vec_put(c, &r, len / in * out);
}
FN2(cut, a)
FN2(saturate_signed, TO_SIGNED(vec_signed(a, (unsigned)b), bits))
FN2(saturate_unsigned, a > vec_ones(bits) ? vec_ones(bits) : a)

#define LOGIC(name, w, table) VEC_BOTH(name, w, table, binary)
#define MAP2(name, w, f) VEC_BOTH(name, w, 0, vec_map2, .f2 = f)
#define SELF2(name, w, f) VEC_BOTH(name, w, VEC_SELF, vec_map2, .f2 = f)
#define V2(name, w, f) VEC_ONE(V##name, w, 0, vec_map2, .f2 = f)
#define MAP1(name, w, f) VEC_BOTH(name, w, 0, vec_map1, .f1 = f)
#define SHIFT(name, w, f) VEC_BOTH(name, w, 0, shift, .f2 = f)
#define WIDEN(name, out, in, f) VEC_BOTH(name, out, in, vec_convert, .f1 = f)
#define NARROW(name, out, in)                                                                                          \
	VEC_ONE(VPMOV##name, out, in, narrow, .f2 = cut),                                                              \
		VEC_ONE(VPMOVS##name, out, in, narrow, .f2 = saturate_signed),                                         \
		VEC_ONE(VPMOVUS##name, out, in, narrow, .f2 = saturate_unsigned)

static const struct vec_rule rows[] = {
	LOGIC(PAND, 0, 0x88),
	LOGIC(ANDPS, 4, 0x88),
	LOGIC(ANDPD, 8, 0x88),
	VEC_ONE(VPANDD, 4, 0x88, binary),
	VEC_ONE(VPANDQ, 8, 0x88, binary),
	LOGIC(POR, 0, 0xee),
	LOGIC(ORPS, 4, 0xee),
	LOGIC(ORPD, 8, 0xee),
	VEC_ONE(VPORD, 4, 0xee, binary),
	VEC_ONE(VPORQ, 8, 0xee, binary),
	LOGIC(PXOR, 0, 0x66),
	LOGIC(XORPS, 4, 0x66),
	LOGIC(XORPD, 8, 0x66),
	VEC_ONE(VPXORD, 4, 0x66, binary),
	VEC_ONE(VPXORQ, 8, 0x66, binary),
	LOGIC(PANDN, 0, 0x22),
	LOGIC(ANDNPS, 4, 0x22),
	LOGIC(ANDNPD, 8, 0x22),
	VEC_ONE(VPANDND, 4, 0x22, binary),
	VEC_ONE(VPANDNQ, 8, 0x22, binary),
	VEC_ONE(VPTERNLOGD, 4, 0, ternary),
	VEC_ONE(VPTERNLOGQ, 8, 0, ternary),

	MAP2(PADDB, 1, add),
	MAP2(PADDW, 2, add),
	MAP2(PADDD, 4, add),
	MAP2(PADDQ, 8, add),
	SELF2(PSUBB, 1, sub),
	SELF2(PSUBW, 2, sub),
	SELF2(PSUBD, 4, sub),
	SELF2(PSUBQ, 8, sub),
	MAP2(PADDSB, 1, add_signed),
	MAP2(PADDSW, 2, add_signed),
	MAP2(PADDUSB, 1, add_unsigned),
	MAP2(PADDUSW, 2, add_unsigned),
	SELF2(PSUBSB, 1, sub_signed),
	SELF2(PSUBSW, 2, sub_signed),
	SELF2(PSUBUSB, 1, sub_unsigned),
	SELF2(PSUBUSW, 2, sub_unsigned),
	SELF2(PCMPEQB, 1, equal),
	SELF2(PCMPEQW, 2, equal),
	SELF2(PCMPEQD, 4, equal),
	SELF2(PCMPEQQ, 8, equal),
	SELF2(PCMPGTB, 1, greater),
	SELF2(PCMPGTW, 2, greater),
	SELF2(PCMPGTD, 4, greater),
	SELF2(PCMPGTQ, 8, greater),
	MAP2(PMINUB, 1, min_unsigned),
	MAP2(PMINUW, 2, min_unsigned),
	MAP2(PMINUD, 4, min_unsigned),
	MAP2(PMAXUB, 1, max_unsigned),
	MAP2(PMAXUW, 2, max_unsigned),
	MAP2(PMAXUD, 4, max_unsigned),
	MAP2(PMINSB, 1, min_signed),
	MAP2(PMINSW, 2, min_signed),
	MAP2(PMINSD, 4, min_signed),
	MAP2(PMAXSB, 1, max_signed),
	MAP2(PMAXSW, 2, max_signed),
	MAP2(PMAXSD, 4, max_signed),
	V2(PMINUQ, 8, min_unsigned),
	V2(PMAXUQ, 8, max_unsigned),
	V2(PMINSQ, 8, min_signed),
	V2(PMAXSQ, 8, max_signed),
	MAP2(PAVGB, 1, average),
	MAP2(PAVGW, 2, average),
	MAP2(PMULLW, 2, mul_low),
	MAP2(PMULLD, 4, mul_low),
	V2(PMULLQ, 8, mul_low),
	MAP2(PMULHW, 2, mul_high_signed),
	MAP2(PMULHUW, 2, mul_high_unsigned),
	MAP2(PMULHRSW, 2, mul_round),
	MAP2(PMULUDQ, 8, mul_even_unsigned),
	MAP2(PMULDQ, 8, mul_even_signed),
	MAP2(PMADDWD, 4, multiply_add),
	MAP2(PMADDUBSW, 2, multiply_add_bytes),
	SELF2(PSADBW, 8, sum_differences),
	MAP2(PSIGNB, 1, sign),
	MAP2(PSIGNW, 2, sign),
	MAP2(PSIGND, 4, sign),
	MAP1(PABSB, 1, magnitude),
	MAP1(PABSW, 2, magnitude),
	MAP1(PABSD, 4, magnitude),
	VEC_ONE(VPABSQ, 8, 0, vec_map1, .f1 = magnitude),
	VEC_ONE(VPOPCNTB, 1, 0, vec_map1, .f1 = count_ones),
	VEC_ONE(VPOPCNTW, 2, 0, vec_map1, .f1 = count_ones),
	VEC_ONE(VPOPCNTD, 4, 0, vec_map1, .f1 = count_ones),
	VEC_ONE(VPOPCNTQ, 8, 0, vec_map1, .f1 = count_ones),
	VEC_ONE(VPLZCNTD, 4, 0, vec_map1, .f1 = leading_zeros),
	VEC_ONE(VPLZCNTQ, 8, 0, vec_map1, .f1 = leading_zeros),
	V2(PTESTMB, 1, test),
	V2(PTESTMW, 2, test),
	V2(PTESTMD, 4, test),
	V2(PTESTMQ, 8, test),
	V2(PTESTNMB, 1, test_none),
	V2(PTESTNMW, 2, test_none),
	V2(PTESTNMD, 4, test_none),
	V2(PTESTNMQ, 8, test_none),

	SHIFT(PSLLW, 2, shift_left),
	SHIFT(PSLLD, 4, shift_left),
	SHIFT(PSLLQ, 8, shift_left),
	SHIFT(PSRLW, 2, shift_right),
	SHIFT(PSRLD, 4, shift_right),
	SHIFT(PSRLQ, 8, shift_right),
	SHIFT(PSRAW, 2, shift_signed),
	SHIFT(PSRAD, 4, shift_signed),
	VEC_ONE(VPSRAQ, 8, 0, shift, .f2 = shift_signed),
	V2(PSLLVW, 2, shift_left),
	V2(PSLLVD, 4, shift_left),
	V2(PSLLVQ, 8, shift_left),
	V2(PSRLVW, 2, shift_right),
	V2(PSRLVD, 4, shift_right),
	V2(PSRLVQ, 8, shift_right),
	V2(PSRAVW, 2, shift_signed),
	V2(PSRAVD, 4, shift_signed),
	V2(PSRAVQ, 8, shift_signed),
	VEC_ONE(VPROLD, 4, 0, shift, .f2 = rotate_left),
	VEC_ONE(VPROLQ, 8, 0, shift, .f2 = rotate_left),
	VEC_ONE(VPRORD, 4, 0, shift, .f2 = rotate_right),
	VEC_ONE(VPRORQ, 8, 0, shift, .f2 = rotate_right),
	V2(PROLVD, 4, rotate_left),
	V2(PROLVQ, 8, rotate_left),
	V2(PRORVD, 4, rotate_right),
	V2(PRORVQ, 8, rotate_right),

	VEC_BOTH(PACKSSWB, 1, 0, vec_pairs, .f2 = pack_signed),
	VEC_BOTH(PACKSSDW, 2, 0, vec_pairs, .f2 = pack_signed),
	VEC_BOTH(PACKUSWB, 1, 0, vec_pairs, .f2 = pack_unsigned),
	VEC_BOTH(PACKUSDW, 2, 0, vec_pairs, .f2 = pack_unsigned),
	VEC_BOTH(PHADDW, 2, 0, vec_pairs, .f2 = add),
	VEC_BOTH(PHADDD, 4, 0, vec_pairs, .f2 = add),
	VEC_BOTH(PHADDSW, 2, 0, vec_pairs, .f2 = add_signed),
	VEC_BOTH(PHSUBW, 2, 0, vec_pairs, .f2 = sub),
	VEC_BOTH(PHSUBD, 4, 0, vec_pairs, .f2 = sub),
	VEC_BOTH(PHSUBSW, 2, 0, vec_pairs, .f2 = sub_signed),

	WIDEN(PMOVZXBW, 2, 1, same),
	WIDEN(PMOVZXBD, 4, 1, same),
	WIDEN(PMOVZXBQ, 8, 1, same),
	WIDEN(PMOVZXWD, 4, 2, same),
	WIDEN(PMOVZXWQ, 8, 2, same),
	WIDEN(PMOVZXDQ, 8, 4, same),
	WIDEN(PMOVSXBW, 2, 1, extend_sign),
	WIDEN(PMOVSXBD, 4, 1, extend_sign),
	WIDEN(PMOVSXBQ, 8, 1, extend_sign),
	WIDEN(PMOVSXWD, 4, 2, extend_sign),
	WIDEN(PMOVSXWQ, 8, 2, extend_sign),
	WIDEN(PMOVSXDQ, 8, 4, extend_sign),
	NARROW(WB, 1, 2),
	NARROW(DB, 1, 4),
	NARROW(QB, 1, 8),
	NARROW(DW, 2, 4),
	NARROW(QW, 2, 8),
	NARROW(QD, 4, 8),
};
const struct vec_rules vec_integers = { rows, sizeof(rows) / sizeof(*rows) };
