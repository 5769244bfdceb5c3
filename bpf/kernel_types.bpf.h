/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel types our programs touch, matched to the running kernel by CO-RE. Included by
 * bpf/ only. No vmlinux.h: building needs no BTF of the build host, and one sees here all of the
 * kernel we depend on. To use another field: add it, under its name in the kernel.
 */
#ifndef ACCPERF_KERNEL_TYPES_BPF_H
#define ACCPERF_KERNEL_TYPES_BPF_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define USER_CS_32 0x23 /* arch/x86: code segment of 32-bit programs */

#define CORE __attribute__((preserve_access_index))

struct mm_struct {
	unsigned long start_stack;
} CORE;

struct thread_struct {
	unsigned long fsbase; /* x86 */
} CORE;

struct hrtimer {
	void *function;
} CORE;

struct sched_entity {
	unsigned long long exec_start, sum_exec_runtime;
} CORE;

/* What the kernel counts of each thread anyway, where CONFIG_TASK_XACCT is set: every Linux distribution. */
struct task_io_accounting {
	__u64 rchar, wchar;
} CORE;

struct kernfs_node {
	__u64 id;
} CORE;

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
} CORE;

struct cgroup {
	struct cgroup_subsys_state self; /* stands first */
	struct kernfs_node *kn;
} CORE;

struct css_set {
	struct cgroup *dfl_cgrp;
} CORE;

struct task_struct {
	unsigned int flags;
	int on_cpu;
	struct sched_entity se;
	struct mm_struct *mm;
	struct thread_struct thread;
	int pid, tgid;
	struct task_struct *real_parent;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	__u64 start_time;
	unsigned int ptrace;
	char comm[16];
	struct task_io_accounting ioac;
	struct css_set *cgroups;
} CORE;

struct bpf_iter_meta {
	__u64 seq_num; /* of what is iterated over, from 0 */
} CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

struct linux_binprm {
	unsigned int secureexec:1;
	unsigned int interp_flags;
} CORE;

#define BINPRM_FLAGS_ENFORCE_NONDUMP 1 /* include/linux/binfmts.h: the file may not be read */

struct kernel_siginfo {
	int si_signo, si_errno, si_code;
} CORE;

#define PF_EXITING 0x00000004 /* include/linux/sched.h, as below */
#define PF_KTHREAD 0x00200000 /* likewise: a thread of the kernel */

#endif
