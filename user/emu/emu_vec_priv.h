/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vector and mask instructions of the emulator: operands, results, and the table of rules. Included by emu_vec*.c
 * only and tests.
 *
 * A rule is a mnemonic, the bytes of its elements and a shape: how elements of the operands make elements of
 * the result; most shapes take a function of one element. To add a mnemonic that computes as others do: a row at
 * the end of the file whose shape fits. tests/unit/u-emuvec.c finds it by itself and compares it with the processor in
 * all forms that the encoder knows.
 *
 * Rules change nothing before they know that they will not fail. Bytes are known one by one; an element is known if
 * all that it was computed from is. Bytes of a struct emu_vec that are not known are of no meaning.
 */
#ifndef ACCPERF_EMU_EMU_VEC_PRIV_H
#define ACCPERF_EMU_EMU_VEC_PRIV_H

#include <Zydis/Mnemonic.h>
#include <string.h>

#include "emu/emu_priv.h"

struct vec_ctx;
typedef enum emu_outcome vec_shape(struct vec_ctx *c);
/* Elements come extended with zeros; what the result has above `bits` is cut off. */
typedef uint64_t vec_fn1(uint64_t a, unsigned bits);
typedef uint64_t vec_fn2(uint64_t a, uint64_t b, unsigned bits);

static inline uint64_t of_float(float f)
{
	uint32_t x;

	memcpy(&x, &f, 4);
	return x;
}

static inline uint64_t of_double(double d)
{
	uint64_t x;

	memcpy(&x, &d, 8);
	return x;
}

struct vec_rule {
	uint16_t mnemonic;
	uint8_t element; /* bytes of an element of the result, and of one bit of an EVEX mask */
	uint8_t arg;     /* what it means is the shape's */
	vec_shape *shape;
	union {
		vec_fn1 *f1;
		vec_fn2 *f2;
		void (*select)(uint8_t *index, unsigned len, uint8_t imm);
	};
};

/* The legacy form and the VEX and EVEX forms. */
#define VEC_BOTH(name, ...) VEC_ONE(name, __VA_ARGS__), VEC_ONE(V##name, __VA_ARGS__)
#define VEC_ONE(name, bytes, what, how, ...)                                                                           \
	{                                                                                                              \
		.mnemonic = ZYDIS_MNEMONIC_##name, .element = bytes, .arg = what, .shape = how, ##__VA_ARGS__          \
	}

struct vec_rules {
	const struct vec_rule *row;
	size_t count;
};
extern const struct vec_rules vec_moves, vec_shuffles, vec_integers, vec_floats, vec_converts, vec_masks, vec_texts;

struct vec_ctx {
	struct emu_state *s;
	struct emu_memory *m;
	const struct emu_insn *i;
	const struct vec_rule *rule;
	enum emu_outcome bad; /* why an operand could not be had */
};

/* Of the mnemonic; NULL: none. For tests too. */
const struct vec_rule *emu_vec_rule(uint16_t mnemonic);

static inline uint64_t vec_ones(unsigned n)
{
	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

static inline bool vec_known(const struct emu_vec *v, unsigned at, unsigned bytes)
{
	uint64_t want = vec_ones(bytes) << at;

	return (v->known & want) == want;
}

/* Constant sizes: this is most of the work. */
static inline uint64_t vec_at(const struct emu_vec *v, unsigned at, unsigned bytes)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (bytes) {
	case 1: return v->b[at];
	case 2: memcpy(&two, v->b + at, 2); return two;
	case 4: memcpy(&four, v->b + at, 4); return four;
	default: memcpy(&eight, v->b + at, 8); return eight;
	}
}

static inline void vec_set(struct emu_vec *v, unsigned at, unsigned bytes, uint64_t x)
{
	switch (bytes) {
	case 1: v->b[at] = (uint8_t)x; break;
	case 2: memcpy(v->b + at, &x, 2); break;
	case 4: memcpy(v->b + at, &x, 4); break;
	default: memcpy(v->b + at, &x, 8); break;
	}
	v->known |= vec_ones(bytes) << at;
}

/* Bytes of those elements that are known as a whole. */
static inline uint64_t vec_whole(uint64_t known, unsigned bytes)
{
	for (unsigned n = 1; n < bytes; n *= 2)
		known &= known >> n;
	return (known & ~0ull / vec_ones(bytes)) * vec_ones(bytes);
}

static inline int64_t vec_signed(uint64_t x, unsigned bits)
{
	return bits >= 64 ? (int64_t)x : (int64_t)(x << (64 - bits)) >> (64 - bits);
}

/* The nth operand from the end, immediates not counted: sources, the same for two and for three operands. */
const struct emu_operand *vec_last(const struct vec_ctx *c, unsigned n);
uint8_t vec_imm(const struct vec_ctx *c);
/* Bytes of the vectors at work: of the first vector register. */
unsigned vec_len(const struct vec_ctx *c);
/* Two sources are the same register: what does not depend on its value is known. */
bool vec_same(const struct emu_operand *a, const struct emu_operand *b);

/* An operand's bytes as they are: a register's all, those that memory has. False: c->bad says why. */
bool vec_get(struct vec_ctx *c, const struct emu_operand *o, struct emu_vec *out);
/* The same, where the operand is a vector of len bytes: one element in memory stands for all. */
bool vec_get_all(struct vec_ctx *c, const struct emu_operand *o, unsigned len, struct emu_vec *out);
/* The same, where elements that the mask leaves out are not asked for: they need not be mapped. */
bool vec_get_each(struct vec_ctx *c, const struct emu_operand *o, unsigned len, struct emu_vec *out);
/* The low bytes again and again, up to len. */
void vec_repeat(struct emu_vec *v, unsigned bytes, unsigned len);
/* The result: its low len bytes, under the mask if there is one, the rest as the encoding says. */
enum emu_outcome vec_put(struct vec_ctx *c, const struct emu_vec *r, unsigned len);
/* A scalar instruction's: its low `len` bytes, a mask's first bit for them, over the rest of the first source... */
enum emu_outcome vec_put_scalar(struct vec_ctx *c, const struct emu_vec *r, unsigned len);
/* ... or of another register. */
enum emu_outcome vec_put_over(struct vec_ctx *c, const struct emu_operand *first, const struct emu_vec *r,
			      unsigned len);
/* Elements as the bits of a mask register, or (vpcmpeq and others that can do both) of a vector. */
enum emu_outcome vec_put_compared(struct vec_ctx *c, const struct emu_vec *r, unsigned len);
enum emu_outcome vec_put_gpr(struct vec_ctx *c, const struct emu_operand *o, uint64_t value, bool known);
enum emu_outcome vec_put_mask(struct vec_ctx *c, unsigned n, uint64_t value, bool known);
void vec_put_flags(struct vec_ctx *c, unsigned flags, unsigned known);

/* dst = f(a); dst = f(a, b), arg: VEC_SELF. */
enum { VEC_SELF = 1 /* of a register with itself: the same whatever it holds, f(0, 0) */ };
vec_shape vec_map1, vec_map2;
/* In each lane f(neighbours) of the first source, then of the second. */
vec_shape vec_pairs;
/* The same of the lowest elements. */
vec_shape vec_scalar1, vec_scalar2;
/* As many elements as both sides have room for, arg: bytes of one in the source; the rest becomes zero. */
vec_shape vec_convert;

#endif
