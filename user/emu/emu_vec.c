// SPDX-License-Identifier: GPL-2.0-or-later
/* Vector operands of the emulator: reading them from registers, masks and memory, and writing results back. */
#include "emu/emu_vec_priv.h"

const struct emu_operand *vec_last(const struct vec_ctx *c, unsigned n)
{
	static const struct emu_operand none = { .kind = EMU_K_NONE };
	unsigned ops = c->i->ops;

	if (ops && c->i->o[ops - 1].kind == EMU_K_IMM)
		ops--;
	return n < ops ? &c->i->o[ops - 1 - n] : &none;
}

uint8_t vec_imm(const struct vec_ctx *c)
{
	const struct emu_insn *i = c->i;

	return i->ops && i->o[i->ops - 1].kind == EMU_K_IMM ? (uint8_t)i->o[i->ops - 1].value : 0;
}

unsigned vec_len(const struct vec_ctx *c)
{
	for (unsigned n = 0; n < c->i->ops; n++)
		if (c->i->o[n].kind == EMU_K_VEC)
			return c->i->o[n].size <= EMU_VEC_BYTES ? c->i->o[n].size : 0;
	return 0;
}

bool vec_same(const struct emu_operand *a, const struct emu_operand *b)
{
	return a->kind == EMU_K_VEC && b->kind == EMU_K_VEC && a->reg == b->reg;
}

static bool address(const struct vec_ctx *c, const struct emu_operand *o, uint64_t *addr)
{
	return emu_address(c->s, o, c->s->r[WREG_IP] + c->i->len, addr);
}

static bool mask_is_known(const struct vec_ctx *c)
{
	return c->s->k_known >> c->i->mask & 1;
}

/* Elements that the mask leaves out are not touched, so they may lie where nothing is mapped. */
static bool get_masked(struct vec_ctx *c, const struct emu_operand *o, uint64_t addr, struct emu_vec *out)
{
	unsigned w = c->rule->element;
	uint64_t k = mask_is_known(c) ? c->s->k[c->i->mask] : 0;

	for (unsigned e = 0; e * w < o->size; e++) {
		uint64_t known;

		if (!(k >> e & 1))
			continue;
		if (!emu_mem_read(c->m, addr + e * w, out->b + e * w, w, &known)) {
			c->bad = EMU_O_FAULT;
			return false;
		}
		out->known |= (known & vec_ones(w)) << (e * w);
	}
	return true;
}

bool vec_get(struct vec_ctx *c, const struct emu_operand *o, struct emu_vec *out)
{
	uint64_t addr;

	c->bad = EMU_O_NO_RULE;
	if (o->kind == EMU_K_VEC) {
		*out = c->s->v[o->reg];
		return true;
	}
	memset(out, 0, sizeof(*out));
	if (o->kind == EMU_K_REG || o->kind == EMU_K_MASK) {
		bool known = o->kind == EMU_K_REG ? c->s->known >> o->reg & 1 : c->s->k_known >> o->reg & 1;

		if (known)
			vec_set(out, 0, 8, o->kind == EMU_K_REG ? c->s->r[o->reg] : c->s->k[o->reg]);
		return true;
	}
	if (o->kind != EMU_K_MEM || !o->size || o->size > EMU_VEC_BYTES)
		return false;
	if (!address(c, o, &addr))
		return true;
	if (!emu_mem_read(c->m, addr, out->b, o->size, &out->known)) {
		memset(out, 0, sizeof(*out));
		c->bad = EMU_O_FAULT;
		return c->i->mask; /* may be one that asks for nothing */
	}
	out->known &= vec_ones(o->size);
	return true;
}

void vec_repeat(struct emu_vec *v, unsigned bytes, unsigned len)
{
	v->known &= vec_ones(bytes);
	for (unsigned have = bytes; have && have < len && have * 2 <= EMU_VEC_BYTES; have *= 2) {
		memcpy(v->b + have, v->b, have);
		v->known |= v->known << have;
	}
}

bool vec_get_all(struct vec_ctx *c, const struct emu_operand *o, unsigned len, struct emu_vec *out)
{
	if (!vec_get(c, o, out))
		return false;
	if (o->kind != EMU_K_MEM)
		return true;
	vec_repeat(out, o->size, len);
	return true;
}

bool vec_get_each(struct vec_ctx *c, const struct emu_operand *o, unsigned len, struct emu_vec *out)
{
	uint64_t addr;

	if (o->kind != EMU_K_MEM || o->size != len || !c->i->mask || !c->rule->element)
		return vec_get_all(c, o, len, out);
	memset(out, 0, sizeof(*out));
	return !address(c, o, &addr) || get_masked(c, o, addr, out);
}

