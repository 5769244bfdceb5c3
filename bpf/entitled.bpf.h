/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the user that rights are lent to may see this process (user/util/rights.h). User space looks once, before
 * a process is observed, and hears of what it runs next when that has long begun; who is in a set of processes was
 * there before an exec, too. So each program asks here at each hit, as the kernel decides on /proc/PID/mem without
 * capabilities: the same user and group by every id, and memory that may be dumped. Included by the programs in bpf/.
 */
#ifndef ACCPERF_ENTITLED_BPF_H
#define ACCPERF_ENTITLED_BPF_H

#include "control.h"

/* Names of the kernel's with a flavour of our own: see libbpf on ___. */
struct id___who {
	unsigned int val;
} __attribute__((preserve_access_index));
struct cred___who {
	struct id___who uid, gid, suid, sgid, euid, egid;
} __attribute__((preserve_access_index));
/* Since Linux 6.18 flags of memory are a bitmap. */
struct mm_struct___bitmap {
	struct {
		unsigned long __mm_flags[1];
	} flags;
} __attribute__((preserve_access_index));
struct mm_struct___who {
	unsigned long flags;
} __attribute__((preserve_access_index));
struct task_struct___who {
	const struct cred___who *cred;
	struct mm_struct___who *mm;
} __attribute__((preserve_access_index));

#define DUMPABLE 3     /* bits of a process' memory: who may look at it; include/linux/sched/coredump.h, as below */
#define DUMP_BY_USER 1 /* its user; what ran a program with rights of its own has others */

struct lent_rights lent; /* set by user space, before anything is attached */

/* Of a task that ends no memory is left to look at. */
static __always_inline bool may_be_read(struct mm_struct___who *mm)
{
	if (!mm)
		return true;
	if (bpf_core_field_exists(struct mm_struct___bitmap, flags.__mm_flags))
		return (BPF_CORE_READ((struct mm_struct___bitmap *)mm, flags.__mm_flags[0]) & DUMPABLE) == DUMP_BY_USER;
	if (bpf_core_field_exists(struct mm_struct___who, flags))
		return (BPF_CORE_READ(mm, flags) & DUMPABLE) == DUMP_BY_USER;
	return false; /* a kernel that keeps it elsewhere */
}

static __always_inline bool entitled(void)
{
	struct task_struct___who *task;
	const struct cred___who *c;

	if (!lent.strict || bpf_get_current_pid_tgid() >> 32 == lent.self)
		return true;
	task = (void *)bpf_get_current_task();
	c = BPF_CORE_READ(task, cred);
	return BPF_CORE_READ(c, uid.val) == lent.uid && BPF_CORE_READ(c, euid.val) == lent.uid &&
	       BPF_CORE_READ(c, suid.val) == lent.uid && BPF_CORE_READ(c, gid.val) == lent.gid &&
	       BPF_CORE_READ(c, egid.val) == lent.gid && BPF_CORE_READ(c, sgid.val) == lent.gid &&
	       may_be_read(BPF_CORE_READ(task, mm));
}

#endif
