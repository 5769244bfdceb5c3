/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own timer tick, taken along as a sample: it interrupts whether anybody looks or not, so that a sample
 * costs what this program takes and no interrupt. Part of bpf/sampler.bpf.c, whose samples it sends: timers expire one
 * after the other with interrupts off, so that no other tick of this CPU comes in between. Included by this room
 * alone.
 *
 * All timers of the machine pass here; the tick's is told by its function.
 */
#ifndef ACCPERF_KERNEL_TICK_BPF_H
#define ACCPERF_KERNEL_TICK_BPF_H

/* Told by user space before it is attached: kmod-free/kernel_tick.h. */
struct kernel_tick_code tick_code;

static __always_inline bool is_tick(struct hrtimer *timer)
{
	return tick_code.handler && BPF_CORE_READ(timer, function) == (void *)tick_code.handler;
}

/* The kernel's first call, below the registers that its entry stored: where user code was interrupted, that is the
 * timer interrupt's. In a system call or a fault it is another entry's. */
static __always_inline bool interrupted_user(struct task_struct *task)
{
	__u64 from, regs = (__u64)bpf_task_pt_regs(task);

	return !bpf_probe_read_kernel(&from, sizeof(from), (void *)(regs - sizeof(from))) && from > tick_code.entry &&
	       from <= tick_code.entry_end;
}

static __always_inline int take_timer(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id, began;
	bool user;

	count(CTR_TIMERS_PASSED);
	if (!is_tick((struct hrtimer *)ctx->args[0]))
		return 0;
	kernel_ticks_come = true;
	id = bpf_get_current_pid_tgid();
	if (not_yet || !followed(id))
		return 0;
	began = bpf_ktime_get_ns();
	count(CTR_KERNEL_TICKS);
	user = interrupted_user(bpf_get_current_task_btf());
	sampler_take_tick(id, 0, both_period, WIRE_F_KERNEL_TICK | (user ? 0 : WIRE_F_KERNEL));
	count_n(CTR_KERNEL_TICK_NS, bpf_ktime_get_ns() - began);
	return 0;
}

SEC("raw_tp/hrtimer_expire_entry")
int on_kernel_tick(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(take_timer(ctx));
}

#endif
