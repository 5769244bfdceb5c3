/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Execute breakpoints, up to four armed together on one thread for one window: how often each
 * instruction is reached relative to the others, immune to what a trap costs; what registers held
 * there; how many were reached per time. Or armed on all CPUs, for one thread or for one process, with the threads
 * that it has yet to begin: no switch of threads costs anything then, but every CPU is interrupted, whatever else runs
 * that code traps as well, and debuggers all over the machine lack the breakpoints meanwhile. One window at a time.
 * Owns events and BPF program; all vanishes with the process, so nothing survives kill -9, and breakpoints are held
 * only while a window is open. Included by measure, record and tests.
 *
 * A window is bounded in the kernel by hits, and by its time limit from here. When another debugger
 * has the breakpoints, windows stay away for a second.
 */
#ifndef ACCPERF_KMOD_FREE_EXECBP_H
#define ACCPERF_KMOD_FREE_EXECBP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "execwin.h"
#include "util/err.h"

struct exec_slot {
	uint64_t addr;  /* runtime address of an instruction's first byte */
	uint32_t limit; /* hits of it that end the window, or this slot alone */
	uint8_t reg;    /* WREG_* to note at each hit, or EXECWIN_NO_REG */
	bool ends;
};

struct exec_request {
	pid_t pid, tid;
	unsigned slots;
	struct exec_slot slot[EXECWIN_SLOTS];
	uint32_t hit_limit; /* of all slots; at most EXECWIN_LOG */
	uint64_t within_ns; /* forget the window unless its first hit comes so soon; 0: whenever */
	uint64_t time_limit_ns;
	uint64_t longest_ns; /* more than the limit: the limit is of the thread's CPU time, and this of time */
	bool process; /* all threads of pid; tid is not looked at, and CPU time is the process's. Always on CPUs */
	bool on_cpus; /* the breakpoints, not on the thread */
};
#define EXECBP_CPUS 32 /* a machine of more has no such windows */

enum exec_end {
	EXEC_HITS = 1,
	EXEC_TIME = 2,
	EXEC_LATE = 3, /* no hit within the time asked for */
	EXEC_CUT = 4,  /* execbp_end(); or other threads and processes hit more than this window was to have */
};

/* Valid until the next one is opened. */
struct exec_window {
	struct exec_request req;
	uint64_t armed, ended; /* CLOCK_MONOTONIC ns: armed on the thread; disarmed, or over by its hits */
	uint64_t cpu_ns;       /* CPU time of the thread, or process, meanwhile; ~0: unknown */
	/* from when it was over by its hits to when we looked: what was not hit was still armed */
	uint64_t unseen_ns;
	enum exec_end end;
	uint32_t hits[EXECWIN_SLOTS];
	uint32_t count;   /* in hit[], by time */
	uint32_t traps;   /* hits that cost, counted or not: of other threads, too */
	uint32_t stopped; /* bit per slot: by its hits, before the window was ended */
	const struct execwin_hit *hit;
};

/* The hits that tell how often slots are hit beside each other. */
struct exec_span {
	uint32_t from, to; /* of exec_window.hit[] */
};
struct exec_span execbp_turns(const struct exec_window *w);

struct exec_stats {
	uint64_t windows, hits, traps, late, stolen, gone, crowded;
	uint64_t armed_ns;
	uint64_t malformed; /* windows whose hits could not be right, and were forgotten */
};

struct execbp;

struct execbp *execbp_new(struct err *e);
/* Cuts an open window off. */
void execbp_free(struct execbp *x);
/* How many CPUs have breakpoints in windows on CPUs; 0: there can be none, or other processes run the same code at the
 * same place (siblings by fork): a few such windows, and there are no more. None for a second after another process
 * had the breakpoints. */
unsigned execbp_cpus(const struct execbp *x);
/* 0; -EBUSY: one is open; -ENOSPC: no breakpoint left on this thread (and away for a second);
 * -EAGAIN: still away; -ESRCH: the thread is gone; -EINVAL. */
int execbp_open(struct execbp *x, const struct exec_request *req, uint64_t now, struct err *e);
bool execbp_is_open(const struct execbp *x);
/* True: the window is over, disarmed, and *out filled. */
bool execbp_poll(struct execbp *x, uint64_t now, struct exec_window *out);
/* Ends an open window now. */
bool execbp_end(struct execbp *x, uint64_t now, struct exec_window *out);
/* Readable when the window's time is over; that its hits have come shows only when one looks, which costs the
 * target nothing: execbp_poll() every few ms. */
int execbp_fd(const struct execbp *x);
/* What a window that is over holds, put into *out, where req, armed, ended, cpu_ns and how it was ended stand already.
 * -EBADMSG: its hits cannot be right, and are forgotten. */
int execbp_record(struct execwin *w, struct exec_window *out);
void execbp_stats(const struct execbp *x, struct exec_stats *out);
/* What was done so far, for trials, does not count. */
void execbp_forget(struct execbp *x);
#define EXECBP_NEAR 64 /* bytes, aligned: what lies there runs slowly while a breakpoint in it is armed */

#endif
