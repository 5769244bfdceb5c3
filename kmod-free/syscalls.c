// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <sys/syscall.h>

#include "format.h"
#include "kmod-free/syscalls.h"

#define IN FMT_IO_KERNEL_WRITES
#define OUT FMT_IO_KERNEL_READS
#define ROW(call, shape_, addr_, len_, dir_, fixed_)                                                                   \
	{                                                                                                              \
		.nr = SYS_##call, .shape = SYSDIR_##shape_, .addr = addr_, .len = len_, .dir = dir_, .fixed = fixed_,  \
		.name = #call                                                                                          \
	}
#define COUNTED(call, shape_, addr_, len_, dir_, counts_)                                                              \
	{                                                                                                              \
		.nr = SYS_##call, .shape = shape_, .addr = addr_, .len = len_, .dir = dir_, .counts = counts_,         \
		.name = #call                                                                                          \
	}

static const struct sysdir table[] = {
	COUNTED(read, SYSDIR_BUFFER, 1, 2, IN, SYSDIR_READ),
	COUNTED(pread64, SYSDIR_BUFFER, 1, 2, IN, SYSDIR_READ),
	ROW(recvfrom, BUFFER, 1, 2, IN, 0),
	ROW(getrandom, BUFFER, 0, 1, IN, 0),
	ROW(getdents64, BUFFER, 1, 2, IN, 0),
	ROW(readlinkat, BUFFER, 2, 3, IN, 0),
	COUNTED(write, SYSDIR_BUFFER, 1, 2, OUT, SYSDIR_WRITTEN),
	COUNTED(pwrite64, SYSDIR_BUFFER, 1, 2, OUT, SYSDIR_WRITTEN),
	ROW(sendto, BUFFER, 1, 2, OUT, 0),
	COUNTED(readv, SYSDIR_VECTOR, 1, 2, IN, SYSDIR_READ),
	COUNTED(preadv, SYSDIR_VECTOR, 1, 2, IN, SYSDIR_READ),
	COUNTED(preadv2, SYSDIR_VECTOR, 1, 2, IN, SYSDIR_READ),
	COUNTED(writev, SYSDIR_VECTOR, 1, 2, OUT, SYSDIR_WRITTEN),
	COUNTED(pwritev, SYSDIR_VECTOR, 1, 2, OUT, SYSDIR_WRITTEN),
	COUNTED(pwritev2, SYSDIR_VECTOR, 1, 2, OUT, SYSDIR_WRITTEN),
	ROW(vmsplice, VECTOR, 1, 2, OUT, 0),
	ROW(recvmsg, MESSAGE, 1, 0, IN, 0),
	ROW(sendmsg, MESSAGE, 1, 0, OUT, 0),
	ROW(fstat, FIXED, 1, 0, IN, 144),
	ROW(newfstatat, FIXED, 2, 0, IN, 144),
	ROW(epoll_wait, COUNTED, 1, 2, IN, 12),
	ROW(epoll_pwait, COUNTED, 1, 2, IN, 12),
	ROW(mmap, MAP, 0, 1, FMT_IO_MAPS, 0),
#ifdef SYS_stat
	ROW(stat, FIXED, 1, 0, IN, 144),
	ROW(lstat, FIXED, 1, 0, IN, 144),
#endif
	COUNTED(sendfile, 0, 0, 0, 0, SYSDIR_READ | SYSDIR_WRITTEN),
	COUNTED(copy_file_range, 0, 0, 0, 0, SYSDIR_READ | SYSDIR_WRITTEN),
	{ .name = NULL },
};

const struct sysdir *sysdir_find(int64_t nr)
{
	for (const struct sysdir *s = table; s->name; s++)
		if (s->nr == nr && s->shape)
			return s;
	return NULL;
}

const struct sysdir *sysdir_table(void)
{
	return table;
}
