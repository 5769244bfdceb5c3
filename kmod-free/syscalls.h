/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which way a system call moves user memory, and where its buffers are. Included by record. To add a call: a row in
 * the table of syscalls.c.
 */
#ifndef ACCPERF_KMOD_FREE_SYSCALLS_H
#define ACCPERF_KMOD_FREE_SYSCALLS_H

#include <stdint.h>

#include "control.h"

struct sysdir {
	int16_t nr;
	uint8_t shape, addr, len; /* enum sysdir_shape; 0: moves none of user space's memory, but is counted */
	uint8_t dir;              /* FMT_IO_KERNEL_WRITES, FMT_IO_KERNEL_READS or FMT_IO_MAPS */
	uint16_t fixed;
	uint8_t counts; /* enum sysdir_counts */
	const char *name;
};

/* NULL: unknown, or does not touch user buffers worth telling. */
const struct sysdir *sysdir_find(int64_t nr);
/* NULL-terminated by name == NULL. */
const struct sysdir *sysdir_table(void);

#endif
