/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The copy of a stack that a probed call sends with its registers. Included by the programs in bpf/ whose places are
 * probes, after kernel types; the sampler, which sends as much of a stack as is used, goes by pages (pages.bpf.h).
 */
#ifndef ACCPERF_STACK_BPF_H
#define ACCPERF_STACK_BPF_H

#define SNAPSHOT 8192      /* bytes of stack; by hand */
#define SNAPSHOT_LEAST 256 /* bytes: what a thread that has just begun has; by hand */

/* How many bytes from sp upwards were copied: the stack's base may be nearer than a snapshot is long. */
static __always_inline __u32 take_stack(__u8 to[SNAPSHOT], const void *sp)
{
	if (!bpf_probe_read_user(to, SNAPSHOT, sp))
		return SNAPSHOT;
	if (!bpf_probe_read_user(to, SNAPSHOT / 2, sp))
		return SNAPSHOT / 2;
	if (!bpf_probe_read_user(to, SNAPSHOT / 4, sp))
		return SNAPSHOT / 4;
	if (!bpf_probe_read_user(to, SNAPSHOT / 8, sp))
		return SNAPSHOT / 8;
	return bpf_probe_read_user(to, SNAPSHOT_LEAST, sp) ? 0 : SNAPSHOT_LEAST;
}

#endif
