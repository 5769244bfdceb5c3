// SPDX-License-Identifier: GPL-2.0-or-later
/* Where in a structure an instruction reads or writes. */
#include "code/field.h"
#include "format.h"
#include "unit/unit.h"

static int32_t field_of_bytes(const uint8_t *bytes, size_t n)
{
	struct dec_insn d;

	assert_int_equal(dec_decode(bytes, n, &d), 0);
	return field_of(&d);
}

#define FIELD(...) field_of_bytes((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

TEST(the_distance_from_a_pointer)
{
	assert_int_equal(FIELD(0x48, 0x8b, 0x48, 0x10),
			 0x10 * FMT_FIELD_BYTE + FMT_FIELD_KNOWN);                          /* mov rcx, [rax+16] */
	assert_int_equal(FIELD(0xff, 0x50, 0x10), 0x10 * FMT_FIELD_BYTE + FMT_FIELD_KNOWN); /* call [rax+16] */
	assert_int_equal(FIELD(0x48, 0x89, 0x0b), FMT_FIELD_KNOWN);                         /* mov [rbx], rcx */
	assert_int_equal(FIELD(0x0f, 0x11, 0x47, 0xf8),
			 -8 * FMT_FIELD_BYTE + FMT_FIELD_KNOWN); /* movups [rdi-8], xmm0 */
	assert_int_equal(FIELD(0x83, 0x40, 0x20, 0x01), 0x20 * FMT_FIELD_BYTE + FMT_FIELD_KNOWN); /* add [rax+32], 1 */
	assert_int_equal(FIELD(0x48, 0x89, 0x4c, 0xd3, 0x08), /* mov [rbx+rdx*8+8], rcx */
			 8 * FMT_FIELD_BYTE + FMT_FIELD_INDEXED + FMT_FIELD_KNOWN);
}

TEST(what_is_of_no_structure)
{
	assert_int_equal(FIELD(0x48, 0x8b, 0x44, 0x24, 0x08), 0);             /* mov rax, [rsp+8] */
	assert_int_equal(FIELD(0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00), 0); /* mov rax, [rip+256] */
	assert_int_equal(FIELD(0x48, 0x8d, 0x40, 0x08), 0);                   /* lea rax, [rax+8] */
	assert_int_equal(FIELD(0x50), 0);                                     /* push rax */
	assert_int_equal(FIELD(0x48, 0x01, 0xc8), 0);                         /* add rax, rcx */
	assert_int_equal(FIELD(0x48, 0x8b, 0x80, 0x00, 0x00, 0x00, 0x7f), 0); /* mov rax, [rax+0x7f000000] */
	assert_int_equal(FIELD(0x8b, 0x04, 0x25, 0x00, 0x10, 0x00, 0x00), 0); /* mov eax, [0x1000] */
}
