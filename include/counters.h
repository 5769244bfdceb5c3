/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters kept by BPF programs, a list per program, and the names of those that views look for in a profile. Programs
 * count by number (bpf/count.bpf.h), kmod-free reads (bpf_counters.h), and the recorder writes number and words
 * together. Included by many rooms.
 *
 * To add one: append here, in the program's list, with the words the user will read (NULL: not for users) and whether
 * it means that something wanted was lost.
 */
#ifndef ACCPERF_COUNTERS_H
#define ACCPERF_COUNTERS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define SAMPLER_COUNTERS(X)                                                                                            \
	X(CTR_TICKS, "ticks", 0)                                                                                       \
	X(CTR_TOGETHER, "ticks that came together with another", 0)                                                    \
	X(CTR_TIMERS_PASSED, "timers of the kernel that came by, among which its ticks are", 0)                        \
	X(CTR_KERNEL_TICKS, "ticks of the kernel's own, taken along", 0)                                               \
	X(CTR_KERNEL_TICK_NS, "time that taking them took, ns", 0)                                                     \
	X(CTR_SENT, "samples sent", 0)                                                                                 \
	X(CTR_RING_FULL, "samples lost: ring full", 1)                                                                 \
	X(CTR_NO_REGS, "samples lost: no user registers", 1)                                                           \
	X(CTR_KTHREAD, "ticks in kernel threads", 0)                                                                   \
	X(CTR_COMPAT, "samples lost: 32-bit task", 1)                                                                  \
	X(CTR_STACK_ABSENT, "pages of stacks that are not present, passed over", 0)                                    \
	X(CTR_OTHERS, "ticks of processes that are not observed, dropped", 0)                                          \
	X(CTR_PAGES, "pages of memory taken with samples", 0)                                                          \
	X(CTR_PAGE_FAULT, "pages wanted with samples, not present", 0)                                                 \
	X(CTR_PAGE_LOST, "pages not taken with samples: ring half full", 0)                                            \
	X(CTR_NOT_FOLLOWED, "forked processes lost: too many at once", 1)                                              \
	X(CTR_NOT_FORGOTTEN, "ends of processes that the table of those followed took late", 0)                        \
	X(CTR_GAINED, "programs that gained rights, not observed from then on", 0)                                     \
	X(CTR_OFF_TOLD, "waits told", 0)                                                                               \
	X(CTR_OFF_NS, "time that telling of waits took, ns", 0)                                                        \
	X(CTR_OFF_LOST, COUNTER_WAITS_LOST_RING, 1)                                                                    \
	X(CTR_OFF_TABLE, COUNTER_WAITS_LOST_TABLE, 1)                                                                  \
	X(CTR_OFF_BACK_LOST, COUNTER_WAITS_CUT, 1)

/* Of the offload programs. The calls that they count themselves are not here (struct probe_total). */
#define OFFLOAD_COUNTERS(X)                                                                                            \
	/* calls inside a call of the same family */                                                                   \
	X(PC_NESTED, "offload: nested calls, counted with their outermost", 0)                                         \
	/* by design */                                                                                                \
	X(PC_THINNED, "offload: calls counted without a record of their own", 0)                                       \
	X(PC_RING_FULL, "offload: records lost, ring full", 1)                                                         \
	/* entered, never seen to return: longjmp, exception, fiber */                                                 \
	X(PC_ABANDONED, "offload: calls left by an exception or a jump, or never seen to end", 0)                      \
	X(PC_CUT, "offload: calls cut when probes were taken away", 1)                                                 \
	/* no room for thread, total or histogram cell */                                                              \
	X(PC_MAP_FULL, "offload: calls uncounted, kernel table full", 1)                                               \
	/* more families nested in one thread than there is room for */                                                \
	X(PC_SLOTS_FULL, "offload: calls uncounted, nested too deep", 1)                                               \
	/* another task's system call was under way in the CPU's memory */                                             \
	X(PC_ROOM_TAKEN, "offload: AF_ALG calls uncounted, interrupted by another", 1)

#define WATCH_COUNTERS(X)                                                                                              \
	/* after the window's end or beyond its limit */                                                               \
	X(WC_LATE, NULL, 0)                                                                                            \
	X(WC_LOST, "watch hits lost: ring full", 1)

#define SYSIO_COUNTERS(X)                                                                                              \
	/* calls of any kind that came by, of the targets and of everybody else, and those reported */                 \
	X(SC_PASSED, NULL, 0)                                                                                          \
	X(SC_OTHERS, NULL, 0)                                                                                          \
	X(SC_TAKEN, NULL, 0)                                                                                           \
	/* ns of the targets' time, by the costs set */                                                                \
	X(SC_SPENT, NULL, 0)                                                                                           \
	/* bytes of calls that came by during stretches: of what the kernel adds to a thread's rchar and wchar */      \
	X(SC_READ, NULL, 0)                                                                                            \
	X(SC_WRITTEN, NULL, 0)                                                                                         \
	X(SC_SEEN, "system calls that move memory", 0)                                                                 \
	X(SC_LOST, "system-call records lost: ring full", 1)                                                           \
	X(SC_CUT, "system calls with more ranges than are told", 0)                                                    \
	X(SC_URING, "io_uring calls, whose transfers are not seen", 0)

