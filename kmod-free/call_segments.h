/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments as the kernel sees them: the return of a system call that was drawn, with registers and pages (SAMPLE_TICK
 * with SV_PAGES), and the next entry of that thread. Owns the BPF programs (bpf/segment.bpf.c). Included by
 * part_segments.c and tests (measure); verifies nothing itself.
 *
 *     call_segments_new(), _add() or _all()...      nobody is observed yet
 *     call_segments_want()                          pages that the next one to be carried on brings along
 *     call_segments_attach(), _open(), _read()...   while attached, all system calls of the machine are slower
 *     call_segments_hush()                          none is drawn any more, those under way go on
 *     call_segments_close()                         tells of those that have not ended, detaches
 */
#ifndef ACCPERF_KMOD_FREE_CALL_SEGMENTS_H
#define ACCPERF_KMOD_FREE_CALL_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "counters.h"
#include "sample.h"
#include "util/err.h"

struct call_segment_end {
	uint32_t pid, tid; /* pid 0: unknown (a segment that did not end) */
	uint64_t begun;    /* ns; the time of its sample, where it was carried */
	uint64_t ended;    /* ns */
	uint64_t ran_ns;   /* CPU time from its beginning, pages taken, to its end; so far, where that was not seen */
	uint64_t faults;
	int32_t from_nr, nr; /* system calls; nr -1: its entry was not seen */
	bool timed;          /* false: the clocks contradict each other, and ran_ns is unknown */
	bool carried;
	bool open;            /* it has not ended yet, and is no longer waited for */
	const uint64_t *regs; /* at the entry, of user mode; NULL: none */
};

/* Sample and end of one thread come in this order; borrowed. Negative: stop reading. */
struct call_segment_reader {
	int (*begun)(void *ctx, const struct sample *s);
	int (*ended)(void *ctx, const struct call_segment_end *e);
	void *ctx;
};

struct call_segments_draw {
	uint64_t from, until;  /* ns, when returns are drawn */
	uint64_t most;         /* of them on one CPU, after which none is drawn any more; 0: no limit */
	double carried, timed; /* chances of each return; together at most 1 */
	/* The part of those to be carried on that is, by call (WIRE_CALLS), above 0; NULL: all. */
	const double *kept;
};

struct call_segments;

/* targets_fd: the set of targets that the sampler keeps; 0: our own, of at most `most`. */
struct call_segments *call_segments_new(int targets_fd, uint32_t most, struct err *e);
void call_segments_free(struct call_segments *s);
int call_segments_add(struct call_segments *s, pid_t pid);
void call_segments_remove(struct call_segments *s, pid_t pid);
/* What ends is no target any more, and children are, if so wanted; not where the sampler sees to that. */
int call_segments_follow(struct call_segments *s, bool children, struct err *e);
void call_segments_threads(struct call_segments *s);
int call_segments_cgroup(struct call_segments *s, int fd, struct err *e);
void call_segments_all(struct call_segments *s);

/* As sampler_want_pages(); asked for again only when they have come, or after call_segments_close(). */
bool call_segments_want(struct call_segments *s, uint32_t pid, const uint64_t *addr, uint32_t count,
			const uint64_t *slot, uint32_t slots);

int call_segments_attach(struct call_segments *s, struct err *e);
void call_segments_open(struct call_segments *s, const struct call_segments_draw *d);
void call_segments_hush(struct call_segments *s);
/* When the limit was reached; 0: it was not. */
uint64_t call_segments_over(const struct call_segments *s);
/* Segments that have not ended yet. */
uint64_t call_segments_under_way(const struct call_segments *s);
int call_segments_read(struct call_segments *s, const struct call_segment_reader *to);
int call_segments_close(struct call_segments *s, const struct call_segment_reader *to);

uint64_t call_segments_counter(const struct call_segments *s, enum bpf_counter which);
/* Processes for which the set of targets had no room; records that cannot be right. */
uint64_t call_segments_not_added(const struct call_segments *s);
uint64_t call_segments_malformed(const struct call_segments *s);

#endif
