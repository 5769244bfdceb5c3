// SPDX-License-Identifier: GPL-2.0-or-later
/* Mask registers, comparisons into them, and what vectors and masks tell the flags. */
#include "emu/emu_vec_priv.h"

static bool mask_value_of(const struct vec_ctx *c, const struct emu_operand *o, uint64_t *value)
{
	*value = o->kind == EMU_K_MASK ? c->s->k[o->reg] & vec_ones(c->rule->element * 8) : 0;
	return o->kind == EMU_K_MASK && c->s->k_known >> o->reg & 1;
}

/* kmov: element: bytes. */
static enum emu_outcome move_mask(struct vec_ctx *c)
{
	const struct emu_operand *dst = &c->i->o[0], *src = &c->i->o[1];
	unsigned w = c->rule->element;
	struct emu_vec a;
	uint64_t value;
	bool known;

	if (!vec_get(c, src, &a))
		return c->bad;
	value = vec_at(&a, 0, w);
	known = vec_known(&a, 0, w);
	if (dst->kind == EMU_K_MASK)
		return vec_put_mask(c, dst->reg, value, known);
	if (dst->kind == EMU_K_MEM)
		return vec_put(c, &a, w);
	return vec_put_gpr(c, dst, value, known);
}

/* One that does not depend on a mask combined with itself: arg. */
static enum emu_outcome combine(struct vec_ctx *c)
{
	const struct emu_operand *a = &c->i->o[1], *b = &c->i->o[2];
	unsigned bits = c->rule->element * 8;
	uint64_t x, y;
	bool known_x = mask_value_of(c, a, &x), known_y = mask_value_of(c, b, &y), known = known_x && known_y;

	if (c->i->o[0].kind != EMU_K_MASK)
		return EMU_O_NO_RULE;
	if (c->rule->arg && a->reg == b->reg) {
		x = y = 0;
		known = true;
	}
	return vec_put_mask(c, c->i->o[0].reg, c->rule->f2(x, y, bits) & vec_ones(bits), known);
}

static enum emu_outcome change(struct vec_ctx *c)
{
	unsigned bits = c->rule->element * 8;
	uint64_t x;
	bool known = mask_value_of(c, &c->i->o[1], &x);

	if (c->i->o[0].kind != EMU_K_MASK)
		return EMU_O_NO_RULE;
	return vec_put_mask(c, c->i->o[0].reg, c->rule->f2(x, vec_imm(c), bits) & vec_ones(bits), known);
}

#define FN2(name, expr)                                                                                                \
	static uint64_t name(uint64_t a, uint64_t b, unsigned bits)                                                    \
	{                                                                                                              \
		return (uint64_t)(expr);                                                                               \
	}
FN2(and, a &b)
FN2(and_not, ~a &b)
FN2(or, a | b)
FN2(xor, a ^ b)
FN2(xnor, ~(a ^ b))
FN2(not, ~a)
FN2(add, a + b)
FN2(left, b < bits ? a << b : 0)
FN2(right, b < bits ? a >> b : 0)
/* The second one's bits are the low half. */
FN2(unpack, (a & vec_ones(bits / 2)) << bits / 2 | (b & vec_ones(bits / 2)))

/* arg: kortest (all bits set?) or ktest. */
enum { KORTEST, KTEST };

static enum emu_outcome test(struct vec_ctx *c)
{
	uint64_t x, y, ones = vec_ones(c->rule->element * 8);
	bool known_x = mask_value_of(c, &c->i->o[0], &x), known_y = mask_value_of(c, &c->i->o[1], &y);
	unsigned flags, known = EMU_PF | EMU_AF | EMU_SF | EMU_OF;

	if (c->rule->arg == KORTEST) {
		flags = (x | y ? 0 : EMU_ZF) | ((x | y) == ones ? EMU_CF : 0);
		known |= (known_x && x) || (known_y && y) ? EMU_ZF : 0;
		known |= (known_x && x == ones) || (known_y && y == ones) ? EMU_CF : 0;
	} else {
		flags = (x & y ? 0 : EMU_ZF) | (~x & y ? 0 : EMU_CF);
	}
	vec_put_flags(c, flags, known_x && known_y ? EMU_ARITH : known);
	return EMU_OK;
}

/* ptest, vtestps: element: of which only the sign counts; 0: all bits. One bit that is known to be set in both
 * decides. */
static enum emu_outcome test_vectors(struct vec_ctx *c)
{
	unsigned len = vec_len(c), w = c->rule->element, known = EMU_ARITH, flags = EMU_ZF | EMU_CF;
	bool zf_sure = false, cf_sure = false;
	struct emu_vec a, b;

