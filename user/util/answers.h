/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that took long, kept in a folder of util/cachedir.h: what was printed, what was said beside it, the
 * status, and the files that were looked at on the way, found or not. An answer is given again for the same key
 * only, and while each of these files is what it was. What lies in the folder is not trusted: a file that is
 * damaged, of another key, or holds what would act on a terminal is no answer. No domain knowledge.
 * Included by command and tests.
 */
#ifndef ACCPERF_ANSWERS_H
#define ACCPERF_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "util/buf.h"

struct answer_key {
	uint64_t low, high;
};

/* Files by path; zero-initialise. One that is looked at twice is listed once; one with a path that is not
 * absolute makes the list unusable, as running out of memory does. */
struct answer_files {
	struct buf list;
	uint32_t count;
	bool unusable;
};
/* found NULL: there is none. */
void answer_files_add(struct answer_files *f, const char *path, const struct stat *found);
void answer_files_release(struct answer_files *f);

#define ANSWER_FILE (1u << 31) /* of flags: text is what a file holds, any bytes, and is never printed */

struct answer {
	uint32_t status, flags; /* the caller's own */
	const char *log, *text; /* into file; not ended by NUL */
	size_t log_len, text_len;
	struct buf file;
};

/* 0; -ENOENT: none, or none that holds any more. *out is released by the caller in any case. */
int answer_get(int dir, const struct answer_key *key, struct answer *out);
/* Keeps it; 0 or -errno: it is not kept. */
int answer_put(int dir, const struct answer_key *key, const struct answer_files *files, const struct answer *a);
void answer_release(struct answer *a);

#endif
