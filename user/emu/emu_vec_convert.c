// SPDX-License-Identifier: GPL-2.0-or-later
/* Between integers and floating point, and between its sizes. Rounding as in emu_vec_fp.c. */
#include <math.h>

#include "emu/emu_vec_priv.h"

static double float_as_double(uint64_t x, unsigned bits)
{
	uint32_t low = (uint32_t)x;
	double d;
	float f;

	memcpy(&f, &low, 4);
	memcpy(&d, &x, 8);
	return bits == 32 ? (double)f : d;
}

/* What does not fit becomes the least integer. */
static uint64_t to_integer(double d, unsigned bits)
{
	double limit = bits == 32 ? 0x1p31 : 0x1p63;

	return d >= -limit && d < limit ? (uint64_t)(int64_t)d : 1ull << (bits - 1);
}

/* All ones. */
static uint64_t to_unsigned(double d, unsigned bits)
{
	return d > -1.0 && d < (bits == 32 ? 0x1p32 : 0x1p64) ? (uint64_t)d : vec_ones(bits);
}

static uint64_t float_to_double(uint64_t a, unsigned bits)
{
	uint64_t payload = a & 0x7fffff;

	if ((a & 0x7f800000) == 0x7f800000)
		return (a >> 31) << 63 | 0x7ff0000000000000 | payload << 29 | (payload ? 1ull << 51 : 0);
	return of_double(float_as_double(a, 32));
}

static uint64_t double_to_float(uint64_t a, unsigned bits)
{
	uint64_t payload = a & 0xfffffffffffff;

	if ((a & 0x7ff0000000000000) == 0x7ff0000000000000)
		return (a >> 63) << 31 | 0x7f800000 | payload >> 29 | (payload ? 1u << 22 : 0);
	return of_float((float)float_as_double(a, 64));
}

static uint64_t int_to_float(uint64_t a, unsigned bits)
{
	return of_float((float)vec_signed(a, bits));
}

static uint64_t int_to_double(uint64_t a, unsigned bits)
{
	return of_double((double)vec_signed(a, bits));
}

static uint64_t unsigned_to_float(uint64_t a, unsigned bits)
{
	return of_float((float)a);
}

static uint64_t unsigned_to_double(uint64_t a, unsigned bits)
{
	return of_double((double)a);
}

static uint64_t to_int32(uint64_t a, unsigned bits)
{
	return to_integer(rint(float_as_double(a, bits)), 32);
}

static uint64_t to_int32_cut(uint64_t a, unsigned bits)
{
	return to_integer(trunc(float_as_double(a, bits)), 32);
}

static uint64_t to_uint32(uint64_t a, unsigned bits)
{
	return to_unsigned(rint(float_as_double(a, bits)), 32);
}

static uint64_t to_uint32_cut(uint64_t a, unsigned bits)
{
	return to_unsigned(trunc(float_as_double(a, bits)), 32);
}

static uint64_t to_uint64(uint64_t a, unsigned bits)
{
	return to_unsigned(rint(float_as_double(a, bits)), 64);
}

static uint64_t to_uint64_cut(uint64_t a, unsigned bits)
{
	return to_unsigned(trunc(float_as_double(a, bits)), 64);
}

static uint64_t to_int64(uint64_t a, unsigned bits)
{
	return to_integer(rint(float_as_double(a, bits)), 64);
}

static uint64_t to_int64_cut(uint64_t a, unsigned bits)
{
	return to_integer(trunc(float_as_double(a, bits)), 64);
}

/* cvtsi2sd and others: arg 0; cvtss2sd: arg: bytes of the source. */
static enum emu_outcome into_scalar(struct vec_ctx *c)
{
	const struct emu_operand *src = vec_last(c, 0);
	unsigned in = c->rule->arg ? c->rule->arg : src->size;
	struct emu_vec a, r = { .known = 0 };

	if ((in != 4 && in != 8) || !vec_get(c, src, &a))
		return c->bad;
	if (vec_known(&a, 0, in))
		vec_set(&r, 0, c->rule->element, c->rule->f1(vec_at(&a, 0, in), in * 8));
	return vec_put_scalar(c, &r, c->rule->element);
}

/* cvttsd2si and others: element: bytes of the source. */
enum { CUT = 1, UNSIGNED = 2 };

static enum emu_outcome into_register(struct vec_ctx *c)
{
	unsigned in = c->rule->element, bits = c->i->o[0].size == 8 ? 64 : 32;
	struct emu_vec a;
	double d;

