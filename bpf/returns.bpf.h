/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls under way in a thread, and what their return probes hide: while a function with a return
 * probe runs, its return address on the stack is the kernel's trampoline, and an unwinder would stop
 * there. fix_returns() puts the true ones into a copied stack. Owns the layout of the `threads` map
 * that offload.bpf.c fills and the sampler reads. Included by bpf/ only.
 */
#ifndef ACCPERF_RETURNS_BPF_H
#define ACCPERF_RETURNS_BPF_H

#include "probe.h"

/* Names of the kernel's with a flavour of our own: see libbpf on ___. */
struct xol_area___ret {
	unsigned long vaddr;
} __attribute__((preserve_access_index));
struct uprobes_state___ret {
	struct xol_area___ret *xol_area;
} __attribute__((preserve_access_index));
struct mm_struct___ret {
	struct uprobes_state___ret uprobes_state;
} __attribute__((preserve_access_index));
struct task_struct___ret {
	struct mm_struct___ret *mm;
} __attribute__((preserve_access_index));

#define THREADS_MAX 65536 /* threads inside a probed call at once; by hand */

struct threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, THREADS_MAX);
	/* Sizes, not types: as an inner map its value's type would be declared only. */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct probe_thread));
};

/* Where functions with a return probe return to in the current process; 0: none has been entered. */
static __always_inline __u64 return_trampoline(void)
{
	struct task_struct___ret *task = (void *)bpf_get_current_task();
	struct xol_area___ret *area = NULL;
	__u64 vaddr = 0;

	if (!bpf_core_field_exists(struct xol_area___ret, vaddr))
		return 0;
	area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	if (area)
		vaddr = BPF_CORE_READ(area, vaddr);
	return vaddr;
}

/* copy: `len` bytes of the current thread's stack from `from` upwards, in memory of at least `max`. */
#define fix_returns(t, copy, max, len, from)                                                                           \
	do {                                                                                                           \
		__u64 tramp_ = return_trampoline();                                                                    \
		_Pragma("unroll") for (int i_ = 0; i_ < PROBE_SLOTS; i_++)                                             \
		{                                                                                                      \
			struct probe_slot *s_ = &(t)->slots[i_];                                                       \
			__u64 off_ = s_->sp - (from);                                                                  \
                                                                                                                       \
			if (s_->used && tramp_ && off_ <= (max)-8 && off_ + 8 <= (len) &&                              \
			    *(__u64 *)((copy) + off_) == tramp_)                                                       \
				*(__u64 *)((copy) + off_) = s_->site;                                                  \
		}                                                                                                      \
	} while (0)

/*
 * For another program set: the threads map of the offload probes, put here by user space when they
 * are on. Define RETURNS_READER before including.
 */
#ifdef RETURNS_READER
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct threads_map);
} returns SEC(".maps");

static __always_inline void true_returns(__u8 *copy, __u64 max, __u64 len, __u64 sp_at, __u32 tid)
{
	struct probe_thread *t;
	__u32 zero = 0;
	void *threads = bpf_map_lookup_elem(&returns, &zero);

	if (!threads)
		return;
	t = bpf_map_lookup_elem(threads, &tid);
	if (t)
		fix_returns(t, copy, max, len, sp_at);
}
#endif

#endif
