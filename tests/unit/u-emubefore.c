// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vector and mask registers hold where a run begins: told by the code around, or unknown. Each function below is
 * never run, only read, and looked at where its label _at stands.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emu/emu_priv.h"
#include "unit/unit.h"

#define CODE(name, text)                                                                                               \
	__asm__(".pushsection .text\n" #name ":\n" text "\nret\n" #name "_end:\n.popsection");                         \
	extern const uint8_t name[], name##_at[], name##_end[]

CODE(from_register, "movd %esi, %xmm0\n punpcklbw %xmm0, %xmm0\n punpcklwd %xmm0, %xmm0\n pshufd $0, %xmm0, %xmm0\n"
		    "1: movdqu (%rdi), %xmm1\n pcmpeqb %xmm0, %xmm1\n pmovmskb %xmm1, %eax\n add $16, %rdi\n"
		    "from_register_at: test %eax, %eax\n jz 1b");
CODE(register_changes, "movd %esi, %xmm0\n 1: inc %esi\n register_changes_at: jnz 1b");
CODE(call_between, "pxor %xmm0, %xmm0\n call *%rax\n call_between_at: nop");
CODE(zero_in_loop, "1: pcmpeqb %xmm0, %xmm1\n pxor %xmm0, %xmm0\n zero_in_loop_at: dec %eax\n jnz 1b");
CODE(ways_differ, "pxor %xmm0, %xmm0\n vpcmpeqd %ymm2, %ymm2, %ymm2\n test %eax, %eax\n jz 1f\n pcmpeqd %xmm0, %xmm0\n"
		  "1: nop\n ways_differ_at: nop");
CODE(accumulates,
     "pxor %xmm0, %xmm0\n pcmpeqd %xmm1, %xmm1\n 1: psubd %xmm1, %xmm0\n accumulates_at: dec %eax\n jnz 1b");
CODE(from_memory, "movdqu (%rdi,%rcx,8), %xmm0\n movups 16(%rdi), %xmm1\n movdqu (%rdi), %xmm5\n from_memory_at: nop\n"
		  "test %eax, %eax\n jz 1f\n 1: paddb %xmm0, %xmm1\n pxor %xmm5, %xmm5");
CODE(stored_between, "movdqu (%rdi), %xmm0\n pxor %xmm1, %xmm1\n mov %eax, (%rdx)\n stored_between_at: nop");
CODE(from_constant, "movsd constant_bytes(%rip), %xmm0\n mov %eax, (%rdx)\n push %rax\n from_constant_at: pop %rax");
CODE(into_mask, "vmovdqu64 (%rdi), %ymm17\n vpcmpeqb 32(%rdi), %ymm17, %k1\n into_mask_at: kmovd %k1, %eax");
CODE(masked, "mov $15, %eax\n kmovd %eax, %k1\n kxnorb %k2, %k2, %k2\n vpternlogd $255, %zmm20, %zmm20, %zmm20\n"
	     "vmovdqu8 %ymm20, %ymm3{%k1}{z}\n masked_at: nop");
CODE(upper_zeroed, "vpcmpeqd %ymm2, %ymm2, %ymm2\n vzeroupper\n upper_zeroed_at: nop");
CODE(jumps_anywhere, "pxor %xmm0, %xmm0\n test %eax, %eax\n jz 1f\n jmp *%rax\n 1: nop\n jumps_anywhere_at: nop");
__asm__(".pushsection .rodata\nconstant_bytes: .quad 0x400921fb54442d18\n.popsection");

static uint8_t memory[64];
static const uint8_t *begins, *ends;
static struct emu_state s;
static bool constants;

static size_t code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)addr;

	if (p < begins || p >= ends)
		return 0;
	if (len > (size_t)(ends - p))
		len = (size_t)(ends - p);
	memcpy(buf, p, len);
	return len;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	struct iovec here = { buf, EMU_PAGE }, there = { (void *)(uintptr_t)addr, EMU_PAGE };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == EMU_PAGE;
}

