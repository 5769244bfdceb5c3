/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user space tells BPF programs, and what they keep for it, beside records (abi.h), counters (counters.h), offload
 * probes (probe.h) and execution windows (execwin.h): values of maps and of globals. Included by bpf/ (after kernel
 * types), kmod-free and tests. Fixed widths, no pointers.
 *
 * To share another: here, once, with its size asserted.
 */
#ifndef ACCPERF_CONTROL_H
#define ACCPERF_CONTROL_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* By what programs know which processes they observe (bpf/follow.bpf.h). */
enum { FOLLOW_ALL = 0, FOLLOW_PROCESSES = 1, FOLLOW_THREADS = 2, FOLLOW_CGROUP = 3 };
/* Values of the set of targets: a command is not followed before its exec, what it was before is ourselves. Anything
 * else is when a child began, with bit 1 set: numbers come back, and the end of one must not take away its successor.
 * GONE is who ended and could not be taken out: nobody by that number is observed. */
enum { FOLLOW_NOT_YET = 0, FOLLOW_NOW = 1, FOLLOW_GONE = 4 };

/* Kernel functions that programs call: their calls name these numbers, which are no helper's, and the loader puts the
 * running kernel's in place (kmod-free/kernel_btf.h). */
enum { KERNEL_PREEMPT_DISABLE, KERNEL_PREEMPT_ENABLE, KERNEL_SESSION_IS_RETURN, KERNEL_FUNCTIONS };
#define KERNEL_FUNCTION(which) (0x4acc0000u + (which))
/* Section of a program that user space runs over all threads. */
#define SEC_ITERATES_TASKS "accperf_iter_task"

/* Of the running kernel's code: what its tick's timer calls, and the timer interrupt's entry. */
struct kernel_tick_code {
	__u64 handler, entry, entry_end;
};

/* The user that rights are lent to: only what this user could look into may be observed (bpf/entitled.bpf.h). */
struct lent_rights {
	__u32 strict, uid, gid;
	__u32 self; /* the recorder, which measures on itself what its programs cost */
};
_Static_assert(sizeof(struct lent_rights) == 16, "lent_rights");

/* A watched address, armed on every thread of a process or on every CPU. */
struct watch_slot {
	__u64 generation;
	__u64 hits;
	__u64 limit;
	__u64 soft_limit; /* stop here unless the value has changed: nobody writes, so far */
	__u64 value, changed;
	__u32 process, others; /* armed on CPUs: for this process; hits of others so far */
	/* not on all threads, or CPUs, yet; hits meanwhile, which would tell half of what happens */
	__u32 arming, early;
};
_Static_assert(sizeof(struct watch_slot) == 64, "watch_slot");
#define WATCH_OTHERS 16 /* hits of other processes that an event on a CPU lets go by */

/* Where a system call has its buffers. */
enum sysdir_shape {
	SYSDIR_BUFFER = 1,  /* args[addr], length = result */
	SYSDIR_VECTOR = 2,  /* struct iovec at args[addr], args[len] of them, filled up to the result */
	SYSDIR_MESSAGE = 3, /* struct msghdr at args[addr] */
	SYSDIR_FIXED = 4,   /* args[addr], `fixed` bytes if the result is not an error */
	SYSDIR_COUNTED = 5, /* args[addr], result * fixed bytes: epoll_wait */
	SYSDIR_MAP = 6,     /* result = address, args[1] = length */
};

/* What the kernel adds a call's result to: a thread's rchar, its wchar (/proc/PID/io). Of the whole time these say
 * how many bytes moved, of which stretches saw some. */
enum sysdir_counts { SYSDIR_READ = 1, SYSDIR_WRITTEN = 2 };

/* What is added up over all threads of the targets: bytes read and written by calls that the kernel counts, and the
 * CPU time, ns. */
enum sysio_sum { SUM_READ, SUM_WRITTEN, SUM_RAN, SYSIO_SUMS };

/* By the call's number; shape 0: not wanted. */
struct sysio_call {
	__u8 shape, addr, len, dir;
	__u16 fixed;
	__u8 counts, pad; /* enum sysdir_counts */
};
_Static_assert(sizeof(struct sysio_call) == 8, "sysio_call");

/* How an allocator's function tells what it is asked for; a probe's cookie has it, and the argument it is in. */
enum heap_role {
	HEAP_ALLOC = 1,   /* bytes in an argument, the block in the result */
	HEAP_CALLOC = 2,  /* bytes are the product of two arguments */
	HEAP_REALLOC = 3, /* block and bytes in arguments, the block in the result */
	HEAP_POSIX = 4,   /* the block where the first argument says, bytes in the third */
	HEAP_FREE = 5,    /* the block in the first argument */
	HEAP_HANDED = 6, /* no function: a jump to what clears the block, which is its first argument, and returns it */
	HEAP_ROLES = 7
};
#define HEAP_COOKIE(role, arg) ((role) | (__u64)(arg) << 8)
#define HEAP_COOKIE_ROLE(cookie) ((cookie)&0xff)
#define HEAP_COOKIE_ARG(cookie) ((cookie) >> 8 & 0xff)

/* Of a turn: hits, and when there were so many as it may have. */
struct heap_limit {
	__u64 hits, over_at;
};
_Static_assert(sizeof(struct heap_limit) == 16, "heap_limit");

/* Distances in bytes between blocks that are told, by chance: quantiles of their distribution. */
#define HEAP_GAPS 1024 /* a power of two */

#endif
