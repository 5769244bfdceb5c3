// SPDX-License-Identifier: GPL-2.0-or-later
/* Rearranging bytes: where each byte of the result comes from. */
#include "emu/emu_vec_priv.h"

/* In a table of sources: byte n of the first source, SECOND + n of the second. */
enum { SECOND = 64, ZERO = 255 };

static void pick_elements(struct emu_vec *r, const struct emu_vec *a, const struct emu_vec *b, const uint8_t *index,
			  unsigned len)
{
	r->known = 0;
	for (unsigned at = 0; at < len; at++) {
		const struct emu_vec *from = index[at] < SECOND ? a : b;
		unsigned n = index[at] % EMU_VEC_BYTES;
		bool zero = index[at] == ZERO;

		r->b[at] = zero ? 0 : from->b[n];
		r->known |= (zero || (from->known >> n & 1) ? 1ull : 0) << at;
	}
}

/* One operand or two; the second is read as far as it has bytes (vinserti128). */
static enum emu_outcome shuffle_of(struct vec_ctx *c, unsigned operands)
{
	unsigned len = vec_len(c);
	uint8_t index[EMU_VEC_BYTES];
	struct emu_vec a, b, r;

	if (!vec_get_all(c, vec_last(c, operands - 1), len, &a) || !vec_get_all(c, vec_last(c, 0), len, &b))
		return c->bad;
	c->rule->select(index, len, vec_imm(c));
	pick_elements(&r, &a, &b, index, len);
	return vec_put(c, &r, len);
}

/* arg: operands. */
static enum emu_outcome shuffle(struct vec_ctx *c)
{
	return shuffle_of(c, c->rule->arg);
}

/* Lanes of 16 bytes: byte `at` of the result and its place in the lane. */
#define LANES(name, expr)                                                                                              \
	static void name(uint8_t *index, unsigned len, uint8_t imm)                                                    \
	{                                                                                                              \
		for (unsigned at = 0; at < len; at++) {                                                                \
			unsigned lane = at & ~15u, n = at & 15;                                                        \
                                                                                                                       \
			(void)lane, (void)n;                                                                           \
			index[at] = (uint8_t)(expr);                                                                   \
		}                                                                                                      \
	}
/* Element e (of w bytes) of the lane. */
#define TAKE(w, e) (lane + (e) * (w) + n % (w))
#define UNPACK(w, half) TAKE(w, n / (w) / 2 + (half) / (w)) + (n / (w) % 2 ? SECOND : 0)

LANES(unpack_low1, UNPACK(1, 0))
LANES(unpack_low2, UNPACK(2, 0))
LANES(unpack_low4, UNPACK(4, 0))
LANES(unpack_low8, UNPACK(8, 0))
LANES(unpack_high1, UNPACK(1, 8))
LANES(unpack_high2, UNPACK(2, 8))
LANES(unpack_high4, UNPACK(4, 8))
LANES(unpack_high8, UNPACK(8, 8))
LANES(shuffle_d, TAKE(4, imm >> (n / 4 * 2) & 3))
LANES(shuffle_low_w, n < 8 ? TAKE(2, imm >> (n / 2 * 2) & 3) : at)
LANES(shuffle_high_w, n < 8 ? at : TAKE(2, 4 + (imm >> ((n / 2 - 4) * 2) & 3)))
LANES(shuffle_ps, TAKE(4, imm >> (n / 4 * 2) & 3) + (n < 8 ? 0 : SECOND))
LANES(shuffle_pd, TAKE(8, imm >> (at / 8) & 1) + (n < 8 ? 0 : SECOND))
LANES(permute_pd, TAKE(8, imm >> (at / 8) & 1))
LANES(shift_left, n < imm ? ZERO : at - imm)
LANES(shift_right, n + imm > 15 ? ZERO : at + imm)
/* The second source's bytes come first. */
LANES(align, n + imm < 16 ? SECOND + at + imm : n + imm < 32 ? at + imm - 16 : ZERO)
LANES(high_to_low, n < 8 ? SECOND + at + 8 : at)
LANES(low_to_high, n < 8 ? at : SECOND + at - 8)
LANES(double_low, lane + n % 8)
LANES(double_even, TAKE(4, n / 4 & ~1u))
LANES(double_odd, TAKE(4, n / 4 | 1))
LANES(blend_w, at + (imm >> (n / 2) & 1 ? SECOND : 0))
LANES(blend_4, at + (imm >> (at / 4) & 1 ? SECOND : 0))
LANES(blend_8, at + (imm >> (at / 8) & 1 ? SECOND : 0))
LANES(permute_q, (at & 32) + (imm >> (at / 8 % 4 * 2) & 3) * 8 + n % 8)

