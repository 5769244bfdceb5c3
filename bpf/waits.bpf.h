/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits: of the times that a target's thread leaves the CPU some are drawn, each by chance and before anybody knows how
 * long it will be. The thread as it leaves goes into the ring as a tick's would, and a second record when it runs
 * again. Part of bpf/sampler.bpf.c, whose stack copy, ring and set of targets it uses: the scheduler calls with
 * interrupts off, so no tick of this CPU comes in between. Included by this room alone.
 *
 * Most switches are of no interest: what those cost decides. So the draw comes first, and the lookup of who comes back
 * only where a thread of that number's row is away.
 */
#ifndef ACCPERF_WAITS_BPF_H
#define ACCPERF_WAITS_BPF_H

#define AWAY_ROWS 1024 /* a power of two */
/* Many may leave at once, before the ring is read: their stacks must have room in it. */
#define AWAY_STACK 16384

/* Told by user space: one of so many is drawn; 0: none, but those that are away are still told of. */
__u32 off_one_in;

/* When each thread that was drawn left. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} away SEC(".maps");

/* How many of them have numbers of this row. */
__u32 away_rows[AWAY_ROWS];

static __always_inline void came_back(struct task_struct *next)
{
	__u32 tid = BPF_CORE_READ(next, pid);
	struct wire_back r = { 0 };
	__u64 *left;

	if (!away_rows[tid & (AWAY_ROWS - 1)])
		return;
	left = bpf_map_lookup_elem(&away, &tid);
	if (!left)
		return;
	r.left = *left;
	bpf_map_delete_elem(&away, &tid);
	ADD(away_rows[tid & (AWAY_ROWS - 1)], -1);
	r.h.kind = WIRE_BACK;
	r.h.size = sizeof(r);
	r.h.time = bpf_ktime_get_ns();
	r.h.pid = BPF_CORE_READ(next, tgid);
	r.h.tid = tid;
	r.h.cpu = bpf_get_smp_processor_id();
	if (bpf_ringbuf_output(&ring, &r, sizeof(r), BPF_RB_NO_WAKEUP))
		count(CTR_OFF_BACK_LOST);
	count_n(CTR_OFF_NS, bpf_ktime_get_ns() - r.h.time);
}

static __always_inline void tell_leaving(struct sampler_scratch *x, struct task_struct *task, __u64 id, bool ready,
					 __u32 one_in)
{
	struct pt_regs user, *r = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 tid = (__u32)id;
	bool known;

	if (!r || bpf_probe_read_kernel(&user, sizeof(user), r)) {
		count(CTR_NO_REGS);
		return;
	}
	if (user.cs == USER_CS_32)
		return;
	x->s.h.kind = WIRE_SAMPLE;
	x->s.h.flags = WIRE_F_OFF | (ready ? WIRE_F_READY : 0);
	x->s.h.time = bpf_ktime_get_ns();
	x->s.h.pid = id >> 32;
	x->s.h.tid = tid;
	x->s.h.cpu = bpf_get_smp_processor_id();
	x->s.period = one_in;
	x->s.kernel_ip = 0;
	x->s.syscall = (__s64)user.orig_rax;
	/* an interrupt may have taken the CPU from the program's own code */
	if (x->s.syscall >= 0 || !ready)
		x->s.h.flags |= WIRE_F_KERNEL;
	x->s.switches = task->nvcsw + task->nivcsw;
	x->s.ran = 0;
	take_registers(x, task, &user);
	x->s.pages = x->s.pages_ns = 0;
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= HALF_RING) {
		count(CTR_OFF_LOST);
		return;
	}
	known = bpf_map_lookup_elem(&away, &tid) != NULL; /* its coming back went unseen */
	if (bpf_map_update_elem(&away, &tid, &x->s.h.time, BPF_ANY)) {
		count(CTR_OFF_TABLE);
		return;
	}
	if (!known)
		ADD(away_rows[tid & (AWAY_ROWS - 1)], 1);
	if (send_sample(x, task, tid, AWAY_STACK, BPF_RB_NO_WAKEUP))
		count(CTR_OFF_LOST); /* its coming back finds no beginning */
	else
		count(CTR_OFF_TOLD);
	count_n(CTR_OFF_NS, bpf_ktime_get_ns() - x->s.h.time);
}

/* The scheduler's arguments: preempted, who leaves, who comes, the state of who leaves. */
static __always_inline int take_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 one_in = off_one_in, cpu;
	struct sampler_scratch *x;
	__u64 id;

	came_back((void *)ctx->args[2]);
	if (!one_in || not_yet || bpf_get_prandom_u32() % one_in)
		return 0;
	id = bpf_get_current_pid_tgid();
	if (!id || task->flags & (PF_KTHREAD | PF_EXITING) || !followed(id))
		return 0;
	cpu = bpf_get_smp_processor_id();
	x = bpf_map_lookup_elem(&scratch, &cpu);
	if (x)
		tell_leaving(x, task, id, ctx->args[0] || !(__u32)ctx->args[3], one_in);
	return 0;
}

SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(take_switch(ctx));
}

#endif