static enum emu_outcome store_elements(struct vec_ctx *c, const struct emu_operand *o, const struct emu_vec *r,
				       unsigned len)
{
	unsigned w = c->rule->element;
	uint64_t addr, k;

	if (!address(c, o, &addr))
		return EMU_OK;
	if (!c->i->mask)
		return emu_mem_write(c->m, addr, r->b, len, r->known & vec_ones(len)) ? EMU_OK : EMU_O_FAULT;
	if (!w)
		return EMU_O_NO_RULE;
	if (!mask_is_known(c)) { /* where it ends nothing need be mapped */
		for (unsigned at = 0; at < len; at++)
			emu_mem_forget(c->m, addr + at, 1);
		return EMU_OK;
	}
	k = c->s->k[c->i->mask];
	for (unsigned e = 0; e * w < len; e++)
		if (k >> e & 1 &&
		    !emu_mem_write(c->m, addr + e * w, r->b + e * w, w, r->known >> (e * w) & vec_ones(w)))
			return EMU_O_FAULT;
	return EMU_OK;
}

/* Bytes of the result that the mask keeps out become zero, or stay as they are in the destination. */
static void apply_mask(const struct vec_ctx *c, const struct emu_vec *old, struct emu_vec *r, unsigned len)
{
	uint64_t k = c->s->k[c->i->mask];
	unsigned w = c->rule->element;

	for (unsigned at = 0; at < len; at++) {
		uint8_t keep = c->i->zeroing ? 0 : old->b[at];
		bool keep_known = c->i->zeroing || (old->known >> at & 1), known = r->known >> at & 1;

		if (!mask_is_known(c)) {
			known = known && keep_known && keep == r->b[at];
		} else if (!(k >> (at / w) & 1)) {
			r->b[at] = keep;
			known = keep_known;
		}
		r->known = (r->known & ~(1ull << at)) | (uint64_t)known << at;
	}
}

static enum emu_outcome write_register(struct vec_ctx *c, const struct emu_vec *r, unsigned len)
{
	struct emu_vec *dst = &c->s->v[c->i->o[0].reg];

	memmove(dst->b, r->b, len);
	dst->known = (dst->known & ~vec_ones(len)) | (r->known & vec_ones(len));
	if (c->i->vex) {
		memset(dst->b + len, 0, EMU_VEC_BYTES - len);
		dst->known |= ~vec_ones(len);
	}
	return EMU_OK;
}

enum emu_outcome vec_put(struct vec_ctx *c, const struct emu_vec *r, unsigned len)
{
	const struct emu_operand *o = &c->i->o[0];
	struct emu_vec out;

	if (!len || len > EMU_VEC_BYTES)
		return EMU_O_NO_RULE;
	if (o->kind == EMU_K_MEM)
		return store_elements(c, o, r, len);
	if (o->kind != EMU_K_VEC || (c->i->mask && !c->rule->element))
		return EMU_O_NO_RULE;
	if (!c->i->mask)
		return write_register(c, r, len);
	out = *r;
	apply_mask(c, &c->s->v[o->reg], &out, len);
	return write_register(c, &out, len);
}

enum emu_outcome vec_put_over(struct vec_ctx *c, const struct emu_operand *first, const struct emu_vec *r, unsigned len)
{
	const struct emu_operand *dst = &c->i->o[0];
	struct emu_vec out, low = *r;

	if (first->kind != EMU_K_VEC || dst->kind != EMU_K_VEC || (c->i->mask && c->rule->element != len))
		return EMU_O_NO_RULE;
	if (c->i->mask)
		apply_mask(c, &c->s->v[dst->reg], &low, len);
	out = c->s->v[first->reg];
	memcpy(out.b, low.b, len);
	out.known = (out.known & ~vec_ones(len)) | (low.known & vec_ones(len));
	return write_register(c, &out, 16);
}

enum emu_outcome vec_put_scalar(struct vec_ctx *c, const struct emu_vec *r, unsigned len)
{
	return vec_put_over(c, &c->i->o[c->i->ops > 1 && c->i->vex ? 1 : 0], r, len);
}

enum emu_outcome vec_put_compared(struct vec_ctx *c, const struct emu_vec *r, unsigned len)
{
	unsigned w = c->rule->element;
	uint64_t k = 0, under = ~0ull;

	if (c->i->o[0].kind != EMU_K_MASK)
		return vec_put(c, r, len);
	if (c->i->mask) {
		if (!mask_is_known(c))
			return vec_put_mask(c, c->i->o[0].reg, 0, false);
		under = c->s->k[c->i->mask];
	}
	for (unsigned e = 0; e * w < len; e++) {
		if (!(under >> e & 1))
			continue;
		if (!vec_known(r, e * w, w))
			return vec_put_mask(c, c->i->o[0].reg, 0, false);
		k |= (uint64_t)(vec_at(r, e * w, w) != 0) << e;
	}
	return vec_put_mask(c, c->i->o[0].reg, k, true);
}

enum emu_outcome vec_put_gpr(struct vec_ctx *c, const struct emu_operand *o, uint64_t value, bool known)
{
	if (o->kind != EMU_K_REG)
		return EMU_O_NO_RULE;
	c->s->r[o->reg] = o->size >= 8 ? value : (uint32_t)value;
	c->s->known = (c->s->known & ~(1u << o->reg)) | (uint32_t)known << o->reg;
	return EMU_OK;
}