static void permute_halves(uint8_t *index, unsigned len, uint8_t imm)
{
	for (unsigned at = 0; at < len; at++) {
		unsigned how = at < 16 ? imm : imm >> 4;

		index[at] = (uint8_t)(how & 8 ? ZERO : at % 16 + (how & 1) * 16 + (how & 2 ? SECOND : 0));
	}
}

/* vshufi32x4: whole lanes; half of them from either source. */
static void shuffle_lanes(uint8_t *index, unsigned len, uint8_t imm)
{
	unsigned lanes = len / 16, bits = lanes / 2;

	for (unsigned at = 0; at < len; at++) {
		unsigned lane = at / 16, from = imm >> (lane * bits) & (lanes - 1);

		index[at] = (uint8_t)(from * 16 + at % 16 + (lane < lanes / 2 ? 0 : SECOND));
	}
}

static void insert_bytes(uint8_t *index, unsigned len, unsigned w, unsigned which)
{
	unsigned start = which % (len / w) * w;

	for (unsigned at = 0; at < len; at++)
		index[at] = (uint8_t)(at >= start && at < start + w ? SECOND + at - start : at);
}

static void insert_16(uint8_t *index, unsigned len, uint8_t imm)
{
	insert_bytes(index, len, 16, imm);
}

static void insert_32(uint8_t *index, unsigned len, uint8_t imm)
{
	insert_bytes(index, len, 32, imm);
}

static void align_across(uint8_t *index, unsigned len, unsigned by)
{
	by &= len - 1;
	for (unsigned at = 0; at < len; at++)
		index[at] = (uint8_t)(at + by < len ? SECOND + at + by : at + by - len);
}

static void align_d(uint8_t *index, unsigned len, uint8_t imm)
{
	align_across(index, len, imm * 4u);
}

static void align_q(uint8_t *index, unsigned len, uint8_t imm)
{
	align_across(index, len, imm * 8u);
}

static enum emu_outcome insert_ps(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0);
	unsigned imm = vec_imm(c), from = src->kind == EMU_K_MEM ? 0 : imm >> 6;
	uint8_t index[EMU_VEC_BYTES];
	struct emu_vec a, b, r;

	if (!vec_get(c, vec_last(c, 1), &a) || !vec_get(c, src, &b))
		return c->bad;
	for (unsigned at = 0; at < 16; at++) {
		index[at] = (uint8_t)(at / 4 == (imm >> 4 & 3) ? SECOND + from * 4 + at % 4 : at);
		if (imm >> (at / 4) & 1)
			index[at] = ZERO;
	}
	pick_elements(&r, &a, &b, index, 16);
	return vec_put(c, &r, 16);
}

/* Which element, tells a vector (or an immediate: then as shuffle). arg: where from. */
enum { BY_LANE, BY_LANE_PD, ACROSS, ACROSS_DST_SECOND, ACROSS_DST_INDEX };

static enum emu_outcome permute(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c), how = c->rule->arg;
	const struct emu_operand *by_op = vec_last(c, 1), *a_op = vec_last(c, 0), *b_op = a_op;
	uint8_t index[EMU_VEC_BYTES] = { 0 };
	struct emu_vec by, a, b, r;
	uint64_t unknown = 0;

	if (c->i->o[c->i->ops - 1].kind == EMU_K_IMM)
		return c->rule->select ? shuffle_of(c, 1) : EMU_O_NO_RULE;
	if (how == BY_LANE || how == BY_LANE_PD) {
		by_op = vec_last(c, 0);
		a_op = b_op = vec_last(c, 1);
	} else if (how == ACROSS_DST_SECOND) {
		a_op = &c->i->o[0];
	} else if (how == ACROSS_DST_INDEX) {
		by_op = &c->i->o[0];
		a_op = vec_last(c, 1);
	}
	if (!vec_get_all(c, by_op, len, &by) || !vec_get_all(c, a_op, len, &a) || !vec_get_all(c, b_op, len, &b))
		return c->bad;
	for (unsigned at = 0; at < len; at++) {
		unsigned e = at / w * w, n;
		/* Elements have few enough for one byte to tell. */
		if (!(by.known >> e & 1)) {
			unknown |= 1ull << at;
			continue;
		}
		n = by.b[e];
		if (how == BY_LANE)
			index[at] = (uint8_t)((at & ~15u) + n % (16 / w) * w + at % w);
		else if (how == BY_LANE_PD)
			index[at] = (uint8_t)((at & ~15u) + (n >> 1 & 1) * 8 + at % 8);
		else
			index[at] = (uint8_t)(n % (len / w) * w + at % w + (how != ACROSS && n & len / w ? SECOND : 0));
	}
	pick_elements(&r, &a, &b, index, len);
	r.known &= ~unknown;
	return vec_put(c, &r, len);
}

