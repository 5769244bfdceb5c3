// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Floating point, scalar and packed, as the host computes it: rounding to nearest, as nearly every program has it. What
 * becomes of NaNs is spelled out, as C leaves it open: the first one that is an operand, made quiet; else the default.
 */
#include <float.h>
#include <math.h>

#include "emu/emu_vec_priv.h"

static double as_double(uint64_t x)
{
	double d;

	memcpy(&d, &x, 8);
	return d;
}

static float as_float(uint64_t x)
{
	uint32_t low = (uint32_t)x;
	float f;

	memcpy(&f, &low, 4);
	return f;
}

static bool not_a_number(uint64_t x, unsigned bits)
{
	return bits == 32 ? (x & 0x7fffffff) > 0x7f800000 : (x & INT64_MAX) > 0x7ff0000000000000;
}

static uint64_t quiet(uint64_t x, unsigned bits)
{
	return x | (bits == 32 ? 1ull << 22 : 1ull << 51);
}

/* Of an operation whose operands are numbers. */
static uint64_t result_of_numbers(uint64_t x, unsigned bits)
{
	return not_a_number(x, bits) ? bits == 32 ? 0xffc00000 : 0xfff8000000000000 : x;
}

#define ARITHMETIC(name, op)                                                                                           \
	static uint64_t name(uint64_t a, uint64_t b, unsigned bits)                                                    \
	{                                                                                                              \
		if (not_a_number(a, bits) || not_a_number(b, bits))                                                    \
			return quiet(not_a_number(a, bits) ? a : b, bits);                                             \
		return result_of_numbers(bits == 32 ? of_float(as_float(a) op as_float(b))                             \
						    : of_double(as_double(a) op as_double(b)),                         \
					 bits);                                                                        \
	}
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)
ARITHMETIC(divide, /)

static bool less(uint64_t a, uint64_t b, unsigned bits)
{
	return bits == 32 ? as_float(a) < as_float(b) : as_double(a) < as_double(b);
}

static bool same_number(uint64_t a, uint64_t b, unsigned bits)
{
	return bits == 32 ? as_float(a) == as_float(b) : as_double(a) == as_double(b);
}

/* Of two NaNs, of two zeros: the second. */
static uint64_t minimum(uint64_t a, uint64_t b, unsigned bits)
{
	return less(a, b, bits) ? a : b;
}

static uint64_t maximum(uint64_t a, uint64_t b, unsigned bits)
{
	return less(b, a, bits) ? a : b;
}

static uint64_t root(uint64_t a, unsigned bits)
{
	if (not_a_number(a, bits))
		return quiet(a, bits);
	return result_of_numbers(bits == 32 ? of_float(sqrtf(as_float(a))) : of_double(sqrt(as_double(a))), bits);
}

static uint64_t to_integral(uint64_t a, unsigned bits, unsigned how)
{
	double d = bits == 32 ? as_float(a) : as_double(a);

	if (not_a_number(a, bits))
		return quiet(a, bits);
	d = how & 4          ? rint(d)
	    : (how & 3) == 1 ? floor(d)
	    : (how & 3) == 2 ? ceil(d)
	    : (how & 3) == 3 ? trunc(d)
			     : rint(d);
	return bits == 32 ? of_float((float)d) : of_double(d);
}

/* round: the immediate says how; vrndscale's high four bits: to how many binary places. */
static enum emu_outcome round_all(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c), how = vec_imm(c);
	struct emu_vec a, r = { .known = 0 };

	if (how & 0xf0)
		return EMU_O_NO_RULE;
	if (!vec_get_each(c, vec_last(c, 0), len, &a))
		return c->bad;
	for (unsigned at = 0; at < len; at += w)
		if (vec_known(&a, at, w))
			vec_set(&r, at, w, to_integral(vec_at(&a, at, w), w * 8, how));
	return vec_put(c, &r, len);
}

