/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loss counters: every early return after "this record was wanted" bumps one of these, and user
 * space stores and shows them by name. Included by the programs in bpf/.
 * To add one: append to the list in include/counters.h.
 */
#ifndef ACCPERF_COMMON_BPF_H
#define ACCPERF_COMMON_BPF_H

#include "kernel_types.bpf.h"
#include "counters.h"
#include "preempt.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CTR_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(enum bpf_counter which)
{
	__u32 key = which;
	__u64 *v = bpf_map_lookup_elem(&counters, &key);

	if (v)
		ADD(*v, 1);
}

#endif
