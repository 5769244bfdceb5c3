/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on hostile input, done apart: in a child process with limits and without rights (confine.h), so
 * that a library's crash, loop or greed costs some names, not the recording, what its defects let a
 * file do is done by nobody, and its memory is gone afterwards. The child sends records through a
 * pipe; it is not trusted either. Included by readers of foreign files and tests (flow, record and foreground).
 */
#ifndef ACCPERF_SYMBOL_CONTAINED_CHILD_H
#define ACCPERF_SYMBOL_CONTAINED_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTAINED_FDS 3 /* of one job: a file, its debug file, and what dwz moved elsewhere */

struct contained_out;

struct contained_job {
	/* In the child; nonzero is a failure. Descriptors other than keep_fd are closed there, and none can
	 * be opened. */
	int (*produce)(void *ctx, struct contained_out *out);
	/* Here, for each record; nonzero ends the child. */
	int (*consume)(void *ctx, const uint8_t *record, size_t size);
	void *ctx;
	int keep_fd[CONTAINED_FDS]; /* ascending or not; below 0: none */
	unsigned cpu_seconds, wall_seconds;
	uint64_t memory;
};

/* 0; -EIO: the child failed or died (records that arrived were consumed); -ETIMEDOUT: it was ended for
 * its time; -ECANCELED: the user wants no more; else why there was none. */
int contained_run(const struct contained_job *job);
/* While a child works, fd is watched; once `asked` says so, it ends, and no other begins. fd -1: nothing is. */
void contained_stop_when(int fd, bool (*asked)(int fd));
bool contained_stopped(void);
/* While a child works, `round` is called, and again after as many milliseconds as it returns, at most. NULL: nothing
 * is. */
void contained_meanwhile(unsigned (*round)(void *ctx), void *ctx);
/* CPU time of all children so far. */
uint64_t contained_cpu_ns(void);
/* One record of at most APART_MAX bytes. */
void contained_put(struct contained_out *out, const void *record, size_t size);
#define APART_MAX (1u << 20) /* bytes: a chain of 32 frames with three strings of 4 KiB has 400,000 */

#endif