static enum emu_outcome round_scalar(struct vec_ctx *c)
{
	unsigned w = c->rule->element, how = vec_imm(c);
	struct emu_vec a, r = { .known = 0 };

	if (how & 0xf0)
		return EMU_O_NO_RULE;
	if (!vec_get(c, vec_last(c, 0), &a))
		return c->bad;
	if (vec_known(&a, 0, w))
		vec_set(&r, 0, w, to_integral(vec_at(&a, 0, w), w * 8, how));
	return vec_put_scalar(c, &r, w);
}

/* Of 16 and more: differ in traps only. */
static unsigned predicate_of(const struct vec_ctx *c)
{
	return vec_imm(c) & (c->i->vex ? 15 : 7);
}

static bool predicate_holds(uint64_t a, uint64_t b, unsigned bits, unsigned predicate)
{
	bool unordered = not_a_number(a, bits) || not_a_number(b, bits), eq = same_number(a, b, bits),
	     lt = less(a, b, bits);

	switch (predicate) {
	case 0: return eq;
	case 1: return lt;
	case 2: return lt || eq;
	case 3: return unordered;
	case 4: return !eq;
	case 5: return !lt;
	case 6: return !(lt || eq);
	case 7: return !unordered;
	case 8: return eq || unordered;
	case 9: return lt || unordered;
	case 10: return lt || eq || unordered;
	case 11: return false;
	case 12: return !eq && !unordered;
	case 13: return !lt && !unordered;
	case 14: return !(lt || eq) && !unordered;
	default: return true;
	}
}

static enum emu_outcome compare_all(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec a, b, r = { .known = 0 };

	if (!vec_get_each(c, vec_last(c, 1), len, &a) || !vec_get_each(c, vec_last(c, 0), len, &b))
		return c->bad;
	for (unsigned at = 0; at < len; at += w)
		if (vec_known(&a, at, w) && vec_known(&b, at, w))
			vec_set(&r, at, w,
				predicate_holds(vec_at(&a, at, w), vec_at(&b, at, w), w * 8, predicate_of(c)) ? ~0ull
													      : 0);
	return vec_put_compared(c, &r, len);
}

static enum emu_outcome compare_scalar(struct vec_ctx *c)
{
	unsigned w = c->rule->element;
	struct emu_vec a, b, r = { .known = 0 };

	if (c->i->o[0].kind != EMU_K_VEC && c->i->o[0].kind != EMU_K_MASK)
		return EMU_O_NO_RULE; /* the string instruction of this name */
	if (!vec_get(c, vec_last(c, 1), &a) || !vec_get(c, vec_last(c, 0), &b))
		return c->bad;
	if (vec_known(&a, 0, w) && vec_known(&b, 0, w))
		vec_set(&r, 0, w,
			predicate_holds(vec_at(&a, 0, w), vec_at(&b, 0, w), w * 8, predicate_of(c)) ? ~0ull : 0);
	return c->i->o[0].kind == EMU_K_MASK ? vec_put_compared(c, &r, w) : vec_put_scalar(c, &r, w);
}

static enum emu_outcome compare_flags(struct vec_ctx *c)
{
	unsigned w = c->rule->element, flags = 0;
	struct emu_vec a, b;
	uint64_t x, y;

	if (!vec_get(c, vec_last(c, 1), &a) || !vec_get(c, vec_last(c, 0), &b))
		return c->bad;
	x = vec_at(&a, 0, w);
	y = vec_at(&b, 0, w);
	if (not_a_number(x, w * 8) || not_a_number(y, w * 8))
		flags = EMU_ZF | EMU_PF | EMU_CF;
	else if (same_number(x, y, w * 8))
		flags = EMU_ZF;
	else if (less(x, y, w * 8))
		flags = EMU_CF;
	vec_put_flags(c, flags, vec_known(&a, 0, w) && vec_known(&b, 0, w) ? EMU_ARITH : EMU_AF | EMU_SF | EMU_OF);
	return EMU_OK;
}