	if (!vec_get_each(c, vec_last(c, 1), len, &a) || !vec_get_each(c, vec_last(c, 0), len, &b))
		return c->bad;
	for (unsigned at = w ? w - 1 : 0; at < len; at += w ? w : 1) {
		uint8_t bits = w ? 0x80 : 0xff;

		if ((a.known & b.known) >> at & 1) {
			zf_sure |= a.b[at] & b.b[at] & bits;
			cf_sure |= ~a.b[at] & b.b[at] & bits;
		} else if (!(b.known >> at & 1 && !(b.b[at] & bits))) {
			known &= ~(unsigned)(EMU_ZF | EMU_CF);
		}
	}
	flags &= ~(unsigned)((zf_sure ? EMU_ZF : 0) | (cf_sure ? EMU_CF : 0));
	known |= (zf_sure ? EMU_ZF : 0) | (cf_sure ? EMU_CF : 0);
	vec_put_flags(c, flags, known);
	return EMU_OK;
}

/* vpcmp: the immediate's low three bits say how; arg: signed. */
static enum emu_outcome compare_into_mask(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c), how = vec_imm(c) & 7;
	bool self = vec_same(vec_last(c, 0), vec_last(c, 1));
	struct emu_vec a, b, r = { .known = 0 };

	if (!vec_get_each(c, vec_last(c, 1), len, &a) || !vec_get_each(c, vec_last(c, 0), len, &b))
		return c->bad;
	for (unsigned at = 0; at < len; at += w) {
		uint64_t flip = c->rule->arg ? 1ull << (w * 8 - 1) : 0;
		uint64_t x = vec_at(&a, at, w) ^ flip, y = vec_at(&b, at, w) ^ flip;
		bool yes = (how & 3) == 0 ? x == y : (how & 3) == 1 ? x < y : (how & 3) == 2 ? x <= y : false;

		if (self)
			yes = (how & 3) == 0 || (how & 3) == 2;
		if (self || (how & 3) == 3 || (vec_known(&a, at, w) && vec_known(&b, at, w)))
			vec_set(&r, at, w, yes != (how >= 4));
	}
	return vec_put_compared(c, &r, len);
}

/* xtest: in a transaction nothing of this would be. */
static enum emu_outcome no_transaction(struct vec_ctx *c)
{
	vec_put_flags(c, EMU_ZF, EMU_ARITH);
	return EMU_OK;
}

#define SIZES(name, what, shape, ...)                                                                                  \
	VEC_ONE(name##B, 1, what, shape, ##__VA_ARGS__), VEC_ONE(name##W, 2, what, shape, ##__VA_ARGS__),              \
		VEC_ONE(name##D, 4, what, shape, ##__VA_ARGS__), VEC_ONE(name##Q, 8, what, shape, ##__VA_ARGS__)

static const struct vec_rule rows[] = {
	SIZES(KMOV, 0, move_mask),
	SIZES(KAND, 0, combine, .f2 = and),
	SIZES(KANDN, 1, combine, .f2 = and_not),
	SIZES(KOR, 0, combine, .f2 = or),
	SIZES(KXOR, 1, combine, .f2 = xor),
	SIZES(KXNOR, 1, combine, .f2 = xnor),
	SIZES(KADD, 0, combine, .f2 = add),
	SIZES(KNOT, 0, change, .f2 = not ),
	SIZES(KSHIFTL, 0, change, .f2 = left),
	SIZES(KSHIFTR, 0, change, .f2 = right),
	VEC_ONE(KUNPCKBW, 2, 0, combine, .f2 = unpack),
	VEC_ONE(KUNPCKWD, 4, 0, combine, .f2 = unpack),
	VEC_ONE(KUNPCKDQ, 8, 0, combine, .f2 = unpack),
	SIZES(KORTEST, KORTEST, test),
	SIZES(KTEST, KTEST, test),
	VEC_BOTH(PTEST, 0, 0, test_vectors),
	VEC_ONE(VTESTPS, 4, 0, test_vectors),
	VEC_ONE(VTESTPD, 8, 0, test_vectors),
	SIZES(VPCMP, 1, compare_into_mask),
	SIZES(VPCMPU, 0, compare_into_mask),
	VEC_ONE(XTEST, 0, 0, no_transaction),
};
const struct vec_rules vec_masks = { rows, sizeof(rows) / sizeof(*rows) };
