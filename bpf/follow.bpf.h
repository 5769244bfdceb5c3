/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is observed, where everybody passes by (timers of CPUs, system calls): a set of processes or threads, told by
 * user space, to which processes forked by a member are added before they run their first instruction, and from which
 * ends take away; or a control group with those below it. Included by bpf/sampler.bpf.c and bpf/sysio.bpf.c (after
 * common.bpf.h). To follow by another property: append to FOLLOW_* in include/control.h, and decide in
 * followed().
 */
#ifndef ACCPERF_FOLLOW_BPF_H
#define ACCPERF_FOLLOW_BPF_H

#include "kernel_types.bpf.h"
#include "count.bpf.h"
#include "entitled.bpf.h"
#include "control.h"

#ifndef ENOENT
#define ENOENT 2
#endif

/* Set by user space before anything is attached. */
__u32 follow = FOLLOW_ALL;
__u32 follow_children = 0;
__u32 self = 0; /* the recorder, which is not what anybody asked for; 0: other numbers are in force (a container) */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} cgroup SEC(".maps");

/* The recorder, and what it starts: that is named, parsed and tried out for it. */
static __always_inline bool is_ours(struct task_struct *task)
{
	return self && (BPF_CORE_READ(task, tgid) == (int)self || BPF_CORE_READ(task, real_parent, tgid) == (int)self);
}

/* Since Linux 6.15 a table's lock that is not to be had in time is a failure, as where a virtual CPU is put aside. */
static __always_inline void forget(__u32 key, __u64 *state)
{
	long err = bpf_map_delete_elem(&targets, &key);

	if (err && err != -ENOENT) {
		*state = FOLLOW_GONE;
		count(CTR_NOT_FORGOTTEN);
	}
}

static __always_inline bool observed(const __u64 *state)
{
	return state && *state != FOLLOW_NOT_YET && *state != FOLLOW_GONE;
}

static __always_inline bool followed(__u64 pid_tgid)
{
	__u32 key = follow == FOLLOW_THREADS ? (__u32)pid_tgid : pid_tgid >> 32;
	__u64 *state;

	if (follow == FOLLOW_ALL || follow == FOLLOW_CGROUP) {
		if (is_ours(bpf_get_current_task_btf()))
			return false;
		return follow == FOLLOW_ALL || bpf_current_task_under_cgroup(&cgroup, 0) == 1;
	}
	state = bpf_map_lookup_elem(&targets, &key);
	return observed(state) && entitled();
}

static __always_inline int take_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	__u64 *state, began = BPF_CORE_READ(child, start_time) | 2; /* neither of the two above */

	if (from == to || follow != FOLLOW_PROCESSES)
		return 0;
	state = bpf_map_lookup_elem(&targets, &from);
	if (!observed(state) || !follow_children) {
		/* the process that had this number is gone, and its end still on its way */
		state = bpf_map_lookup_elem(&targets, &to);
		if (state)
			forget(to, state);
	} else if (bpf_map_update_elem(&targets, &to, &began, BPF_ANY)) {
		count(CTR_NOT_FOLLOWED);
	}
	return 0;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(take_fork(ctx));
}

static __always_inline int take_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 key = BPF_CORE_READ((struct task_struct *)ctx->args[0], tgid);
	struct linux_binprm *program = (void *)ctx->args[2];
	__u64 *state = bpf_map_lookup_elem(&targets, &key);

	if (!state)
		return 0;
	if (lent.strict && (BPF_CORE_READ_BITFIELD_PROBED(program, secureexec) ||
			    BPF_CORE_READ(program, interp_flags) & BINPRM_FLAGS_ENFORCE_NONDUMP)) {
		count(CTR_GAINED);
		forget(key, state);
	} else if (follow == FOLLOW_PROCESSES && *state == FOLLOW_NOT_YET) {
		*state = FOLLOW_NOW;
	}
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(take_exec(ctx));
}

/* When nothing of it is left: tearing down its memory is still its own time. */
static __always_inline int take_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, pid);
	__u64 *state;

	if (follow != FOLLOW_THREADS && pid != (__u32)BPF_CORE_READ(task, tgid))
		return 0;
	state = bpf_map_lookup_elem(&targets, &pid);
	if (state && (*state <= FOLLOW_NOW || *state == FOLLOW_GONE || *state == (BPF_CORE_READ(task, start_time) | 2)))
		forget(pid, state);
	return 0;
}

SEC("raw_tp/sched_process_free")
int on_free(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(take_free(ctx));
}

#endif