#define SEGMENT_COUNTERS(X)                                                                                            \
	/* returns that came by, of the targets and of everybody else */                                               \
	X(GC_PASSED, NULL, 0)                                                                                          \
	X(GC_OTHERS, NULL, 0)                                                                                          \
	X(GC_RETURNS, "segments: returns of system calls among which some were drawn", 0)                              \
	X(GC_TIMED, "segments drawn for their time", 0)                                                                \
	X(GC_CARRIED, "segments drawn to be carried on", 0)                                                            \
	X(GC_ENDED, NULL, 0)                                                                                           \
	/* their code is run again, or a handler of a signal: registers are not what user mode gets */                 \
	X(GC_RESTARTED, "segments not drawn: the system call is restarted", 0)                                         \
	X(GC_COMPAT, "segments not drawn: 32-bit system call", 0)                                                      \
	X(GC_NOT_READY, "segments not drawn: the recorder was busy", 0)                                                \
	X(GC_FULL, "segments lost: kernel table full", 1)                                                              \
	X(GC_LOST, "segments lost: ring full", 1)

#define HEAP_COUNTERS(X)                                                                                               \
	/* hits of probes, also of those that are about to go */                                                       \
	X(HC_HITS, NULL, 0)                                                                                            \
	/* in turns: allocations, their bytes, frees */                                                                \
	X(HC_ALLOCS, "heap: allocations seen", 0)                                                                      \
	X(HC_BYTES, "heap: bytes of allocations seen", 0)                                                              \
	X(HC_FREES, "heap: frees seen", 0)                                                                             \
	X(HC_TOLD, "heap: blocks told", 0)                                                                             \
	X(HC_FAILED, "heap: allocations that failed", 0)                                                               \
	X(HC_NESTED, NULL, 0)                                                                                          \
	/* a jump or an exception left it, or a turn ended meanwhile */                                                \
	X(HC_ABANDONED, "heap: allocations not seen to end", 0)                                                        \
	X(HC_CALLS_FULL, "heap: allocations not seen, kernel table full", 1)                                           \
	X(HC_BLOCKS_FULL, "heap: blocks lost, kernel table full", 1)                                                   \
	X(HC_RING_FULL, "heap: blocks lost, ring full", 1)                                                             \
	X(HC_FREED_LOST, "heap: ends of blocks lost, ring full", 1)

#define COUNTER_ACCESSES "accesses written"
/* Records of processes, threads and mappings: counted as lost, but no samples. */
#define COUNTER_SIDEBAND_LOST "side-band records lost"
#define COUNTER_WAITS_LOST_RING "waits lost: ring half full"
#define COUNTER_WAITS_LOST_TABLE "waits lost: kernel table full"
#define COUNTER_WAITS_CUT "waits without an end: ring full"
/* Written where waits were observed at all, also where there were none. */
#define COUNTER_WAITS_OPEN "waits that were not over when observation ended"
/* The target, or its machine, was not met by them as by timers: from then on timers were alone. */
#define COUNTER_TICKS_GIVEN_UP                                                                                         \
	"ticks of the kernel given up: the target moves in step with them, or timers are too many"
/* As their own clocks tell: these had ticks of timers only. Each is written where there are any. */
#define COUNTER_IN_STEP "threads in step with the kernel's ticks: sampled by timers alone"
#define COUNTER_TICKS_REFUSED "ticks of the kernel that are no samples: more than their thread's CPU time has room for"
#define COUNTER_UNSAMPLED_US "CPU time without a sample, us"
/* As a profile ends, before its tables are given back. */
#define COUNTER_HEAP_USE "the recorder's heap in use at the end, bytes"
#define COUNTER_UNSAMPLED_THREADS "threads that ended before their first sample"
/* Files of the target on file systems that wait for a server: what lies in them has no names. */
#define COUNTER_UNANSWERED "files not read: the server of their file system did not answer"
#define COUNTER_TOO_LARGE "files not read: too large to be copied from their file system's server"
/* Samples at which nothing was opened because the target switches threads so often that an event on a
 * thread, beside timers of threads, would cost more than the budget; or because that is not known yet. */
#define COUNTER_FORBIDDEN_WINDOWS "watch: samples put off for the target's context switches"
#define COUNTER_FORBIDDEN_COUNTS "count: samples put off for the target's context switches"

/* One numbering for all programs: what several of them share (bpf/follow.bpf.h) counts by the same number in each.
 * A list ends with a number that nothing counts. */
#define COUNTER_ID(id, text, loss) id,
enum bpf_counter {
	SAMPLER_COUNTERS(COUNTER_ID) CTR_END,
	OFFLOAD_COUNTERS(COUNTER_ID) PC_END,
	WATCH_COUNTERS(COUNTER_ID) WC_END,
	SYSIO_COUNTERS(COUNTER_ID) SC_END,
	SEGMENT_COUNTERS(COUNTER_ID) GC_END,
	HEAP_COUNTERS(COUNTER_ID) HC_END,
};

/* Rows of counters, one for each CPU so that none waits for another's cache line; of more CPUs, some share one. */
#define COUNTER_ROWS 128 /* a power of two */

struct counter_row {
	__u64 n[HC_END];
} __attribute__((aligned(64)));

#endif
