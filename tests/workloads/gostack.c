// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stack as Go's goroutines have it: 64 KB of a mapping whose rest is the heap, above it, with its bounds in the first
 * two words of what R14 and the thread's word below FS point to. Planted: every byte that sum_heap reads fill_heap
 * wrote, above the stack; what pass_on reads it wrote itself, on the stack. SIZE: KiB of the heap.
 */
#include <sys/mman.h>

#include "work.h"

/* As Go's runtime keeps it: R14 is this register in all of the program. */
register const void *current __asm__("r14");

#define MAPPING (16ul << 20)
#define STACK_FROM (64ul << 10)
#define STACK_TO (128ul << 10)
#define LOCALS 512 /* words of pass_on's array */

static struct {
	uint64_t lo, hi;
} bounds;
static struct work w;
static uint64_t *heap, words, digest;

STEP static void fill_heap(uint64_t seed)
{
	for (uint64_t i = 0; i < words; i++)
		heap[i] = seed += 0x9e3779b97f4a7c15;
}

STEP static uint64_t sum_heap(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < words; i++)
		sum = sum << 1 ^ heap[i];
	return sum;
}

STEP static uint64_t pass_on(uint64_t x)
{
	volatile uint64_t local[LOCALS];

	for (unsigned i = 0; i < LOCALS; i++)
		local[i] = x + i;
	for (unsigned i = 0; i < LOCALS; i++)
		x ^= local[i];
	return x;
}

STEP static void work_on_it(void)
{
	do {
		digest = 1;
		for (unsigned i = 0; i < 64; i++) {
			fill_heap(digest);
			digest = pass_on(sum_heap());
		}
	} while (work_more(&w, digest));
}

/* The program's own thread-local data end where FS points to; this is all there is. */
__attribute__((used, aligned(64))) static _Thread_local const void *volatile below_fs[8];

int main(int argc, char **argv)
{
	char *m = mmap(NULL, MAPPING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	w = work_parse(argc, argv, NULL, 256);
	words = w.size * 1024 / sizeof(*heap);
	if (m == MAP_FAILED || w.size * 1024 > MAPPING / 2)
		work_die(&w, "no memory");
	bounds.lo = (uint64_t)m + STACK_FROM;
	bounds.hi = (uint64_t)m + STACK_TO;
	heap = (uint64_t *)(m + MAPPING / 2);
	current = below_fs[7] = &bounds;
	/* %rbx is kept by whatever is called */
	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %0, %%rsp\n\t"
			 "call *%1\n\t"
			 "movq %%rbx, %%rsp"
			 :
			 : "r"(bounds.hi - 64), "r"(work_on_it)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	return work_done(&w);
}
