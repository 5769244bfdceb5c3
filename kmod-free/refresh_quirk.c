// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/refresh_quirk.h"

#include <bpf/bpf.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 4 /* fresh pages a trial; by hand */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool counts_all;

/* A program that never returns 1 behind an event with a limit of one: page faults of our own, because
 * those need no hardware. */
static void try(void)
{
	const struct bpf_insn returns_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.size = sizeof(attr),
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	long page = sysconf(_SC_PAGESIZE);
	int prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "hitlimit", "GPL", returns_0, 2, NULL);
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	volatile char *fresh = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t seen = 0;

	if (prog >= 0 && fd >= 0 && fresh != MAP_FAILED && !ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) &&
	    !ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)) {
		for (int i = 0; i < PAGES; i++)
			fresh[i * page] = 1;
		counts_all = read(fd, &seen, sizeof(seen)) == sizeof(seen) && seen && seen < PAGES;
	}
	if (fresh != MAP_FAILED)
		munmap((void *)fresh, PAGES * page);
	if (fd >= 0)
		close(fd);
	if (prog >= 0)
		close(prog);
}

bool refresh_quirk_counts_all(void)
{
	pthread_once(&once, try);
	return counts_all;
}

unsigned long refresh_quirk_refresh(uint64_t hits)
{
	return !refresh_quirk_counts_all() ? 1 : hits < INT_MAX ? (unsigned long)hits : INT_MAX;
}
