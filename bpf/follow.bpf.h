/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose ticks are wanted, where the timers belong to CPUs: a set of processes or threads, told by user
 * space, to which processes forked by a member are added before they run their first instruction, and
 * from which ends take away. Included by bpf/sampler.bpf.c only (after common.bpf.h). To follow by
 * another property: append to FOLLOW_*, here and in kmod-free/sampler.c, and decide in followed().
 */
#ifndef ACCPERF_FOLLOW_BPF_H
#define ACCPERF_FOLLOW_BPF_H

#include "common.bpf.h"

enum { FOLLOW_ALL = 0, FOLLOW_PROCESSES = 1, FOLLOW_THREADS = 2 };
/* Values of the set: a command is not followed before its exec, what it was before is ourselves. */
enum { NOT_YET = 0, NOW = 1 };

/* Set by user space before anything is attached. */
__u32 follow = FOLLOW_ALL;
__u32 follow_children = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

static __always_inline bool followed(__u64 pid_tgid)
{
	__u32 key = follow == FOLLOW_THREADS ? (__u32)pid_tgid : pid_tgid >> 32;
	__u8 *state;

	if (follow == FOLLOW_ALL)
		return true;
	state = bpf_map_lookup_elem(&targets, &key);
	return state && *state == NOW;
}

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	__u8 *state, now = NOW;

	if (from == to || !follow_children || follow != FOLLOW_PROCESSES)
		return 0;
	state = bpf_map_lookup_elem(&targets, &from);
	if (state && *state == NOW && bpf_map_update_elem(&targets, &to, &now, BPF_ANY))
		count(CTR_NOT_FOLLOWED);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 key = BPF_CORE_READ((struct task_struct *)ctx->args[0], tgid);
	__u8 *state = bpf_map_lookup_elem(&targets, &key);

	if (state && follow == FOLLOW_PROCESSES)
		*state = NOW;
	return 0;
}

/* When nothing of it is left: tearing down its memory is still its own time. */
SEC("raw_tp/sched_process_free")
int on_free(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, pid);

	if (follow == FOLLOW_THREADS || pid == (__u32)BPF_CORE_READ(task, tgid))
		bpf_map_delete_elem(&targets, &pid);
	return 0;
}

#endif