static enum emu_outcome add_and_subtract(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec a, b, r = { .known = 0 };

	if (!vec_get_each(c, vec_last(c, 1), len, &a) || !vec_get_each(c, vec_last(c, 0), len, &b))
		return c->bad;
	for (unsigned at = 0; at < len; at += w)
		if (vec_known(&a, at, w) && vec_known(&b, at, w))
			vec_set(&r, at, w, (at / w % 2 ? add : sub)(vec_at(&a, at, w), vec_at(&b, at, w), w * 8));
	return vec_put(c, &r, len);
}

/* ---- x * y + z ---- */

enum { MINUS_PRODUCT = 1, MINUS_ADDEND = 2, ALTERNATE = 4, /* even elements have the addend's other sign */ ORDER = 8 };
enum { F132 = 0 * ORDER, F213 = 1 * ORDER, F231 = 2 * ORDER, SCALAR = 64 };

static uint64_t fused(uint64_t x, uint64_t y, uint64_t z, unsigned bits, unsigned signs)
{
	uint64_t top = 1ull << (bits - 1);

	if (not_a_number(x, bits) || not_a_number(y, bits) || not_a_number(z, bits))
		return quiet(not_a_number(x, bits) ? x : not_a_number(y, bits) ? y : z, bits);
	x ^= signs & MINUS_PRODUCT ? top : 0;
	z ^= signs & MINUS_ADDEND ? top : 0;
	return result_of_numbers(bits == 32 ? of_float(fmaf(as_float(x), as_float(y), as_float(z)))
					    : of_double(fma(as_double(x), as_double(y), as_double(z))),
				 bits);
}

static enum emu_outcome multiply_add(struct vec_ctx *c)
{
	static const uint8_t order[3][3] = { { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 } };
	const uint8_t *at = order[c->rule->arg % SCALAR / ORDER];
	bool scalar = c->rule->arg & SCALAR;
	unsigned w = c->rule->element, len = scalar ? w : vec_len(c), signs = c->rule->arg % ORDER;
	struct emu_vec v[3], r;

	for (unsigned n = 0; n < 3; n++)
		if (!(scalar ? vec_get(c, &c->i->o[n], &v[n]) : vec_get_each(c, &c->i->o[n], len, &v[n])))
			return c->bad;
	r = v[0];
	r.known &= ~vec_ones(len);
	for (unsigned e = 0; e < len; e += w) {
		unsigned flip = signs & ALTERNATE && !(e / w % 2) ? MINUS_ADDEND : 0, nans = 0;

		for (unsigned n = 0; n < 3; n++)
			nans += not_a_number(vec_at(&v[n], e, w), w * 8);
		/* Which of several NaNs it becomes, processors do not agree on. */
		if (nans < 2 && vec_known(&v[0], e, w) && vec_known(&v[1], e, w) && vec_known(&v[2], e, w))
			vec_set(&r, e, w,
				fused(vec_at(&v[at[0]], e, w), vec_at(&v[at[1]], e, w), vec_at(&v[at[2]], e, w), w * 8,
				      signs ^ flip));
	}
	return scalar ? vec_put_over(c, &c->i->o[0], &r, w) : vec_put(c, &r, len);
}

