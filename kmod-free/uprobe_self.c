// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/uprobe_self.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

typedef uint64_t self_fn(uint64_t n);

#if defined(__x86_64__)
/* Written out, because what they begin with is what matters. */
#define EMPTY(name, first)                                                                                             \
	self_fn name;                                                                                                  \
	__asm__(".pushsection .text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name                    \
		", @function\n" #name ":\n" first "\tmov %rdi, %rax\n\tret\n.size " #name ", . - " #name               \
		"\n.popsection\n")

EMPTY(accperf_self_stepped, "\tlea (%rdi), %rax\n");
EMPTY(accperf_self_push, "\tpush %rbp\n\tpop %rbp\n");
EMPTY(accperf_self_endbr, "\t.byte 0xf3, 0x0f, 0x1e, 0xfa\n");
EMPTY(accperf_self_long_nop, "\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n");

static self_fn *const functions[SELF_KINDS] = { accperf_self_stepped, accperf_self_push, accperf_self_endbr,
						accperf_self_long_nop };

enum self_kind self_kind_of(const uint8_t *b, size_t n)
{
	bool wide = false;

	if (n >= 4 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa)
		return SELF_ENDBR;
	if (n >= 1 && b[0] == 0xf3) /* cut off, it may be an endbr; pause: versions differ */
		return n < 4 || b[1] == 0x90 ? SELF_KINDS : SELF_STEPPED;
	/* Prefixes that pad NOPs and branches. */
	while (n && (*b == 0x66 || *b == 0x2e || *b == 0x3e || *b == 0xf2)) {
		wide |= *b == 0x66;
		b++;
		n--;
	}
	if (n < 2)
		return SELF_KINDS;
	if (b[0] == 0x90)
		return wide ? SELF_LONG_NOP : SELF_PUSH;
	if (b[0] == 0x0f && b[1] == 0x1f)
		return SELF_LONG_NOP;
	if (wide)
		return SELF_STEPPED;
	if ((b[0] >= 0x50 && b[0] <= 0x57) || (b[0] == 0x41 && b[1] >= 0x50 && b[1] <= 0x57))
		return SELF_PUSH;
	if (b[0] == 0xe8 || b[0] == 0xe9 || b[0] == 0xeb || (b[0] >= 0x70 && b[0] <= 0x7f) ||
	    (b[0] == 0x0f && b[1] >= 0x80 && b[1] <= 0x8f))
		return SELF_PUSH;
	/* Young kernels know more of what prologues begin with. */
	return (b[0] >= 0x40 && b[0] <= 0x4f && b[1] >= 0x50 && b[1] <= 0x57) ? SELF_KINDS : SELF_STEPPED;
}

extern const char accperf_self_marker[];
__attribute__((noinline, noclone)) static void marker_function(void)
{
	__asm__ volatile(".globl accperf_self_marker\n.hidden accperf_self_marker\n"
			 "accperf_self_marker: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00" ::
				 : "memory");
}
#else
__attribute__((noinline, noclone)) static uint64_t empty_function(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static self_fn *const functions[SELF_KINDS] = { empty_function };

enum self_kind self_kind_of(const uint8_t *b, size_t n)
{
	return SELF_KINDS;
}
#endif

const void *self_function(enum self_kind kind)
{
	return (const void *)(uintptr_t)functions[kind];
}

const void *self_exit(enum self_kind kind)
{
#if defined(__x86_64__)
	const uint8_t *at = self_function(kind);

	/* each ends with mov %rdi, %rax; ret */
	for (unsigned i = 0; at && i < 32; i++)
		if (!memcmp(at + i, "\x48\x89\xf8\xc3", 4))
			return at + i + 3;
#endif
	return NULL;
}

const void *self_marker(void)
{
#if defined(__x86_64__)
	return accperf_self_marker;
#else
	return NULL;
#endif
}

uint64_t self_offset(const void *addr)
{
	unsigned long start, end, pgoff, at = (unsigned long)addr;
	char perms[8], line[512];
	uint64_t r = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, perms, &pgoff) == 4 && at >= start && at < end)
			r = at - start + pgoff;
	fclose(f);
	return r;
}

double self_time_function(enum self_kind kind, unsigned n)
{
	self_fn *volatile fn = functions[kind];
	uint64_t from = clock_cpu();

	for (unsigned i = 0; i < n; i++)
		fn(i);
	return (double)(clock_cpu() - from) / n;
}

#define COLD_BYTES (256 * 1024) /* more than a first-level cache holds, so that a hit finds it cold */

double self_time_function_cold(enum self_kind kind, unsigned n)
{
	self_fn *volatile fn = functions[kind];
	static uint64_t work[COLD_BYTES / sizeof(uint64_t)];
	uint64_t from = clock_cpu();

	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < COLD_BYTES / sizeof(uint64_t); k += 8)
			work[k] += i;
		__asm__ volatile("" ::"r"(work) : "memory");
		fn(i);
	}
	return (double)(clock_cpu() - from) / n;
}

double self_time_marker(unsigned n)
{
#if defined(__x86_64__)
	uint64_t from = clock_cpu();

	for (unsigned i = 0; i < n; i++)
		marker_function();
	return (double)(clock_cpu() - from) / n;
#else
	return 0;
#endif
}

static void *caller(void *n)
{
	self_time_function(SELF_STEPPED, (unsigned)(uintptr_t)n);
	return NULL;
}

int self_call_in_thread(unsigned n)
{
	pthread_t t;
	int r = pthread_create(&t, NULL, caller, (void *)(uintptr_t)n);

	if (!r)
		pthread_join(t, NULL);
	return -r;
}
