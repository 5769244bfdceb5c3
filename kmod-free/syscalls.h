/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which way a system call moves user memory, and where its buffers are. Included by kmod-free,
 * ingest, cli and tests. To add a call: a row in the table of syscalls.c.
 */
#ifndef ACCPERF_KMOD_FREE_SYSCALLS_H
#define ACCPERF_KMOD_FREE_SYSCALLS_H

#include <stdint.h>

enum sysdir_shape {
	SYSDIR_BUFFER = 1, /* args[addr], length = result */
	SYSDIR_VECTOR,     /* struct iovec at args[addr], args[len] of them, filled up to the result */
	SYSDIR_MESSAGE,    /* struct msghdr at args[addr] */
	SYSDIR_FIXED,      /* args[addr], `fixed` bytes if the result is not an error */
	SYSDIR_COUNTED,    /* args[addr], result * fixed bytes: epoll_wait */
	SYSDIR_MAP,        /* result = address, args[1] = length */
};

struct sysdir {
	int16_t nr;
	uint8_t shape, addr, len;
	uint8_t dir; /* FMT_IO_KERNEL_WRITES, FMT_IO_KERNEL_READS or FMT_IO_MAPS */
	uint16_t fixed;
	const char *name;
};

/* NULL: unknown, or does not touch user buffers worth telling. */
const struct sysdir *sysdir_find(int64_t nr);
/* NULL-terminated by name == NULL. */
const struct sysdir *sysdir_table(void);

#endif