static enum emu_outcome shuffle_b(struct vec_ctx *c)
{
	unsigned len = vec_len(c);
	uint8_t index[EMU_VEC_BYTES];
	struct emu_vec a, by, r;
	uint64_t unknown;

	if (!vec_get_all(c, vec_last(c, 1), len, &a) || !vec_get_all(c, vec_last(c, 0), len, &by))
		return c->bad;
	for (unsigned at = 0; at < len; at++)
		index[at] = (uint8_t)(by.b[at] & 0x80 ? ZERO : (at & ~15u) + (by.b[at] & 15));
	unknown = ~by.known;
	pick_elements(&r, &a, &a, index, len);
	r.known &= ~unknown;
	return vec_put(c, &r, len);
}

/* By the sign of each element of a third operand: xmm0 of the legacy forms. */
static enum emu_outcome blend_by_sign(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c), ops = c->i->ops;
	const struct emu_operand *a_op = &c->i->o[c->i->vex ? 1 : 0], *b_op = &c->i->o[c->i->vex ? 2 : 1];
	uint8_t index[EMU_VEC_BYTES];
	struct emu_vec a, b, by, r;
	uint64_t unknown = 0;

	if (c->i->vex && (ops < 4 || c->i->o[3].kind != EMU_K_VEC))
		return EMU_O_NO_RULE;
	if (!vec_get_all(c, a_op, len, &a) || !vec_get_all(c, b_op, len, &b))
		return c->bad;
	by = c->s->v[c->i->vex ? c->i->o[3].reg : 0];
	for (unsigned at = 0; at < len; at++) {
		unsigned top = at / w * w + w - 1;

		index[at] = (uint8_t)(at + (by.b[top] & 0x80 ? SECOND : 0));
		if (!(by.known >> top & 1))
			unknown |= 1ull << at;
	}
	pick_elements(&r, &a, &b, index, len);
	r.known &= ~unknown;
	return vec_put(c, &r, len);
}

/* vpblendm: the mask chooses between the sources, zeroing aside. */
static enum emu_outcome blend_by_mask(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c), n = c->i->mask;
	struct emu_vec a, b;

	if (!vec_get_each(c, &c->i->o[1], len, &a) || !vec_get_each(c, &c->i->o[2], len, &b))
		return c->bad;
	if (n && !c->i->zeroing) {
		struct emu_insn plain = *c->i;
		struct vec_ctx unmasked = *c;

		for (unsigned at = 0; at < len; at++)
			if (!(c->s->k[n] >> (at / w) & 1)) {
				b.b[at] = a.b[at];
				b.known = (b.known & ~(1ull << at)) | (a.known & 1ull << at);
			}
		if (!(c->s->k_known >> n & 1))
			b.known = 0;
		plain.mask = 0;
		unmasked.i = &plain;
		return vec_put(&unmasked, &b, len);
	}
	return vec_put(c, &b, len);
}

#define ONE(name, w, f) VEC_BOTH(name, w, 1, shuffle, .select = f)
#define TWO(name, w, f) VEC_BOTH(name, w, 2, shuffle, .select = f)
#define V_TWO(name, w, f) VEC_ONE(V##name, w, 2, shuffle, .select = f)

