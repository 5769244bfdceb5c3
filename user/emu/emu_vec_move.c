// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves between vectors, memory and general registers; single elements; sign bits. */
#include "emu/emu_vec_priv.h"

static enum emu_outcome move(struct vec_ctx *c)
{
	unsigned len = vec_len(c);
	struct emu_vec a;

	return vec_get_each(c, &c->i->o[1], len, &a) ? vec_put(c, &a, len) : c->bad;
}

/* movd, movq: arg bytes; the vector's rest becomes zero. */
static enum emu_outcome move_low(struct vec_ctx *c)
{
	const struct emu_operand *dst = &c->i->o[0], *src = &c->i->o[1];
	unsigned w = c->rule->arg;
	struct emu_vec a;

	if (dst->kind == EMU_K_REG || src->kind == EMU_K_REG) /* movd with REX.W is movq */
		w = (dst->kind == EMU_K_REG ? dst : src)->size;
	if ((w != 4 && w != 8) || !vec_get(c, src, &a))
		return c->bad;
	if (dst->kind == EMU_K_REG)
		return vec_put_gpr(c, dst, vec_at(&a, 0, w), vec_known(&a, 0, w));
	if (dst->kind == EMU_K_MEM)
		return vec_put(c, &a, w);
	memset(a.b + w, 0, 16 - w);
	a.known |= ~vec_ones(w);
	return vec_put(c, &a, 16);
}

/* movss, movsd: from memory the rest becomes zero, from a register it stays. */
static enum emu_outcome move_scalar(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0), *dst = &c->i->o[0];
	unsigned w = c->rule->element;
	struct emu_vec a;

	if (dst->kind != EMU_K_VEC && dst->kind != EMU_K_MEM)
		return EMU_O_NO_RULE; /* the string instruction of this name */
	if (!vec_get(c, src, &a))
		return c->bad;
	if (dst->kind == EMU_K_MEM)
		return vec_put(c, &a, w);
	if (src->kind == EMU_K_VEC)
		return vec_put_scalar(c, &a, w);
	a.known |= ~vec_ones(w);
	return vec_put(c, &a, c->i->vex ? w : 16);
}

/* movlps, movhps: arg: where the eight bytes lie in the register; the other ones come from the first source. */
static enum emu_outcome move_half(struct vec_ctx *c)
{
	const struct emu_operand *dst = &c->i->o[0], *first = vec_last(c, 1);
	unsigned at = c->rule->arg;
	struct emu_vec a, r;

	if (!vec_get(c, vec_last(c, 0), &a))
		return c->bad;
	if (dst->kind == EMU_K_MEM) {
		memmove(a.b, a.b + at, 8);
		a.known >>= at;
		return vec_put(c, &a, 8);
	}
	if (first->kind != EMU_K_VEC)
		return EMU_O_NO_RULE;
	r = c->s->v[first->reg];
	memcpy(r.b + at, a.b, 8);
	r.known = (r.known & ~(0xffull << at)) | (a.known & 0xff) << at;
	return vec_put(c, &r, 16);
}

/* pinsr: arg: bytes. */
static enum emu_outcome insert(struct vec_ctx *c)
{
	const struct emu_operand *first = vec_last(c, 1);
	unsigned w = c->rule->arg, at = vec_imm(c) % (16 / w) * w;
	struct emu_vec a, r;

	if (first->kind != EMU_K_VEC)
		return EMU_O_NO_RULE;
	if (!vec_get(c, vec_last(c, 0), &a))
		return c->bad;
	r = c->s->v[first->reg];
	memcpy(r.b + at, a.b, w);
	r.known = (r.known & ~(vec_ones(w) << at)) | (a.known & vec_ones(w)) << at;
	return vec_put(c, &r, 16);
}

/* pextr, vextracti128 and others: arg: bytes. */
static enum emu_outcome extract(struct vec_ctx *c)
{
	const struct emu_operand *dst = &c->i->o[0], *src = &c->i->o[1];
	unsigned w = c->rule->arg, at;
	struct emu_vec a;

	if (src->kind != EMU_K_VEC || src->size < w)
		return EMU_O_NO_RULE;
	at = vec_imm(c) % (src->size / w) * w;
	a = c->s->v[src->reg];
	memmove(a.b, a.b + at, w);
	a.known >>= at;
	if (dst->kind == EMU_K_REG)
		return vec_put_gpr(c, dst, vec_at(&a, 0, w), vec_known(&a, 0, w));
	return vec_put(c, &a, w);
}

/* arg: bytes that are repeated. */
static enum emu_outcome broadcast(struct vec_ctx *c)
{
	unsigned w = c->rule->arg, len = vec_len(c);
	struct emu_vec a;

