/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU time of the running thread, comparable wherever the thread runs. Included by programs that stamp
 * events of one thread on several CPUs.
 *
 * The scheduler stamps the start of a thread's turn with the task clock of its CPU. That clock leaves out what
 * a hypervisor and interrupts took from the CPU, so the task clocks of two CPUs drift apart by seconds. What a
 * CPU's clock has left out is the difference of the two clocks of its run queue; with it the stamp is a plain time.
 */
#ifndef ACCPERF_THREAD_CLOCK_BPF_H
#define ACCPERF_THREAD_CLOCK_BPF_H

#include <bpf/bpf_core_read.h>

#define CLOCK_TRIES 3 /* reads until the kernel's writer was not met; the verifier wants a bound */

struct rq___clock {
	__u64 clock, clock_task;
} __attribute__((preserve_access_index));

struct cfs_rq___clock {
	struct rq___clock *rq;
} __attribute__((preserve_access_index));

struct sched_entity___clock {
	__u64 exec_start, sum_exec_runtime;
	struct cfs_rq___clock *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct___clock {
	struct sched_entity___clock se;
} __attribute__((preserve_access_index));

/* What the task clock of the thread's CPU has left out since boot; 0 on kernels without group scheduling. */
static __always_inline __u64 clock_left_out(struct task_struct___clock *t)
{
	struct rq___clock *rq;

	if (!bpf_core_field_exists(t->se.cfs_rq) || !bpf_core_field_exists(((struct cfs_rq___clock *)0)->rq))
		return 0;
	rq = BPF_CORE_READ(t, se.cfs_rq, rq);
	return BPF_CORE_READ(rq, clock) - BPF_CORE_READ(rq, clock_task);
}

/* By how much the scheduler's clock is ahead of bpf_ktime_get_ns(), or behind. It is as of when the CPU's run queue
 * looked at it last, so user space reads the clock of its own thread before. 0: not to be had. */
static __always_inline __s64 clock_ahead(void)
{
	struct task_struct___clock *t = (struct task_struct___clock *)bpf_get_current_task();

	if (!bpf_core_field_exists(t->se.cfs_rq) || !bpf_core_field_exists(((struct cfs_rq___clock *)0)->rq))
		return 0;
	return (__s64)(BPF_CORE_READ(t, se.cfs_rq, rq, clock) - bpf_ktime_get_ns());
}

/* CPU time of any thread until now, the turn under way with it if `ahead` is known. */
static __always_inline __u64 thread_ran_ns(struct task_struct *task, __s64 ahead)
{
	struct task_struct___clock *t = (struct task_struct___clock *)task;
	__u64 sum = BPF_CORE_READ(t, se.sum_exec_runtime);
	__s64 turn;

	if (!ahead || !bpf_core_field_exists(task->on_cpu) || !BPF_CORE_READ(task, on_cpu))
		return sum;
	turn = (__s64)(bpf_ktime_get_ns() + ahead - (BPF_CORE_READ(t, se.exec_start) + clock_left_out(t)));
	return turn > 0 ? sum + turn : sum;
}

/* CPU time of the running thread at `now` (bpf_ktime_get_ns), from a beginning of its own: a difference of two
 * counts. */
static __always_inline __u64 thread_clock_ns(__u64 now)
{
	struct task_struct___clock *t = (struct task_struct___clock *)bpf_get_current_task();
	__u64 sum = 0, start = 0;

	/* an interrupt in between moves a turn's time from one to the other */
	for (int i = 0; i < CLOCK_TRIES; i++) {
		start = BPF_CORE_READ(t, se.exec_start);
		sum = BPF_CORE_READ(t, se.sum_exec_runtime);
		if (start == BPF_CORE_READ(t, se.exec_start))
			break;
	}
	return sum + now - (start + clock_left_out(t));
}

#endif
