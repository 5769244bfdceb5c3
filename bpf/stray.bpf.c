// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts the SIGTRAPs that the kernel sends for a debug exception without a reason: what a hit of a hardware
 * breakpoint becomes where a hypervisor loses that (kmod-free/stray_trap.h). Only counts; what debuggers step through
 * has the same code and is left out.
 */
#include "kernel_types.bpf.h"
#include "preempt.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SIGTRAP 5    /* signal(7) */
#define TRAP_BRKPT 1 /* sigaction(2): a breakpoint's */
#define SPECIAL 2    /* pointers below stand for a signal without information */

/* Read by user space; `ours` is written by it. */
__u64 signals;
__u32 last_pid, ours;
char last_comm[16];

static __always_inline int take_signal(struct bpf_raw_tracepoint_args *ctx)
{
	struct kernel_siginfo *info = (void *)ctx->args[1];
	struct task_struct *task = (void *)ctx->args[2];

	if (ctx->args[0] != SIGTRAP || (__u64)info < SPECIAL || BPF_CORE_READ(info, si_code) != TRAP_BRKPT)
		return 0;
	if (BPF_CORE_READ(task, ptrace) || BPF_CORE_READ(task, tgid) == (int)ours)
		return 0;
	last_pid = (__u32)BPF_CORE_READ(task, tgid);
	bpf_probe_read_kernel_str(last_comm, sizeof(last_comm), &task->comm);
	__sync_fetch_and_add(&signals, 1);
	return 0;
}

SEC("raw_tp/signal_generate")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(take_signal(ctx));
}
