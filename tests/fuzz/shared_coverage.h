/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a forked child runs through counts for the fuzzer, too: the counters of the instrumented code lie
 * in memory that parent and child share. Only whole pages of them, for other data share the first and the last.
 */
#ifndef ACCPERF_TESTS_SHARED_COVERAGE_H
#define ACCPERF_TESTS_SHARED_COVERAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern uint8_t __start___sancov_cntrs[], __stop___sancov_cntrs[];

static inline void share_coverage(void)
{
	uintptr_t from = ((uintptr_t)__start___sancov_cntrs + 4095) & ~4095ul, to = (uintptr_t)__stop___sancov_cntrs & ~4095ul;
	void *copy;

	if (to <= from || !(copy = malloc(to - from)))
		return;
	memcpy(copy, (void *)from, to - from);
	if (mmap((void *)from, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != (void *)from)
		abort();
	memcpy((void *)from, copy, to - from);
	free(copy);
}

#endif
