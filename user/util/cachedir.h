/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folders of files that may be lost: $XDG_CACHE_HOME/accperf/NAME (or ~/.cache; of root /var/cache or /run where that
 * cannot be written), or one that the user names. Ours alone or not used: folders and files must belong to us, nobody
 * else may write there, links are not followed. Files are replaced, never changed; the ones used longest ago go first
 * when there is too much. What is in them is not to be trusted any more than other files. No domain knowledge.
 * Included by many rooms.
 */
#ifndef ACCPERF_CACHEDIR_H
#define ACCPERF_CACHEDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"

/* A descriptor, or -1: there is no home, or it is not ours. */
int cachedir_open(const char *name);
/* Of root, who has a folder of its own as well: the one of its services, to read; -1: there is none. Makes none. */
int cachedir_open_of_services(const char *name);
/* Whether what is written there will be found by who comes next; else why not, as a sentence's first half. */
bool cachedir_keeps(const char *name, char *why, size_t size);
/* The folder at `path`, made (0700) if it is not there: -errno if it cannot be made or is not ours. */
int cachedir_open_path(const char *path);
/* Appends the file's bytes; 0, -errno; -EFBIG beyond max. Marks it as used. */
int cachedir_read(int dir, const char *file, size_t max, struct buf *out);
/* Replaces the file, then drops old ones until all together are below max_total. 0, -errno. */
int cachedir_write(int dir, const char *file, const struct buf *data, uint64_t max_total);

#endif
