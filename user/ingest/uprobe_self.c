// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/uprobe_self.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline, noclone)) static uint64_t empty_function(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

#if defined(__x86_64__)
extern const char accperf_self_marker[];
__attribute__((noinline, noclone)) static void marker_function(void)
{
	__asm__ volatile(".globl accperf_self_marker\n.hidden accperf_self_marker\n"
			 "accperf_self_marker: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00" ::: "memory");
}
#endif

const void *self_function(void)
{
	return (const void *)(uintptr_t)empty_function;
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

static uint64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

double self_time_function(unsigned n)
{
	uint64_t from = cpu_now();

	for (unsigned i = 0; i < n; i++)
		empty_function(i);
	return (double)(cpu_now() - from) / n;
}

#define COLD_BYTES (256 * 1024)

double self_time_function_cold(unsigned n)
{
	static uint64_t work[COLD_BYTES / sizeof(uint64_t)];
	uint64_t from = cpu_now();

	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < COLD_BYTES / sizeof(uint64_t); k += 8)
			work[k] += i;
		__asm__ volatile("" ::"r"(work) : "memory");
		empty_function(i);
	}
	return (double)(cpu_now() - from) / n;
}

double self_time_marker(unsigned n)
{
#if defined(__x86_64__)
	uint64_t from = cpu_now();

	for (unsigned i = 0; i < n; i++)
		marker_function();
	return (double)(cpu_now() - from) / n;
#else
	return 0;
#endif
}

static void *caller(void *n)
{
	self_time_function((unsigned)(uintptr_t)n);
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