static bool function(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	*start = (uint64_t)(uintptr_t)begins;
	*end = (uint64_t)(uintptr_t)ends;
	return true;
}

static bool fixed(void *ctx, uint64_t addr, size_t len)
{
	return constants;
}

static void look(const uint8_t *start, const uint8_t *at, const uint8_t *end)
{
	const struct emu_env env = { .code = code, .page = page, .function = function, .fixed = fixed };
	const struct emu_start from = { .regs = s.r };
	struct emu_before *b = emu_before_new(&env);
	struct emu_memory *m = emu_mem_new(&env);

	assert_non_null(b);
	assert_non_null(m);
	begins = start;
	ends = end;
	memset(&s, 0, sizeof(s));
	s.known = (1u << WREG_MAX) - 1;
	s.r[WREG_IP] = (uint64_t)(uintptr_t)at;
	s.r[WREG_SI] = 0x1241;
	s.r[WREG_AX] = 15;
	s.r[WREG_DI] = (uint64_t)(uintptr_t)memory;
	for (unsigned k = 0; k < sizeof(memory); k++)
		memory[k] = (uint8_t)(k % 32);
	emu_mem_begin(m, &from);
	emu_before(b, m, &s);
	emu_before_free(b);
	emu_mem_free(m);
}
#define LOOK(name) look(name, name##_at, name##_end)

static void all_are(unsigned n, unsigned bytes, uint8_t value)
{
	for (unsigned k = 0; k < bytes; k++) {
		assert_true(s.v[n].known >> k & 1);
		assert_int_equal(s.v[n].b[k], value);
	}
}

TEST(t_registers)
{
	LOOK(from_register);
	all_are(0, 16, 0x41);
	assert_int_equal(s.v[1].known, 0); /* rdi went on */
	LOOK(register_changes);
	assert_int_equal(s.v[0].known, 0);
}

TEST(t_nothing)
{
	LOOK(zero_in_loop);
	all_are(0, 16, 0);
	assert_int_equal(s.v[1].known, 0);
	LOOK(ways_differ);
	assert_int_equal(s.v[0].known, 0);
	all_are(2, 32, 255);
	LOOK(accumulates);
	assert_int_equal(s.v[0].known, 0);
	all_are(1, 16, 255);
	LOOK(call_between);
	assert_int_equal(s.v[0].known, 0);
	LOOK(upper_zeroed);
	assert_true(!(s.v[2].known >> 16) || !s.v[2].b[16]);
	LOOK(jumps_anywhere); /* back to before, perhaps */
	assert_int_equal(s.v[0].known, 0);
}

TEST(t_memory)
{
	LOOK(from_memory);
	assert_true((s.v[0].known & s.v[1].known & 0xffff) == 0xffff);
	assert_memory_equal(s.v[0].b, memory, 16);
	assert_memory_equal(s.v[1].b, memory + 16, 16);
	assert_int_equal(s.v[5].known, 0); /* nobody asks for it */
	LOOK(stored_between);
	assert_int_equal(s.v[0].known, 0);
	all_are(1, 16, 0);
	constants = false;
	LOOK(from_constant);
	assert_int_equal(s.v[0].known, 0);
	constants = true;
	LOOK(from_constant);
	assert_true((s.v[0].known & 0xffff) == 0xffff);
	assert_memory_equal(s.v[0].b, "\x18\x2d\x44\x54\xfb\x21\x09\x40\0\0\0\0\0\0\0", 16);
	constants = false;
}

TEST(t_masks)
{
	LOOK(into_mask);
	assert_true(s.k_known == 2 && s.k[1] == 0xffffffff);
	LOOK(masked);
	assert_true(s.k_known == 6 && s.k[1] == 15 && s.k[2] == 255);
	all_are(20, 64, 255);
	all_are(3, 4, 255);
	assert_true(s.v[3].known == ~0ull && !s.v[3].b[4]);
}
