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

static const struct sysdir table[] = {
	ROW(read, BUFFER, 1, 2, IN, 0),
	ROW(pread64, BUFFER, 1, 2, IN, 0),
	ROW(recvfrom, BUFFER, 1, 2, IN, 0),
	ROW(getrandom, BUFFER, 0, 1, IN, 0),
	ROW(getdents64, BUFFER, 1, 2, IN, 0),
	ROW(readlinkat, BUFFER, 2, 3, IN, 0),
	ROW(write, BUFFER, 1, 2, OUT, 0),
	ROW(pwrite64, BUFFER, 1, 2, OUT, 0),
	ROW(sendto, BUFFER, 1, 2, OUT, 0),
	ROW(readv, VECTOR, 1, 2, IN, 0),
	ROW(preadv, VECTOR, 1, 2, IN, 0),
	ROW(preadv2, VECTOR, 1, 2, IN, 0),
	ROW(writev, VECTOR, 1, 2, OUT, 0),
	ROW(pwritev, VECTOR, 1, 2, OUT, 0),
	ROW(pwritev2, VECTOR, 1, 2, OUT, 0),
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
	{ .name = NULL },
};

const struct sysdir *sysdir_find(int64_t nr)
{
	for (const struct sysdir *s = table; s->name; s++)
		if (s->nr == nr)
			return s;
	return NULL;
}

const struct sysdir *sysdir_table(void)
{
	return table;
}
