// cflags: -O2 -rdynamic -fcf-protection=none
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of one body, known time, through functions that differ in what they begin with:
 * `off_cost [ROUNDS [LOOPS]]`. Prints the median time of the body by itself, in nanoseconds of CPU
 * time, as {"bare":NS}. For what probes cost, which depends on the first instruction.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH 10
#define MAX_ROUNDS 1000

uint64_t body(uint64_t loops);
uint64_t starts_push(uint64_t loops);
uint64_t starts_mov(uint64_t loops);
uint64_t starts_endbr(uint64_t loops);

__attribute__((noipa)) uint64_t body(uint64_t loops)
{
	uint64_t v = loops;

	for (uint64_t i = 0; i < loops; i++) {
		v = v * 6364136223846793005u + i;
		__asm__ volatile("" : "+r"(v));
	}
	return v;
}

#if defined(__x86_64__)
#define WRAP(name, first, before, after)                                                                               \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n\t" first "\n\t" before  \
		"\n\tcall body\n\t" after "\n\tret\n.size " #name ", . - " #name "\n")

WRAP(starts_push, "push %rbp", "", "pop %rbp");
WRAP(starts_mov, "mov %rdi, %rax", "sub $8, %rsp", "add $8, %rsp");
WRAP(starts_endbr, ".byte 0xf3, 0x0f, 0x1e, 0xfa", "sub $8, %rsp", "add $8, %rsp");
#else
/* One class of probes there, or nobody has told them apart. */
#define WRAP(name)                                                                                                     \
	__attribute__((noipa)) uint64_t name(uint64_t loops)                                                           \
	{                                                                                                              \
		return body(loops) + 1;                                                                                \
	}
WRAP(starts_push)
WRAP(starts_mov)
WRAP(starts_endbr)
#endif

static uint64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double bare[MAX_ROUNDS];
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	uint64_t loops = argc > 2 ? strtoull(argv[2], NULL, 0) : 18500;

	if (!rounds || rounds > MAX_ROUNDS)
		return 2;
	/* In turn, so that all see the same machine. */
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t from = cpu_now();

		for (unsigned k = 0; k < BATCH; k++)
			body(loops);
		bare[i] = (double)(cpu_now() - from) / BATCH;
		for (unsigned k = 0; k < BATCH; k++) {
			starts_push(loops);
			starts_mov(loops);
			starts_endbr(loops);
		}
	}
	qsort(bare, rounds, sizeof(*bare), by_value);
	printf("{\"bare\":%.0f}\n", bare[rounds / 2]);
	return 0;
}