#define MAP2(name, f)                                                                                                  \
	VEC_BOTH(name##PS, 4, 0, vec_map2, .f2 = f), VEC_BOTH(name##PD, 8, 0, vec_map2, .f2 = f),                      \
		VEC_BOTH(name##SS, 4, 0, vec_scalar2, .f2 = f), VEC_BOTH(name##SD, 8, 0, vec_scalar2, .f2 = f)
#define FMA_PACKED(name, signs)                                                                                        \
	VEC_ONE(name##132PS, 4, F132 | signs, multiply_add), VEC_ONE(name##132PD, 8, F132 | signs, multiply_add),      \
		VEC_ONE(name##213PS, 4, F213 | signs, multiply_add),                                                   \
		VEC_ONE(name##213PD, 8, F213 | signs, multiply_add),                                                   \
		VEC_ONE(name##231PS, 4, F231 | signs, multiply_add),                                                   \
		VEC_ONE(name##231PD, 8, F231 | signs, multiply_add)
#define FMA(name, signs)                                                                                               \
	FMA_PACKED(name, signs), VEC_ONE(name##132SS, 4, SCALAR | F132 | signs, multiply_add),                         \
		VEC_ONE(name##132SD, 8, SCALAR | F132 | signs, multiply_add),                                          \
		VEC_ONE(name##213SS, 4, SCALAR | F213 | signs, multiply_add),                                          \
		VEC_ONE(name##213SD, 8, SCALAR | F213 | signs, multiply_add),                                          \
		VEC_ONE(name##231SS, 4, SCALAR | F231 | signs, multiply_add),                                          \
		VEC_ONE(name##231SD, 8, SCALAR | F231 | signs, multiply_add)

static const struct vec_rule rows[] = {
	MAP2(ADD, add),
	MAP2(SUB, sub),
	MAP2(MUL, mul),
	MAP2(DIV, divide),
	MAP2(MIN, minimum),
	MAP2(MAX, maximum),
	VEC_BOTH(SQRTPS, 4, 0, vec_map1, .f1 = root),
	VEC_BOTH(SQRTPD, 8, 0, vec_map1, .f1 = root),
	VEC_BOTH(SQRTSS, 4, 0, vec_scalar1, .f1 = root),
	VEC_BOTH(SQRTSD, 8, 0, vec_scalar1, .f1 = root),
	VEC_BOTH(ROUNDPS, 4, 0, round_all),
	VEC_BOTH(ROUNDPD, 8, 0, round_all),
	VEC_BOTH(ROUNDSS, 4, 0, round_scalar),
	VEC_BOTH(ROUNDSD, 8, 0, round_scalar),
	VEC_ONE(VRNDSCALEPS, 4, 0, round_all),
	VEC_ONE(VRNDSCALEPD, 8, 0, round_all),
	VEC_ONE(VRNDSCALESS, 4, 0, round_scalar),
	VEC_ONE(VRNDSCALESD, 8, 0, round_scalar),
	VEC_BOTH(CMPPS, 4, 0, compare_all),
	VEC_BOTH(CMPPD, 8, 0, compare_all),
	VEC_BOTH(CMPSS, 4, 0, compare_scalar),
	VEC_BOTH(CMPSD, 8, 0, compare_scalar),
	VEC_BOTH(COMISS, 4, 0, compare_flags),
	VEC_BOTH(COMISD, 8, 0, compare_flags),
	VEC_BOTH(UCOMISS, 4, 0, compare_flags),
	VEC_BOTH(UCOMISD, 8, 0, compare_flags),
	VEC_BOTH(HADDPS, 4, 0, vec_pairs, .f2 = add),
	VEC_BOTH(HADDPD, 8, 0, vec_pairs, .f2 = add),
	VEC_BOTH(HSUBPS, 4, 0, vec_pairs, .f2 = sub),
	VEC_BOTH(HSUBPD, 8, 0, vec_pairs, .f2 = sub),
	VEC_BOTH(ADDSUBPS, 4, 0, add_and_subtract),
	VEC_BOTH(ADDSUBPD, 8, 0, add_and_subtract),
	FMA(VFMADD, 0),
	FMA(VFMSUB, MINUS_ADDEND),
	FMA(VFNMADD, MINUS_PRODUCT),
	FMA(VFNMSUB, (MINUS_PRODUCT | MINUS_ADDEND)),
	FMA_PACKED(VFMADDSUB, ALTERNATE),
	FMA_PACKED(VFMSUBADD, (ALTERNATE | MINUS_ADDEND)),
};
const struct vec_rules vec_floats = { rows, sizeof(rows) / sizeof(*rows) };
