/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that keep something over their run where the kernel may preempt them. Uprobe programs can be preempted
 * since Linux 6.0, those of tracepoints under the lazy model that 6.13 made the default. Then another task of the CPU
 * runs the same program: what lies in per-CPU memory is overwritten, and so is, from 6.13 on, a stack frame of 64
 * bytes and more, which is the CPU's and not the task's. Included by the programs in bpf/; events of the processor's
 * (perf_event) need none of it, they interrupt.
 *
 * To add a program of a uprobe or a tracepoint: HELD() around all that it does; tests/cli/t-preempt.sh wants it.
 */
#ifndef ACCPERF_PREEMPT_BPF_H
#define ACCPERF_PREEMPT_BPF_H

#include "control.h"

/* Kernels before 6.10 have no such functions: the loader leaves the calls out. */
static void (*const cpu_hold)(void) = (void *)KERNEL_FUNCTION(KERNEL_PREEMPT_DISABLE);
static void (*const cpu_release)(void) = (void *)KERNEL_FUNCTION(KERNEL_PREEMPT_ENABLE);

/* The value of an expression that nothing else of this CPU runs meanwhile. */
#define HELD(expr)                                                                                                     \
	({                                                                                                             \
		int held_;                                                                                             \
		cpu_hold();                                                                                            \
		held_ = (expr);                                                                                        \
		cpu_release();                                                                                         \
		held_;                                                                                                 \
	})

/* Plain increments would lose some where kernels have no way to hold the CPU. */
#define ADD(what, n) __sync_fetch_and_add(&(what), (n))

#endif