	if (c->i->o[0].kind != EMU_K_VEC || !vec_get(c, &c->i->o[1], &a))
		return c->bad;
	vec_repeat(&a, w, len);
	return vec_put(c, &a, len);
}

/* The sign of each element. */
static enum emu_outcome signs(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0);
	unsigned w = c->rule->element, len = src->size;
	uint64_t bits = 0;
	bool known = true;
	struct emu_vec a;

	if (src->kind != EMU_K_VEC || !vec_get(c, src, &a))
		return c->bad;
	for (unsigned e = 0; e * w < len; e++) {
		unsigned top = (e + 1) * w - 1;

		known = known && (a.known >> top & 1);
		bits |= (uint64_t)(a.b[top] >> 7) << e;
	}
	if (c->i->o[0].kind == EMU_K_MASK)
		return vec_put_mask(c, c->i->o[0].reg, bits, known);
	return vec_put_gpr(c, &c->i->o[0], bits, known);
}

/* vpmovm2b: each bit of a mask all over an element. */
static enum emu_outcome spread_mask(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0);
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec r = { .known = 0 };

	if (src->kind != EMU_K_MASK)
		return EMU_O_NO_RULE;
	if (c->s->k_known >> src->reg & 1)
		for (unsigned e = 0; e * w < len; e++)
			vec_set(&r, e * w, w, c->s->k[src->reg] >> e & 1 ? ~0ull : 0);
	return vec_put(c, &r, len);
}

/* vmaskmov: as the signs of the first source's elements say; a load's other elements become zero. */
static enum emu_outcome move_by_signs(struct vec_ctx *c)
{
	const struct emu_operand *dst = &c->i->o[0], *mem = dst->kind == EMU_K_MEM ? dst : &c->i->o[2];
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec by, r = { .known = 0 };
	uint64_t addr;

	if (mem->kind != EMU_K_MEM || c->i->o[1].kind != EMU_K_VEC || (dst == mem && c->i->o[2].kind != EMU_K_VEC))
		return EMU_O_NO_RULE;
	by = c->s->v[c->i->o[1].reg];
	if (!emu_address(c->s, mem, c->s->r[WREG_IP] + c->i->len, &addr))
		return dst == mem ? EMU_OK : vec_put(c, &r, len);
	if (dst == mem)
		r = c->s->v[c->i->o[2].reg];
	for (unsigned at = 0; at < len; at += w) {
		bool known = by.known >> (at + w - 1) & 1, moved = by.b[at + w - 1] & 0x80, ok = true;
		uint64_t element_known;

		if (!known) {
			if (dst == mem)
				for (unsigned b = 0; b < w; b++)
					emu_mem_forget(c->m, addr + at + b, 1);
		} else if (dst == mem) {
			ok = !moved || emu_mem_write(c->m, addr + at, r.b + at, w, r.known >> at & vec_ones(w));
		} else if (moved) {
			ok = emu_mem_read(c->m, addr + at, r.b + at, w, &element_known);
			r.known |= ok ? (element_known & vec_ones(w)) << at : 0;
		} else {
			vec_set(&r, at, w, 0);
		}
		if (!ok)
			return EMU_O_FAULT;
	}
	return dst == mem ? EMU_OK : vec_put(c, &r, len);
}

/* vzeroupper, vzeroall: arg: bytes that stay. Only the first sixteen registers. */
static enum emu_outcome zero_registers(struct vec_ctx *c)
{
	for (unsigned n = 0; n < 16; n++) {
		memset(c->s->v[n].b + c->rule->arg, 0, EMU_VEC_BYTES - c->rule->arg);
		c->s->v[n].known |= ~vec_ones(c->rule->arg);
	}
	return EMU_OK;
}

