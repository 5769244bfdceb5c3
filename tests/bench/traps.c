// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hits a hardware breakpoint of its own many times and counts the SIGTRAPs that come of it: there should be none, and
 * a program without a handler would end by the first one. Prints hits, hits that perf counted, SIGTRAPs, and
 * microseconds each. traps x|w HITS: an execute breakpoint or one on writes. Run by scripts/bench-traps.
 */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t traps;
static volatile uint64_t word;

static void on_trap(int signal)
{
	(void)signal;
	traps++;
}

__attribute__((noinline, noclone)) static void reached(void)
{
	__asm__ volatile("" ::: "memory");
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	int writes = argc > 1 && argv[1][0] == 'w', fd;
	long hits = argc > 2 ? atol(argv[2]) : 1000000;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.bp_type = writes ? HW_BREAKPOINT_W : HW_BREAKPOINT_X,
		.bp_addr = writes ? (uintptr_t)&word : (uintptr_t)reached,
		.bp_len = writes ? sizeof(word) : sizeof(long),
	};
	uint64_t counted = 0;
	double began;

	signal(SIGTRAP, on_trap);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (fd < 0) {
		perror("traps: no hardware breakpoint");
		return 1;
	}
	began = now_us();
	for (long i = 0; i < hits; i++) {
		if (writes)
			word = (uint64_t)i;
		else
			reached();
	}
	began = now_us() - began;
	if (read(fd, &counted, sizeof(counted)) != sizeof(counted)) {
		perror("traps: cannot read the count");
		return 1;
	}
	printf("%ld %lu %d %.2f\n", hits, (unsigned long)counted, (int)traps, began / (double)hits);
	return 0;
}
