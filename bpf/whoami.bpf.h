/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that a program has interrupted, by its number in our pid namespace: a container's are not the kernel's.
 * Included by this room alone. */
#ifndef ACCPERF_WHOAMI_BPF_H
#define ACCPERF_WHOAMI_BPF_H

const volatile __u64 pidns_dev, pidns_ino; /* 0: processes are named as the initial namespace does */

/* As bpf_get_current_pid_tgid(): the process above, the thread below. */
static __always_inline __u64 current_id(void)
{
	struct bpf_pidns_info ns = {};

	if (pidns_ino && !bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &ns, sizeof(ns)))
		return (__u64)ns.tgid << 32 | ns.pid;
	return bpf_get_current_pid_tgid();
}

#endif