static const struct vec_rule rows[] = {
	VEC_BOTH(MOVAPS, 4, 0, move),
	VEC_BOTH(MOVUPS, 4, 0, move),
	VEC_BOTH(MOVAPD, 8, 0, move),
	VEC_BOTH(MOVUPD, 8, 0, move),
	VEC_BOTH(MOVDQA, 0, 0, move),
	VEC_BOTH(MOVDQU, 0, 0, move),
	VEC_BOTH(LDDQU, 0, 0, move),
	VEC_BOTH(MOVNTDQ, 0, 0, move),
	VEC_BOTH(MOVNTDQA, 0, 0, move),
	VEC_BOTH(MOVNTPS, 0, 0, move),
	VEC_BOTH(MOVNTPD, 0, 0, move),
	VEC_ONE(VMOVDQU8, 1, 0, move),
	VEC_ONE(VMOVDQU16, 2, 0, move),
	VEC_ONE(VMOVDQU32, 4, 0, move),
	VEC_ONE(VMOVDQU64, 8, 0, move),
	VEC_ONE(VMOVDQA32, 4, 0, move),
	VEC_ONE(VMOVDQA64, 8, 0, move),
	VEC_BOTH(MOVD, 0, 4, move_low),
	VEC_BOTH(MOVQ, 0, 8, move_low),
	VEC_BOTH(MOVSS, 4, 0, move_scalar),
	VEC_BOTH(MOVSD, 8, 0, move_scalar),
	VEC_BOTH(MOVLPS, 0, 0, move_half),
	VEC_BOTH(MOVLPD, 0, 0, move_half),
	VEC_BOTH(MOVHPS, 0, 8, move_half),
	VEC_BOTH(MOVHPD, 0, 8, move_half),
	VEC_BOTH(PINSRB, 0, 1, insert),
	VEC_BOTH(PINSRW, 0, 2, insert),
	VEC_BOTH(PINSRD, 0, 4, insert),
	VEC_BOTH(PINSRQ, 0, 8, insert),
	VEC_BOTH(PEXTRB, 0, 1, extract),
	VEC_BOTH(PEXTRW, 0, 2, extract),
	VEC_BOTH(PEXTRD, 0, 4, extract),
	VEC_BOTH(PEXTRQ, 0, 8, extract),
	VEC_BOTH(EXTRACTPS, 0, 4, extract),
	VEC_ONE(VEXTRACTI128, 0, 16, extract),
	VEC_ONE(VEXTRACTF128, 0, 16, extract),
	VEC_ONE(VEXTRACTI32X4, 4, 16, extract),
	VEC_ONE(VEXTRACTI64X2, 8, 16, extract),
	VEC_ONE(VEXTRACTI32X8, 4, 32, extract),
	VEC_ONE(VEXTRACTI64X4, 8, 32, extract),
	VEC_ONE(VEXTRACTF32X4, 4, 16, extract),
	VEC_ONE(VEXTRACTF64X2, 8, 16, extract),
	VEC_ONE(VEXTRACTF32X8, 4, 32, extract),
	VEC_ONE(VEXTRACTF64X4, 8, 32, extract),
	VEC_ONE(VPBROADCASTB, 1, 1, broadcast),
	VEC_ONE(VPBROADCASTW, 2, 2, broadcast),
	VEC_ONE(VPBROADCASTD, 4, 4, broadcast),
	VEC_ONE(VPBROADCASTQ, 8, 8, broadcast),
	VEC_ONE(VBROADCASTSS, 4, 4, broadcast),
	VEC_ONE(VBROADCASTSD, 8, 8, broadcast),
	VEC_ONE(VBROADCASTI128, 0, 16, broadcast),
	VEC_ONE(VBROADCASTF128, 0, 16, broadcast),
	VEC_ONE(VBROADCASTI32X2, 4, 8, broadcast),
	VEC_ONE(VBROADCASTF32X2, 4, 8, broadcast),
	VEC_ONE(VBROADCASTI32X4, 4, 16, broadcast),
	VEC_ONE(VBROADCASTF32X4, 4, 16, broadcast),
	VEC_ONE(VBROADCASTI64X2, 8, 16, broadcast),
	VEC_ONE(VBROADCASTF64X2, 8, 16, broadcast),
	VEC_ONE(VBROADCASTI32X8, 4, 32, broadcast),
	VEC_ONE(VBROADCASTF32X8, 4, 32, broadcast),
	VEC_ONE(VBROADCASTI64X4, 8, 32, broadcast),
	VEC_ONE(VBROADCASTF64X4, 8, 32, broadcast),
	VEC_BOTH(PMOVMSKB, 1, 0, signs),
	VEC_BOTH(MOVMSKPS, 4, 0, signs),
	VEC_BOTH(MOVMSKPD, 8, 0, signs),
	VEC_ONE(VPMOVB2M, 1, 0, signs),
	VEC_ONE(VPMOVW2M, 2, 0, signs),
	VEC_ONE(VPMOVD2M, 4, 0, signs),
	VEC_ONE(VPMOVQ2M, 8, 0, signs),
	VEC_ONE(VPMOVM2B, 1, 0, spread_mask),
	VEC_ONE(VPMOVM2W, 2, 0, spread_mask),
	VEC_ONE(VPMOVM2D, 4, 0, spread_mask),
	VEC_ONE(VPMOVM2Q, 8, 0, spread_mask),
	VEC_ONE(VMASKMOVPS, 4, 0, move_by_signs),
	VEC_ONE(VMASKMOVPD, 8, 0, move_by_signs),
	VEC_ONE(VPMASKMOVD, 4, 0, move_by_signs),
	VEC_ONE(VPMASKMOVQ, 8, 0, move_by_signs),
	VEC_ONE(VZEROUPPER, 0, 16, zero_registers),
	VEC_ONE(VZEROALL, 0, 0, zero_registers),
};
const struct vec_rules vec_moves = { rows, sizeof(rows) / sizeof(*rows) };
