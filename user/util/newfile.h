/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way to write a file: under a new name beside the destination, private to its owner (0600),
 * renamed at the end. What stands there already is neither opened nor followed, so that a planted link,
 * FIFO or foreign file receives nothing; a reader sees the old file or the new one. A file that was not
 * made here is never removed. Until it is named the new file has no name at all where the file system
 * allows that (O_TMPFILE): who is killed leaves nothing behind. Included by store, model, command and exact. Owns the
 * descriptor.
 */
#ifndef ACCPERF_NEWFILE_H
#define ACCPERF_NEWFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/err.h"

enum newfile_flags {
	NEWFILE_KEEP_OLD = 1, /* an older file becomes NAME.old when the new one takes its name */
	NEWFILE_AT_ONCE = 2,  /* it takes its name when it is opened: what is written survives a kill */
	NEWFILE_THROUGH = 4,  /* a terminal, /dev/null, /dev/stdout or /dev/fd/N is written to, not replaced */
	NEWFILE_SYNC = 8,     /* it is on disk before it takes its name */
};

struct newfile {
	int fd; /* written to by the owner; -1: closed */
	int dir;
	unsigned flags;
	bool through, existed, named, kept;  /* kept: an older one, as NAME.old */
	char path[PATH_MAX], temp[PATH_MAX]; /* temp "": without a name */
};

/* path is relative to the folder `dir` (AT_FDCWD). Refuses links, folders, devices and FIFOs. */
int newfile_open(struct newfile *n, int dir, const char *path, unsigned flags, struct err *e);
int newfile_write(struct newfile *n, const void *data, size_t len, struct err *e);
/* Gives it its name and closes it; on failure nothing is left of it. */
int newfile_commit(struct newfile *n, struct err *e);
/* Closes it; what has no name yet is gone, what has one stays. NULL and closed ones are fine. */
void newfile_drop(struct newfile *n);
/* Closes it, takes its name away, and puts an older one that was kept back in its place, unless another file has the
 * name by now. */
void newfile_undo(struct newfile *n);
/* A file without a name on the file system of path's folder, for reading and writing: its descriptor. */
int newfile_nameless(const char *path, struct err *e);

#endif
