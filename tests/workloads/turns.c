// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Loops that turn another number of times each time, 0 to 40, counted by registers in one way or
 * another: what tests/tripjudge.c is tried on. The ones in assembly are what compilers may make, but seldom do:
 * ways past a loop on which the register that tells at its end holds something else.
 */
#include "work.h"

static uint64_t data[64];

STEP static uint64_t up(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		x = work_mix(x, i);
	return x;
}

STEP static uint64_t down_by_three(uint64_t x, int n)
{
	for (int i = n; i > 0; i -= 3)
		x = work_mix(x, (uint64_t)i);
	return x;
}

STEP static uint64_t pointers(uint64_t x, const uint64_t *from, const uint64_t *to)
{
	while (from != to)
		x = work_mix(x, *from++);
	return x;
}

STEP static uint64_t left_early(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (data[i] % 11 == 3)
			return x + i;
		if (data[i] % 7 == 3)
			break;
		x = work_mix(x, data[i]);
	}
	return x;
}

STEP static uint64_t nested(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n / 8; i++)
		for (unsigned k = i; k < n / 4; k += 2)
			x = work_mix(x, k);
	return x;
}

/* The loop is under way in several calls at once. */
STEP static uint64_t deeper(uint64_t x, unsigned n)
{
	for (unsigned i = 0; i < n % 4; i++)
		x = deeper(work_mix(x, i), n / 4);
	return x;
}

STEP static uint64_t words(uint64_t x, uint32_t from, unsigned n)
{
	for (uint32_t i = from; i != from + n; i++)
		x = work_mix(x, i);
	return x;
}

/* clang-format off */
/* Past the loop, where the copy of its counter is not made. */
uint64_t turns_copy(uint64_t x, uint64_t n, uint64_t other);
/* Past the loop, and by another way to where it ends. */
uint64_t turns_around(uint64_t x, uint64_t n, uint64_t other);
/* Past what leads to the loop as well. */
uint64_t turns_before(uint64_t x, uint64_t n, uint64_t other);
__asm__(
	".text\n"
	".type turns_copy, @function\n"
	"turns_copy: .cfi_startproc\n"
	"	mov %rdx, %rax\n"
	"	xor %ecx, %ecx\n"
	"	test %rsi, %rsi\n"
	"	je 2f\n"
	"1:	add $5, %rdi\n"
	"	lea 1(%rcx), %rax\n"
	"	mov %rax, %rcx\n"
	"	cmp %rsi, %rcx\n"
	"	jb 1b\n"
	"2:	add %rdi, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size turns_copy, . - turns_copy\n"
	".type turns_around, @function\n"
	"turns_around: .cfi_startproc\n"
	"	xor %ecx, %ecx\n"
	"	test %rsi, %rsi\n"
	"	je 4f\n"
	"3:	add $3, %rdi\n"
	"	inc %rcx\n"
	"	cmp %rsi, %rcx\n"
	"	jb 3b\n"
	"5:	lea (%rdi,%rcx), %rax\n"
	"	ret\n"
	"4:	mov %rdx, %rcx\n"
	"	and $15, %ecx\n"
	"	jmp 5b\n"
	"	.cfi_endproc\n"
	".size turns_around, . - turns_around\n"
	".type turns_before, @function\n"
	"turns_before: .cfi_startproc\n"
	"	mov %rdx, %rcx\n"
	"	test %rsi, %rsi\n"
	"	je 7f\n"
	"	xor %ecx, %ecx\n"
	"6:	imul $7, %rdi, %rdi\n"
	"	inc %rcx\n"
	"	cmp %rsi, %rcx\n"
	"	jb 6b\n"
	"7:	lea (%rdi,%rcx), %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size turns_before, . - turns_before\n");
/* clang-format on */

STEP static uint64_t unit(uint64_t x)
{
	unsigned n = x % 41;

	x = up(x, n);
	x = down_by_three(x, (int)(x % 40));
	x = pointers(x, data, data + x % 33);
	x = left_early(x, (unsigned)(x >> 7) % 41);
	x = nested(x, n);
	x = deeper(x, 27 + (unsigned)x % 4);
	x = words(x, 0xfffffff0, (unsigned)(x >> 9) % 30);
	x = work_mix(x, turns_copy(x, (x >> 11) % 3 ? (x >> 13) % 20 : 0, (x >> 20) % 30));
	x = work_mix(x, turns_around(x, (x >> 11) % 3 ? (x >> 13) % 20 : 0, (x >> 20) % 30));
	return work_mix(x, turns_before(x, (x >> 11) % 3 ? (x >> 13) % 20 : 0, (x >> 20) % 30 + 1));
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 2000);
	uint64_t x;

	for (unsigned i = 0; i < 64; i++)
		data[i] = work_mix(i, i);
	do {
		x = 1;
		for (unsigned long i = 0; i < w.size; i++)
			x = unit(x);
	} while (work_more(&w, x));
	return work_done(&w);
}
