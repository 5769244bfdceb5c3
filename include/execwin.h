/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One window of execute breakpoints as bpf/execbp.bpf.c and kmod-free/execbp.c share it: in memory that
 * both map, because a window's hits are looked at only when it is over. Included by bpf and
 * kmod-free. The program runs in the observed thread, or in several at once where a window is of a whole process;
 * user space writes only while nothing is armed, `armed_at` apart.
 */
#ifndef ACCPERF_EXECWIN_H
#define ACCPERF_EXECWIN_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define EXECWIN_SLOTS 4    /* breakpoints of a window: x86-64 has four of a thread */
#define EXECWIN_LOG 1024   /* hits of one window that are kept: 48 KiB; a power of two */
#define EXECWIN_NO_REG 255 /* above every WREG_* */
#define EXECWIN_FOREIGN 64 /* hits of other processes, which each of them slows, until a window on CPUs ends; by hand */

enum execwin_closed { EXECWIN_OPEN = 0, EXECWIN_FULL = 1, EXECWIN_TOO_LATE = 2, EXECWIN_SHUT = 3, EXECWIN_CROWDED = 4 };

struct execwin_hit {
	__u64 time;
	__u64 value; /* of the register asked for */
	__u64 sp;
	__u64 on_stack; /* at a function's entry: the return address */
	__u64 cpu_ns;   /* of the thread since the window was armed */
	__u32 slot, pad;
};

struct execwin {
	__u64 generation;
	__u64 armed_at;  /* 0: still arming */
	__u64 closed_at; /* by hits */
	__u64 within_ns; /* the first hit must come so soon; 0: whenever */
	__u32 closed;    /* enum execwin_closed */
	__u32 total_limit;
	__u32 limit[EXECWIN_SLOTS]; /* hits */
	__u32 ends[EXECWIN_SLOTS];  /* reaching it ends the window, not only the slot */
	__u32 reg[EXECWIN_SLOTS];   /* WREG_*, or EXECWIN_NO_REG */
	__u32 hits[EXECWIN_SLOTS];
	__u32 logged, surplus; /* surplus: hits after the end; they cost as well */
	__u32 stopped;         /* bit per slot: told to stop itself */
	/* hits of any other do not count, which are told apart where all CPUs are armed; 0: any */
	__u32 process, thread;
	__u32 foreign; /* hits of other processes: they cost these, as surplus of other threads costs the target */
	struct execwin_hit log[EXECWIN_LOG];
};
_Static_assert(sizeof(struct execwin_hit) == 48, "execwin_hit");
_Static_assert(sizeof(struct execwin) == 128 + 48 * EXECWIN_LOG, "execwin");

#endif
