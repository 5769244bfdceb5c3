/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files on file systems that may wait for a server are opened and read by a process of their own, one for each such
 * file system, which can be left behind: even SIGKILL does not end a wait for a server that has the request and does
 * not answer. The caller is told -EINPROGRESS and asks again. Owns those processes and what they sent until it is
 * fetched. openfile.c's own; tests set times by it. Of one thread.
 */
#ifndef ACCPERF_OPENED_APART_H
#define ACCPERF_OPENED_APART_H

#include <stdint.h>
#include <sys/stat.h>

#include "util/openfile.h"

enum apart_what {
	APART_PATH,     /* as the process sees it, inside its root; pid 0: as we do */
	APART_NOFOLLOW, /* the same, but no link at its end */
	APART_LINK,     /* one of /proc's links to files */
};

struct apart_wish {
	uint32_t what, pid, use;
	uint32_t number;
	uint64_t room; /* bytes that a copy may have */
	char path[4096];
};

/* A descriptor and *st, what the wish's function gave, or -errno: -EINPROGRESS: not yet, ask again; -ETIMEDOUT: the
 * server does not answer. device: of which file system, as far as that is known. */
int apart_open(struct apart_wish *w, uint64_t device, int (*open_it)(const struct apart_wish *w, struct stat *st),
	       struct stat *st);
/* A sealed copy of a file, or -errno: -EFBIG where it exceeds `room`. */
int apart_copy(int fd, const struct stat *st, uint64_t room);

#endif
