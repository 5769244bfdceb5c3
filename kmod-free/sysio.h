/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls as exact producers and consumers of memory: SAMPLE_SYSIO with range, direction
 * (SF_STORE: the kernel wrote user memory, SF_LOAD: it read it, neither: a file was mapped there) and
 * `period` = how many calls this one stands for. Transfers through io_uring are counted, not seen.
 * Owns the BPF programs. Included by measure, record and tests.
 */
#ifndef ACCPERF_KMOD_FREE_SYSIO_H
#define ACCPERF_KMOD_FREE_SYSIO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "control.h"
#include "sample.h"
#include "util/err.h"

struct sysio_stats {
	uint64_t calls, lost, cut, uring; /* cut: vectors longer than we tell */
	uint64_t passed, others;          /* calls of any kind that came by: of the watched, of everybody else */
	uint64_t taken;                   /* reported */
	uint64_t spent_ns;                /* by the targets, by the costs set */
	uint64_t malformed;               /* records that could not be right */
	uint64_t not_observed;            /* processes for which the set of targets had no room */
	uint64_t moved[2];                /* bytes that calls seen in stretches added to what sysio_sums() tells */
};

/* What observation costs, ns, beyond the call itself. */
struct sysio_costs {
	double pass_ns;   /* a call of a target that is not reported */
	double take_ns;   /* one that is */
	double other_ns;  /* a call of anybody else */
	double attach_ns; /* attaching and detaching, to each running thread */
};
struct sysio_opts {
	int targets_fd; /* the set of targets that the sampler keeps; 0: our own */
	uint32_t most;  /* targets, in our own; 0: as many as the program says */
};

struct sysio;

/* Nobody is watched yet. */
struct sysio *sysio_new(const struct sysio_opts *o, struct err *e);
/* These are watched, too. One without room is counted. */
int sysio_add(struct sysio *s, pid_t pid);
void sysio_remove(struct sysio *s, pid_t pid);
/* The programs see to it that what ends is no target any more, and that children are, if so wanted. Not where the
 * sampler does that. */
int sysio_follow(struct sysio *s, bool children, struct err *e);
/* Ids are those of single threads. */
void sysio_threads(struct sysio *s);
/* All of a control group and of those below it; version 2 only. */
int sysio_cgroup(struct sysio *s, int fd, struct err *e);
/* Every process; that ours are among them is the caller's to sort out. */
void sysio_all(struct sysio *s);
/* For tests: report one call in so many, drawn at random, as if the ring were full. */
void sysio_set_every(struct sysio *s, uint32_t every);
void sysio_set_costs(struct sysio *s, const struct sysio_costs *c);
/* Bytes that the targets have read and written by calls that the kernel counts itself (enum sysdir_counts), seen or
 * not, and their CPU time: of all their threads, those that have ended since the first question, too. Goes through all
 * threads of the machine. False: this kernel does not tell. */
bool sysio_sums(struct sysio *s, uint64_t sums[SYSIO_SUMS]);
/* A stretch at once and without an end: sysio_attach() and sysio_open(). */
int sysio_start(struct sysio *s, uint64_t limit_ns, struct err *e);
int sysio_attach(struct sysio *s, struct err *e);
/* Begins a stretch, once attached: calls that end from `from` (ns, monotonic clock) on. When it has cost the
 * targets `limit_ns` on some CPU (0: no limit) it falls silent and sysio_fd() becomes readable. While attached every
 * system call of the machine takes the kernel's slower path; while paused no process pays anything. */
void sysio_open(struct sysio *s, uint64_t from, uint64_t limit_ns);
/* Ends it at once, attached or not: what comes by from now on is not of this stretch. */
void sysio_hush(struct sysio *s);
void sysio_pause(struct sysio *s);
bool sysio_paused(const struct sysio *s); /* for tests */
/* When the limit was reached; 0: not yet. */
uint64_t sysio_over(const struct sysio *s);
int sysio_fd(const struct sysio *s);
/* One record of the ring: a sample for each range. -EBADMSG: it cannot be right; or what `fn` said, if negative. */
int sysio_record(const void *data, size_t size, sample_fn fn, void *ctx);
int sysio_read(struct sysio *s, sample_fn fn, void *ctx);
void sysio_stats(const struct sysio *s, struct sysio_stats *out);
void sysio_free(struct sysio *s);

#endif
