/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters kept by BPF programs, one array per program set, read through kmod-free, and the names of
 * those that views look for in a profile. Included by bpf/, kmod-free, record, cli and view. To add one:
 * append here, in the list, with the words the user will read and whether it means that something
 * wanted was lost.
 */
#ifndef ACCPERF_COUNTERS_H
#define ACCPERF_COUNTERS_H

#define ACCPERF_COUNTERS(X)                                                                                            \
	X(CTR_TICKS, "ticks", 0)                                                                                       \
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
	X(CTR_GAINED, "programs that gained rights, not observed from then on", 0)

#define COUNTER_ACCESSES "accesses written"
#define COUNTER_UNSAMPLED_US "CPU time without a sample, us"
#define COUNTER_UNSAMPLED_THREADS "threads that ended before their first sample"
/* Samples at which nothing was opened because the target switches threads so often that an event on a
 * thread, beside timers of threads, would cost more than the budget; or because that is not known yet. */
#define COUNTER_FORBIDDEN_WINDOWS "watch: samples put off for the target's context switches"
#define COUNTER_FORBIDDEN_COUNTS "count: samples put off for the target's context switches"

enum bpf_counter {
#define X(id, text, loss) id,
	ACCPERF_COUNTERS(X)
#undef X
		CTR_MAX
};

#endif
