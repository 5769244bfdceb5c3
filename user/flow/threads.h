/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes between threads, and cache lines that threads share falsely. The flow is the fused estimate
 * with threads in the place of functions. Pure; no I/O. Included by view, cli and tests.
 *
 * A line is shared falsely by two threads that use it at the same time, at least one of them writing,
 * when no byte that one of them writes is used by the other; and when threads that use all of the line
 * would hardly look like that on any of the lines judged: each was seen several times at few words.
 */
#ifndef ACCPERF_FLOW_THREADS_H
#define ACCPERF_FLOW_THREADS_H

#include "estimate.h"
#include "flow/flow.h"
#include "flow/input.h"

struct flow_thread {
	uint32_t pid, tid;
	uint32_t func;    /* of flow_threads.flow; FLOW_NONE: neither reads nor writes anything counted */
	const char *comm; /* NULL unknown */
};

struct line_user {
	uint32_t pid, tid;
	const char *function;    /* that accesses it most */
	uint64_t bytes, written; /* bit per byte of the line */
	double accesses;         /* that the samples stand for */
	uint32_t samples;        /* and hits of watchpoints */
};

struct shared_line {
	uint64_t addr;
	const char *object;       /* NULL: none is known */
	uint64_t offset;          /* of the line's first byte in it, or of the object in the line where that is less */
	struct line_user user[2]; /* of the pairs of threads that do so, the one that accesses it most */
	unsigned pairs;
	double cost; /* accesses of the thread that has fewer: by this they are sorted */
};

struct flow_threads {
	struct flow flow;           /* functions: threads, by name, and pseudo-functions */
	struct flow_thread *thread; /* by pid, tid */
	size_t thread_count;
	struct shared_line *line; /* shared falsely, the most accessed first */
	size_t line_count, line_cap;
	size_t truly; /* lines that two threads share and use the same bytes of, one writing */
};

/* Replaces the functions of `in` by threads: it is of no use for anything else afterwards. */
int flow_threads_build(struct flow_input *in, const struct est_opts *o, struct flow_threads *out, struct err *e);
void flow_threads_release(struct flow_threads *t);

#endif
