// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sample.h"
#include "util/clock.h"
#include "util/mounts.h"
#include "util/rights.h"

#define PRESENT (1ull << 63) /* in an entry of /proc/PID/pagemap */
#define SWAPPED (1ull << 62) /* there, too */
#define LOOK_NS 1000000000u  /* a file system that was mounted since then is known so much later */

/* Of the process whose memory was read last. */
static struct {
	uint32_t pid;
	uint64_t at;
	struct mounts mounts;
} known;

static uint64_t refused;

static bool has_served_mounts(uint32_t pid)
{
	uint64_t now = clock_now();

	if (known.pid != pid || now - known.at > LOOK_NS) {
		mounts_release(&known.mounts);
		known.pid = pid;
		known.at = now;
		if (mounts_read(&known.mounts, pid))
			known.mounts.served = false;
	}
	return known.mounts.served;
}

/* By the line of /proc/PID/maps that holds it; a file on a device that no table names may be anybody's. */
static bool is_local_mapping(uint32_t pid, uint64_t addr)
{
	char name[48], *line = NULL;
	size_t cap = 0;
	bool is_local = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	f = fopen(name, "re");
	while (f && getline(&line, &cap, f) > 0) {
		unsigned long long start, end, ino;
		unsigned maj, min;

		if (sscanf(line, "%llx-%llx %*s %*x %x:%x %llu", &start, &end, &maj, &min, &ino) != 5 || addr >= end)
			continue;
		is_local = addr < start || !ino || mounts_of_device(&known.mounts, maj, min) == MOUNT_LOCAL;
		break;
	}
	free(line);
	if (f)
		fclose(f);
	return is_local;
}

/* What is in the process's page table, or in swap, is brought in without a file. */
static bool may_read(uint32_t pid, uint64_t addr, size_t len)
{
	uint64_t page = addr / SAMPLE_PAGE, last = (addr + len - 1) / SAMPLE_PAGE, entry;
	char name[48];
	bool may = true;
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/pagemap", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	for (; may && page <= last; page++)
		if (fd < 0 || pread(fd, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) != sizeof(entry) ||
		    !(entry & (PRESENT | SWAPPED)))
			may = is_local_mapping(pid, page * SAMPLE_PAGE);
	if (fd >= 0)
		close(fd);
	return may;
}

ssize_t target_memory_read(uint32_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec here = { buf, len }, there = { (void *)(uintptr_t)addr, len };
	ssize_t n;

	if (len && addr < UINT64_MAX - len && has_served_mounts(pid) && !may_read(pid, addr, len)) {
		refused++;
		errno = EIO;
		return -1;
	}
	n = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);
	if (n > 0 && rights_check_process((pid_t)pid, NULL)) { /* it may have become a program with rights meanwhile */
		explicit_bzero(buf, (size_t)n);
		errno = EPERM;
		return -1;
	}
	return n;
}

uint64_t target_memory_refused(void)
{
	return refused;
}
