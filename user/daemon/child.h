/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This program again, as a child of the daemon that ends when the daemon does. Included by user/daemon. */
#ifndef ACCPERF_DAEMON_CHILD_H
#define ACCPERF_DAEMON_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

#define CHILD_READS_NICE 15 /* of a child that only reads profiles: after all that the host is there for */

struct child_opts {
	const char *const *argv; /* ends with NULL */
	int out, said;           /* its stdout and stderr; -1: nowhere */
	int folder;              /* it runs there; 0: where we do */
	int end_by;              /* the signal that it gets where the daemon is killed */
	int nice;                /* how far it gives way to others */
	uint64_t memory;         /* of data, at most; bytes */
	uint64_t file_size;      /* of each file that it writes, at most; 0: no limit */
};

/* Its pid, or -errno. */
pid_t child_start(const struct child_opts *o, struct err *e);
/* Kills it and its helpers. wait: until it is gone, which takes long for one that gives way to others, where these want
 * all CPUs; a daemon that ends leaves that to the kernel. */
void child_kill(pid_t *pid, bool wait);
/* The last line that it said, of a memfd that was its stderr. */
void child_last_line(int fd, char *out, size_t size);

#endif
