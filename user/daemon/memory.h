/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon and its children hold: their own memory, what BPF maps and rings take in the kernel for them, and of
 * what they share their part. Included by this room and tests.
 */
#ifndef ACCPERF_DAEMON_MEMORY_H
#define ACCPERF_DAEMON_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;

/* Memory that only this process has, mapped rings among it, and its part of what it shares; bytes. */
uint64_t memory_of(pid_t pid);
/* In the kernel, for its BPF maps and its rings of events, as far as memory_of() does not see them; bytes. */
uint64_t memory_in_kernel(pid_t pid);
/* Of the children that read profiles and send them; *largest: the one that holds the most, 0: there are none. */
uint64_t memory_of_readers(const struct daemon *d, pid_t *largest);
/* What is left to a child that reads, at most; bytes. */
uint64_t memory_for_reader(const struct daemon *d);

#endif
