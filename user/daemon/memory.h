/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon and its children hold: their own memory, what BPF maps and rings take in the kernel for them, and of
 * what they share their part. Included by this room and tests.
 *
 * The daemon's own tables are as large as what there is now: 56 bytes of a process of this machine, and as much again
 * while it looks (watched.h); 300 of a container that processes of services are in; 100 of a profile that is kept
 * (keeper.h); 4 KB of each of 16 answers (queries.h); 34 KB of a service (daemon_priv.h), 64 at most; 16 KB of a
 * connection, 200 at most. Arrays double, so up to twice that is taken. Nothing is kept of what has ended;
 * `accperf_daemon_heap_bytes` tells the sum. A recorder's tables begin anew with each profile (attr.c).
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
