/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way to read a process's memory. A page that the process has not touched yet may be one of a mapped file whose
 * server does not answer: bringing it in would wait for good, so it is not read. Included by what reads a target's
 * memory (proc, attr, offload, record and tests). Of one thread.
 */
#ifndef ACCPERF_TARGET_MEMORY_H
#define ACCPERF_TARGET_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many bytes were read from the start on, or -1 with errno; EIO: it might wait for a server. */
ssize_t target_memory_read(uint32_t pid, uint64_t addr, void *buf, size_t len);
/* Reads that were refused for that, so far. */
uint64_t target_memory_refused(void);

#endif