enum emu_outcome vec_put_mask(struct vec_ctx *c, unsigned n, uint64_t value, bool known)
{
	c->s->k[n] = value;
	c->s->k_known = (uint8_t)((c->s->k_known & ~(1u << n)) | (unsigned)known << n);
	return EMU_OK;
}

void vec_put_flags(struct vec_ctx *c, unsigned flags, unsigned known)
{
	c->s->flags = (uint8_t)((c->s->flags & ~EMU_ARITH) | (flags & EMU_ARITH));
	c->s->flags_known = (uint8_t)((c->s->flags_known & ~EMU_ARITH) | (known & EMU_ARITH));
}

enum emu_outcome vec_map1(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec a, r = { .known = 0 };

	if (!vec_get_each(c, vec_last(c, 0), len, &a))
		return c->bad;
	for (unsigned at = 0; at < len; at += w)
		vec_set(&r, at, w, c->rule->f1(vec_at(&a, at, w), w * 8));
	r.known = vec_whole(a.known, w);
	return vec_put(c, &r, len);
}

enum emu_outcome vec_map2(struct vec_ctx *c)
{
	bool self = c->rule->arg & VEC_SELF && vec_same(vec_last(c, 0), vec_last(c, 1));
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec a, b, r = { .known = 0 };

	if (!vec_get_each(c, vec_last(c, 1), len, &a) || !vec_get_each(c, vec_last(c, 0), len, &b))
		return c->bad;
	for (unsigned at = 0; at < len; at += w)
		vec_set(&r, at, w,
			self ? c->rule->f2(0, 0, w * 8) : c->rule->f2(vec_at(&a, at, w), vec_at(&b, at, w), w * 8));
	r.known = self ? ~0ull : vec_whole(a.known & b.known, w);
	return vec_put_compared(c, &r, len);
}

enum emu_outcome vec_pairs(struct vec_ctx *c)
{
	unsigned w = c->rule->element, len = vec_len(c);
	struct emu_vec v[2], r = { .known = 0 };

	if (!vec_get_all(c, vec_last(c, 1), len, &v[0]) || !vec_get_all(c, vec_last(c, 0), len, &v[1]))
		return c->bad;
	for (unsigned at = 0; at < len; at += w) {
		const struct emu_vec *from = &v[at % 16 >= 8];
		unsigned n = (at & ~15u) + at % 8 * 2;

		if (vec_known(from, n, 2 * w))
			vec_set(&r, at, w, c->rule->f2(vec_at(from, n, w), vec_at(from, n + w, w), w * 8));
	}
	return vec_put(c, &r, len);
}

enum emu_outcome vec_scalar1(struct vec_ctx *c)
{
	unsigned w = c->rule->element;
	struct emu_vec a, r = { .known = 0 };

	if (!vec_get(c, vec_last(c, 0), &a))
		return c->bad;
	if (vec_known(&a, 0, w))
		vec_set(&r, 0, w, c->rule->f1(vec_at(&a, 0, w), w * 8));
	return vec_put_scalar(c, &r, w);
}

enum emu_outcome vec_scalar2(struct vec_ctx *c)
{
	unsigned w = c->rule->element;
	struct emu_vec a, b, r = { .known = 0 };

	if (!vec_get(c, vec_last(c, 1), &a) || !vec_get(c, vec_last(c, 0), &b))
		return c->bad;
	if (vec_known(&a, 0, w) && vec_known(&b, 0, w))
		vec_set(&r, 0, w, c->rule->f2(vec_at(&a, 0, w), vec_at(&b, 0, w), w * 8));
	return vec_put_scalar(c, &r, w);
}

enum emu_outcome vec_convert(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0), *dst = &c->i->o[0];
	unsigned out = c->rule->element, in = c->rule->arg;
	unsigned len = dst->size, elements = len / out;
	struct emu_vec a, r = { .known = 0 };

	if (dst->kind != EMU_K_VEC && dst->kind != EMU_K_MEM)
		return EMU_O_NO_RULE;
	if (!vec_get(c, src, &a))
		return c->bad;
	/* of the wider side there are as many as fit */
	if (src->kind == EMU_K_MEM && src->size == in && c->i->vector) {
		elements = c->i->vector / (in > out ? in : out);
		vec_repeat(&a, in, elements * in);
	} else if (src->size / in < elements) {
		elements = src->size / in;
	}
	for (unsigned e = 0; e < elements; e++)
		if (vec_known(&a, e * in, in))
			vec_set(&r, e * out, out, c->rule->f1(vec_at(&a, e * in, in), in * 8));
	/* What lies above is zero whatever a mask says. */
	r.known |= ~vec_ones(elements * out);
	return vec_put(c, &r, c->i->vex ? elements * out : len);
}
