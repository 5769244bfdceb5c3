/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware breakpoints on every thread of a process: who reads and who writes one address, in order,
 * for a bounded number of hits and a bounded time; or how often an instruction is reached. Owns the
 * events and the BPF program; everything vanishes with the process, so nothing survives kill -9.
 *
 * Slots are held only while a window is open: a debugger finds them free in between, and when it
 * takes them first (ENOSPC) all windows end at once and stay away for a second.
 *
 * Read or write is decided by the caller (watch_decide), who has the decoder. Included by measure, record and tests.
 */
#ifndef ACCPERF_KMOD_FREE_WATCH_H
#define ACCPERF_KMOD_FREE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "util/err.h"

#define WATCH_SLOTS 4      /* debug registers of x86-64 */
#define WATCH_THREADS 4096 /* of a process that is watched, an event each; by hand */
#define WATCH_MAX_HITS 256 /* kept of one window; by hand */

struct watch_opts {
	unsigned slots;         /* 1..4 */
	unsigned hit_limit;     /* of a window in all */
	unsigned switch_after;  /* reads without a write before write-only */
	unsigned write_limit;   /* writes seen in write-only mode that end the window */
	unsigned read_again;    /* not 0: a write seen there ends that mode instead, for so many hits: who reads it? */
	uint64_t time_limit_ns; /* read-write */
	uint64_t write_time_ns; /* write-only, after the switch */
	bool no_kernel;         /* do not see the kernel's accesses (also when refused) */
};
#define WATCH_DEFAULTS                                                                                                 \
	{                                                                                                              \
		.slots = 4, .hit_limit = 64, .switch_after = 32, .write_limit = 4, .time_limit_ns = 20000000,          \
		.write_time_ns = 200000000                                                                             \
	}

struct watch_request {
	pid_t pid;
	uint64_t addr;
	uint32_t len; /* 1, 2, 4, 8; aligned. 1 unless the width matters: a kernel copy hits once per byte */
	bool on_cpus; /* armed on all CPUs for this process, instead of on its threads: see watch_cpus() */
	bool execute; /* count how often `addr` is executed; hits carry no direction */
	uint64_t time_limit_ns, write_time_ns; /* 0: as in the options; write_time 1: no write-only phase */
};

struct watch_hit {
	uint64_t time;
	uint64_t ip; /* runtime address of the accessing instruction if decided, else as reported */
	uint32_t pid, tid;
	uint32_t flags;  /* FMT_A_LOAD, _STORE, _KERNEL, _ATOMIC, _REP, _STACK; neither: undecided */
	int32_t syscall; /* -1 */
};

struct watch_window {
	uint64_t armed, ended;
	struct watch_request req;
	uint32_t slot;
	uint32_t end_reason;       /* enum fmt_window_end */
	uint32_t write_only_after; /* ~0: never */
	uint32_t count, missed;    /* missed: hits that could not be delivered */
	uint32_t threads;          /* on which it was armed */
	uint32_t phases;           /* how often */
	struct watch_hit hits[WATCH_MAX_HITS];
};

/* Fills flags and may correct ip, from the raw hit. Only called for hits in user mode. */
typedef void (*watch_decide_fn)(void *ctx, const struct wire_watch *raw, struct watch_hit *hit);
typedef void (*watch_window_fn)(void *ctx, const struct watch_window *w);

struct watch_stats {
	uint64_t windows, hits, late, lost, declined; /* declined: no slot, or no breakpoint left */
	uint64_t crowded;   /* windows on CPUs given up because other processes use the same addresses */
	uint64_t stolen;    /* windows ended because another debugger took a slot */
	uint64_t armed_ns;  /* time with at least one slot armed, until now */
	uint64_t slot_ns;   /* the same, summed over slots */
	uint64_t malformed; /* records that could not be right */
};

struct watch;

/* 0: works, and the kernel stops an event at its limit. -errno: e says why not. Takes a millisecond;
 * watches a variable of the calling thread. Before any window is opened. */
int watch_check(struct watch *w, struct err *e);

struct watch *watch_new(const struct watch_opts *o, watch_decide_fn decide, watch_window_fn window, void *ctx,
			struct err *e);
/* CPUs on which windows can be armed instead of on threads; 0: they cannot. No switch of threads costs anything then,
 * and threads that begin meanwhile are seen from their first instruction on; but debuggers all over the machine lack
 * the breakpoint meanwhile, and a process that uses the same addresses (a sibling by fork) traps as well: after a few
 * such windows it is not done again. Nor for a second after another process had the breakpoints. */
unsigned watch_cpus(const struct watch *w, uint64_t now);
/* Threads of a process now; their number or -errno. */
int watch_threads(pid_t pid, int *tids, int max);
/* tids: not looked at with req->on_cpus. Slot number; -EBUSY: all taken; -ENOSPC: no breakpoint left on some thread;
 * -ESRCH: gone. */
int watch_arm(struct watch *w, const struct watch_request *req, const int *tids, int n, uint64_t now, struct err *e);
/* A thread born while windows are open joins those of its process. */
void watch_add_task(struct watch *w, pid_t pid, pid_t tid);
/* Ends the window in a slot; it is delivered. */
void watch_end(struct watch *w, int slot, uint32_t reason, uint64_t now);
/* Takes hits from the ring, switches and ends what is due, delivers finished windows. */
void watch_poll(struct watch *w, uint64_t now);
/* Whether every hit wakes who waits for watch_fd(), not only one at a limit: to price that. */
void watch_wake_each(struct watch *w, bool each);
/* Readable when a window may be due, by hits or by time. */
int watch_fd(const struct watch *w);
/* When the last open window will end by time; 0: none is open. */
uint64_t watch_deadline(const struct watch *w);
int watch_free_slot(const struct watch *w);                              /* -1: none */
const struct watch_request *watch_slot(const struct watch *w, int slot); /* NULL: free */
/* The slot that a new sample takes from an open window, or -1: none, the sample is dropped. since: samples
 * since each was armed; slots are asked in random order, slot i yields with probability 1/(1+since[i]), as
 * in the Witch tools: old windows are left to find what they wait for, and yet no sample of a stretch
 * without free slots is shut out. random: state of a xorshift generator, never 0. */
int watch_victim(const uint64_t *since, unsigned slots, uint64_t *random);
void watch_stats(struct watch *w, struct watch_stats *out);
/* Ends all windows (FMT_W_EXIT), delivering them. */
void watch_free(struct watch *w);

/* One record of the ring: for tests, as this is, with a window open in each slot, of generation 1. */
int watch_record(struct watch *w, const void *data, size_t size);
struct watch *watch_without_events(const struct watch_opts *o, watch_decide_fn decide, watch_window_fn window,
				   void *ctx);

#endif
