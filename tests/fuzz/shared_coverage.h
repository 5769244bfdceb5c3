/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a forked child runs through counts for the fuzzer, too: when it ends in order it adds its counters to
 * libFuzzer's extra ones, which lie in memory that parent and child share. Included by one target's only file.
 */
#ifndef ACCPERF_TESTS_SHARED_COVERAGE_H
#define ACCPERF_TESTS_SHARED_COVERAGE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXTRA 65536 /* counters; a target has some thousand */

/* by other names: the instrumentation of this file declares these itself */
extern uint8_t counters_begin[] __asm__("__start___sancov_cntrs"), counters_end[] __asm__("__stop___sancov_cntrs");
static __attribute__((used, section("__libfuzzer_extra_counters"), aligned(4096))) uint8_t extra[EXTRA];

static inline void share_coverage(void)
{
	if (mmap(extra, sizeof(extra), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != extra)
		abort();
}

/* At the start of each input: libFuzzer clears only what it watches, which is `extra`. */
static inline void forget_coverage(void)
{
	memset(counters_begin, 0, (size_t)((uintptr_t)counters_end - (uintptr_t)counters_begin));
}

/* In place of the C library's, so that every child comes by here. */
__attribute__((no_sanitize("coverage"))) void _exit(int status)
{
	for (uintptr_t i = 0; i < EXTRA && i < (uintptr_t)counters_end - (uintptr_t)counters_begin; i++)
		if (counters_begin[i] > extra[i])
			extra[i] = counters_begin[i];
	for (;;)
		syscall(SYS_exit_group, status);
}

#endif
