// SPDX-License-Identifier: GPL-2.0-or-later
/* Text comparisons of SSE4.2, and the polynomials that checksums are made of. */
#include "emu/emu_vec_priv.h"

/* ---- pcmpestri, pcmpestrm, pcmpistri, pcmpistrm ---- */

enum {
	WORDS = 1,
	SIGNED = 2,
	ANY = 0 << 2,
	RANGES = 1 << 2,
	EACH = 2 << 2,
	ORDERED = 3 << 2,
	HOW = 3 << 2,
	NEGATE = 1 << 4,
	VALID_ONLY = 1 << 5,
	LAST_OR_WIDE = 1 << 6
};
/* arg */
enum { LENGTHS = 1 /* in rax and rdx */, MASK = 2 /* into xmm0, not ecx */ };

struct text {
	int32_t at[16];
	unsigned len;
};

static void text_of_vector(struct text *t, const struct emu_vec *v, unsigned imm)
{
	unsigned w = imm & WORDS ? 2 : 1;

	t->len = 16 / w;
	for (unsigned n = 0; n < 16 / w; n++) {
		uint64_t x = vec_at(v, n * w, w);

		t->at[n] = (int32_t)(imm & SIGNED ? vec_signed(x, w * 8) : (int64_t)x);
		if (!x && t->len > n)
			t->len = n;
	}
}

/* As far as the instruction reads 32 bits of it and 64 alike. */
static bool given_length(const struct vec_ctx *c, unsigned reg, struct text *t, unsigned n)
{
	uint64_t len = c->s->r[reg];

	if (!(c->s->known >> reg & 1) || len > INT32_MAX)
		return false;
	t->len = len < n ? (unsigned)len : n;
	return true;
}

static bool text_matches(const struct text *a, const struct text *b, unsigned j, unsigned n, unsigned imm)
{
	bool yes = false;

	switch (imm & HOW) {
	case ANY:
		for (unsigned i = 0; i < a->len && j < b->len; i++)
			yes |= a->at[i] == b->at[j];
		return yes;
	case RANGES:
		for (unsigned i = 0; i + 1 < a->len && j < b->len; i += 2)
			yes |= a->at[i] <= b->at[j] && b->at[j] <= a->at[i + 1];
		return yes;
	case EACH: return j < a->len && j < b->len ? a->at[j] == b->at[j] : j >= a->len && j >= b->len;
	default:
		for (unsigned i = 0; i < a->len && i + j < n; i++)
			if (i + j >= b->len || a->at[i] != b->at[i + j])
				return false;
		return true;
	}
}

static enum emu_outcome put_index_register(struct vec_ctx *c, unsigned found, unsigned n, bool known)
{
	const struct emu_operand cx = { .kind = EMU_K_REG, .reg = WREG_CX, .size = 4 };
	unsigned index = n;

	if (found)
		index = vec_imm(c) & LAST_OR_WIDE ? 31 - (unsigned)__builtin_clz(found)
						  : (unsigned)__builtin_ctz(found);
	return vec_put_gpr(c, &cx, index, known);
}

static enum emu_outcome put_bits(struct vec_ctx *c, unsigned found, unsigned n, bool known)
{
	const struct emu_operand xmm0 = { .kind = EMU_K_VEC, .reg = 0, .size = 16, .written = true };
	struct emu_vec r = { .known = 0 };
	struct emu_insn to = *c->i;
	struct vec_ctx there = *c;

	if (known && vec_imm(c) & LAST_OR_WIDE) {
		for (unsigned j = 0; j < n; j++)
			vec_set(&r, j * 16 / n, 16 / n, found >> j & 1 ? ~0ull : 0);
	} else if (known) {
		vec_set(&r, 0, 8, found);
		vec_set(&r, 8, 8, 0);
	}
	to.o[0] = xmm0;
	there.i = &to;
	return vec_put(&there, &r, 16);
}

static enum emu_outcome compare_text(struct vec_ctx *c)
{
	unsigned imm = vec_imm(c), n = imm & WORDS ? 8 : 16, found = 0, flags;
	struct emu_vec va, vb;
	struct text a, b;
	bool known;

	if (!vec_get(c, &c->i->o[0], &va) || !vec_get(c, &c->i->o[1], &vb))
		return c->bad;
	known = vec_known(&va, 0, 16) && vec_known(&vb, 0, 16);
	text_of_vector(&a, &va, imm);
	text_of_vector(&b, &vb, imm);
	if (c->rule->arg & LENGTHS && !(given_length(c, WREG_AX, &a, n) && given_length(c, WREG_DX, &b, n)))
		return EMU_O_NO_RULE;
	for (unsigned j = 0; j < n; j++)
		found |= (unsigned)(text_matches(&a, &b, j, n, imm) !=
				    (imm & NEGATE && !(imm & VALID_ONLY && j >= b.len)))
			 << j;
	flags = (found ? EMU_CF : 0) | (b.len < n ? EMU_ZF : 0) | (a.len < n ? EMU_SF : 0) | (found & 1 ? EMU_OF : 0);
	vec_put_flags(c, flags, known ? EMU_ARITH : EMU_AF | EMU_PF);
	return c->rule->arg & MASK ? put_bits(c, found, n, known) : put_index_register(c, found, n, known);
}

/* ---- polynomials ---- */

static enum emu_outcome crc32(struct vec_ctx *c)
{
	const struct emu_operand *dst = &c->i->o[0], *src = &c->i->o[1];
	struct emu_vec a, b;
	uint32_t crc;

	if (dst->kind != EMU_K_REG || src->size > 8 || !vec_get(c, dst, &a) || !vec_get(c, src, &b))
		return c->bad;
	crc = (uint32_t)vec_at(&a, 0, 4);
	for (unsigned n = 0; n < src->size; n++) {
		crc ^= b.b[n];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return vec_put_gpr(c, dst, crc, vec_known(&a, 0, 4) && vec_known(&b, 0, src->size));
}

static enum emu_outcome multiply_polynomials(struct vec_ctx *c)
{
	unsigned len = vec_len(c), at_a = vec_imm(c) & 1 ? 8 : 0, at_b = vec_imm(c) & 16 ? 8 : 0;
	struct emu_vec a, b, r = { .known = 0 };

	if (!vec_get_all(c, vec_last(c, 1), len, &a) || !vec_get_all(c, vec_last(c, 0), len, &b))
		return c->bad;
	for (unsigned at = 0; at < len; at += 16) {
		uint64_t x = vec_at(&a, at + at_a, 8), y = vec_at(&b, at + at_b, 8), low = 0, high = 0;

		if (!vec_known(&a, at + at_a, 8) || !vec_known(&b, at + at_b, 8))
			continue;
		for (unsigned n = 0; n < 64; n++)
			if (y >> n & 1) {
				low ^= x << n;
				high ^= n ? x >> (64 - n) : 0;
			}
		vec_set(&r, at, 8, low);
		vec_set(&r, at + 8, 8, high);
	}
	return vec_put(c, &r, len);
}

static const struct vec_rule rows[] = {
	VEC_BOTH(PCMPISTRI, 0, 0, compare_text),
	VEC_BOTH(PCMPISTRM, 0, MASK, compare_text),
	VEC_BOTH(PCMPESTRI, 0, LENGTHS, compare_text),
	VEC_BOTH(PCMPESTRM, 0, LENGTHS | MASK, compare_text),
	VEC_ONE(CRC32, 0, 0, crc32),
	VEC_BOTH(PCLMULQDQ, 0, 0, multiply_polynomials),
};
const struct vec_rules vec_texts = { rows, sizeof(rows) / sizeof(*rows) };
