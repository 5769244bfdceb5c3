/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work on hostile input, done apart: in a child process with limits, so that a library's crash, loop
 * or greed costs some names, not the recording, and its memory is gone afterwards. The child sends
 * records through a pipe; it is not trusted either. Included by symbols.c and tests.
 */
#ifndef ACCPERF_SYMBOL_CONTAINED_CHILD_H
#define ACCPERF_SYMBOL_CONTAINED_CHILD_H

#include <stddef.h>
#include <stdint.h>

struct contained_out;

struct contained_job {
	/* In the child; nonzero is a failure. Descriptors other than keep_fd are closed there. */
	int (*produce)(void *ctx, struct contained_out *out);
	/* Here, for each record; nonzero ends the child. */
	int (*consume)(void *ctx, const uint8_t *record, size_t size);
	void *ctx;
	int keep_fd;
	unsigned cpu_seconds;
	uint64_t memory;
};

/* 0; -EIO: the child failed or died (records that arrived were consumed); else why there was none. */
int contained_run(const struct contained_job *job);
/* CPU time of all children so far. */
uint64_t contained_cpu_ns(void);
/* One record of at most APART_MAX bytes. */
void contained_put(struct contained_out *out, const void *record, size_t size);
#define APART_MAX (1u << 20)

#endif