	if (!vec_get(c, vec_last(c, 0), &a))
		return c->bad;
	d = float_as_double(vec_at(&a, 0, in), in * 8);
	d = c->rule->arg & CUT ? trunc(d) : rint(d);
	return vec_put_gpr(c, &c->i->o[0], (c->rule->arg & UNSIGNED ? to_unsigned : to_integer)(d, bits),
			   vec_known(&a, 0, in));
}

#define PACKED(name, out, in, f) VEC_BOTH(name, out, in, vec_convert, .f1 = f)
#define V_PACKED(name, out, in, f) VEC_ONE(name, out, in, vec_convert, .f1 = f)

static const struct vec_rule rows[] = {
	VEC_BOTH(CVTSI2SS, 4, 0, into_scalar, .f1 = int_to_float),
	VEC_BOTH(CVTSI2SD, 8, 0, into_scalar, .f1 = int_to_double),
	VEC_ONE(VCVTUSI2SS, 4, 0, into_scalar, .f1 = unsigned_to_float),
	VEC_ONE(VCVTUSI2SD, 8, 0, into_scalar, .f1 = unsigned_to_double),
	VEC_BOTH(CVTSS2SD, 8, 4, into_scalar, .f1 = float_to_double),
	VEC_BOTH(CVTSD2SS, 4, 8, into_scalar, .f1 = double_to_float),
	VEC_BOTH(CVTSS2SI, 4, 0, into_register),
	VEC_BOTH(CVTSD2SI, 8, 0, into_register),
	VEC_BOTH(CVTTSS2SI, 4, CUT, into_register),
	VEC_BOTH(CVTTSD2SI, 8, CUT, into_register),
	VEC_ONE(VCVTSS2USI, 4, UNSIGNED, into_register),
	VEC_ONE(VCVTSD2USI, 8, UNSIGNED, into_register),
	VEC_ONE(VCVTTSS2USI, 4, UNSIGNED | CUT, into_register),
	VEC_ONE(VCVTTSD2USI, 8, UNSIGNED | CUT, into_register),
	PACKED(CVTDQ2PS, 4, 4, int_to_float),
	PACKED(CVTDQ2PD, 8, 4, int_to_double),
	PACKED(CVTPS2PD, 8, 4, float_to_double),
	PACKED(CVTPD2PS, 4, 8, double_to_float),
	PACKED(CVTPS2DQ, 4, 4, to_int32),
	PACKED(CVTTPS2DQ, 4, 4, to_int32_cut),
	PACKED(CVTPD2DQ, 4, 8, to_int32),
	PACKED(CVTTPD2DQ, 4, 8, to_int32_cut),
	V_PACKED(VCVTUDQ2PS, 4, 4, unsigned_to_float),
	V_PACKED(VCVTUDQ2PD, 8, 4, unsigned_to_double),
	V_PACKED(VCVTQQ2PD, 8, 8, int_to_double),
	V_PACKED(VCVTUQQ2PD, 8, 8, unsigned_to_double),
	V_PACKED(VCVTQQ2PS, 4, 8, int_to_float),
	V_PACKED(VCVTUQQ2PS, 4, 8, unsigned_to_float),
	V_PACKED(VCVTPD2QQ, 8, 8, to_int64),
	V_PACKED(VCVTTPD2QQ, 8, 8, to_int64_cut),
	V_PACKED(VCVTPS2UDQ, 4, 4, to_uint32),
	V_PACKED(VCVTTPS2UDQ, 4, 4, to_uint32_cut),
	V_PACKED(VCVTPD2UDQ, 4, 8, to_uint32),
	V_PACKED(VCVTTPD2UDQ, 4, 8, to_uint32_cut),
	V_PACKED(VCVTPD2UQQ, 8, 8, to_uint64),
	V_PACKED(VCVTTPD2UQQ, 8, 8, to_uint64_cut),
	V_PACKED(VCVTPS2UQQ, 8, 4, to_uint64),
	V_PACKED(VCVTTPS2UQQ, 8, 4, to_uint64_cut),
	V_PACKED(VCVTPS2QQ, 8, 4, to_int64),
	V_PACKED(VCVTTPS2QQ, 8, 4, to_int64_cut),
};
const struct vec_rules vec_converts = { rows, sizeof(rows) / sizeof(*rows) };
