/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters: every early return after "this record was wanted" bumps one of these, and user space stores and shows
 * them by name. It reads them where they lie, mapped, without a system call: the recorder comes by hundreds of times a
 * second. What a program keeps for itself (limits of a window, of a stretch) is no counter, and lies elsewhere.
 * Included by the programs in bpf/, after kernel types.
 *
 * To add one: append to the program's list in include/counters.h.
 */
#ifndef ACCPERF_COUNT_BPF_H
#define ACCPERF_COUNT_BPF_H

#include "counters.h"
#include "preempt.bpf.h"

struct counter_row counters[COUNTER_ROWS];

/* Another task of this CPU may count in between, and so may a CPU that shares the row: neither is lost. */
static __always_inline void count_n(enum bpf_counter which, __u64 n)
{
	ADD(counters[bpf_get_smp_processor_id() & (COUNTER_ROWS - 1)].n[which], n);
}

static __always_inline void count(enum bpf_counter which)
{
	count_n(which, 1);
}

#endif