static const struct vec_rule rows[] = {
	TWO(PUNPCKLBW, 1, unpack_low1),
	TWO(PUNPCKLWD, 2, unpack_low2),
	TWO(PUNPCKLDQ, 4, unpack_low4),
	TWO(PUNPCKLQDQ, 8, unpack_low8),
	TWO(PUNPCKHBW, 1, unpack_high1),
	TWO(PUNPCKHWD, 2, unpack_high2),
	TWO(PUNPCKHDQ, 4, unpack_high4),
	TWO(PUNPCKHQDQ, 8, unpack_high8),
	TWO(UNPCKLPS, 4, unpack_low4),
	TWO(UNPCKLPD, 8, unpack_low8),
	TWO(UNPCKHPS, 4, unpack_high4),
	TWO(UNPCKHPD, 8, unpack_high8),
	ONE(PSHUFD, 4, shuffle_d),
	ONE(PSHUFLW, 2, shuffle_low_w),
	ONE(PSHUFHW, 2, shuffle_high_w),
	TWO(SHUFPS, 4, shuffle_ps),
	TWO(SHUFPD, 8, shuffle_pd),
	TWO(PALIGNR, 1, align),
	ONE(PSLLDQ, 0, shift_left),
	ONE(PSRLDQ, 0, shift_right),
	TWO(MOVHLPS, 0, high_to_low),
	TWO(MOVLHPS, 0, low_to_high),
	ONE(MOVDDUP, 8, double_low),
	ONE(MOVSLDUP, 4, double_even),
	ONE(MOVSHDUP, 4, double_odd),
	TWO(PBLENDW, 0, blend_w),
	TWO(BLENDPS, 0, blend_4),
	TWO(BLENDPD, 0, blend_8),
	V_TWO(PBLENDD, 0, blend_4),
	VEC_ONE(VPERMQ, 8, ACROSS, permute, .select = permute_q),
	VEC_ONE(VPERMPD, 8, ACROSS, permute, .select = permute_q),
	V_TWO(PERM2I128, 0, permute_halves),
	V_TWO(PERM2F128, 0, permute_halves),
	V_TWO(SHUFI32X4, 4, shuffle_lanes),
	V_TWO(SHUFI64X2, 8, shuffle_lanes),
	V_TWO(SHUFF32X4, 4, shuffle_lanes),
	V_TWO(SHUFF64X2, 8, shuffle_lanes),
	V_TWO(INSERTI128, 0, insert_16),
	V_TWO(INSERTF128, 0, insert_16),
	V_TWO(INSERTI32X4, 4, insert_16),
	V_TWO(INSERTI64X2, 8, insert_16),
	V_TWO(INSERTF32X4, 4, insert_16),
	V_TWO(INSERTF64X2, 8, insert_16),
	V_TWO(INSERTI32X8, 4, insert_32),
	V_TWO(INSERTI64X4, 8, insert_32),
	V_TWO(INSERTF32X8, 4, insert_32),
	V_TWO(INSERTF64X4, 8, insert_32),
	V_TWO(ALIGND, 4, align_d),
	V_TWO(ALIGNQ, 8, align_q),
	VEC_ONE(VPERMILPS, 4, BY_LANE, permute, .select = shuffle_d),
	VEC_ONE(VPERMILPD, 8, BY_LANE_PD, permute, .select = permute_pd),
	VEC_BOTH(INSERTPS, 0, 0, insert_ps),
	VEC_BOTH(PSHUFB, 1, 0, shuffle_b),
	VEC_ONE(VPERMB, 1, ACROSS, permute),
	VEC_ONE(VPERMW, 2, ACROSS, permute),
	VEC_ONE(VPERMD, 4, ACROSS, permute),
	VEC_ONE(VPERMPS, 4, ACROSS, permute),
	VEC_ONE(VPERMT2B, 1, ACROSS_DST_SECOND, permute),
	VEC_ONE(VPERMT2W, 2, ACROSS_DST_SECOND, permute),
	VEC_ONE(VPERMT2PS, 4, ACROSS_DST_SECOND, permute),
	VEC_ONE(VPERMT2PD, 8, ACROSS_DST_SECOND, permute),
	VEC_ONE(VPERMI2PS, 4, ACROSS_DST_INDEX, permute),
	VEC_ONE(VPERMI2PD, 8, ACROSS_DST_INDEX, permute),
	VEC_ONE(VPERMT2D, 4, ACROSS_DST_SECOND, permute),
	VEC_ONE(VPERMT2Q, 8, ACROSS_DST_SECOND, permute),
	VEC_ONE(VPERMI2B, 1, ACROSS_DST_INDEX, permute),
	VEC_ONE(VPERMI2W, 2, ACROSS_DST_INDEX, permute),
	VEC_ONE(VPERMI2D, 4, ACROSS_DST_INDEX, permute),
	VEC_ONE(VPERMI2Q, 8, ACROSS_DST_INDEX, permute),
	VEC_BOTH(PBLENDVB, 1, 0, blend_by_sign),
	VEC_BOTH(BLENDVPS, 4, 0, blend_by_sign),
	VEC_BOTH(BLENDVPD, 8, 0, blend_by_sign),
	VEC_ONE(VPBLENDMB, 1, 0, blend_by_mask),
	VEC_ONE(VPBLENDMW, 2, 0, blend_by_mask),
	VEC_ONE(VPBLENDMD, 4, 0, blend_by_mask),
	VEC_ONE(VPBLENDMQ, 8, 0, blend_by_mask),
	VEC_ONE(VBLENDMPS, 4, 0, blend_by_mask),
	VEC_ONE(VBLENDMPD, 8, 0, blend_by_mask),
};
const struct vec_rules vec_shuffles = { rows, sizeof(rows) / sizeof(*rows) };
