// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hits of hardware breakpoints. A slot is one watched address, armed on every thread of a process, or on every CPU;
 * the hits of all its events are counted here, so that the limit holds for their sum. Returning 1 at
 * the limit makes the event, which was enabled for one overflow, stop itself: a hot address would
 * otherwise go on trapping until user space wakes.
 */
#include "kernel_types.bpf.h"
#include "count.bpf.h"
#include "control.h"
#include "entitled.bpf.h"
#include "regs.bpf.h"
#include "whoami.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SLOTS 8       /* twice the four debug registers: an old window's hits may come late */
#define MOST_EARLY 64 /* hits that are let go before the window is known here; by hand */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct watch_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} ring SEC(".maps");

/* Bit per slot: other processes use that address, or this one while it is being armed, so often that it is given up. */
__u32 crowded;
/* Set by user space, which wants to know what it costs. */
__u32 wake_each;

/* A changed value is proof of a write; an unchanged one is settled by user space, which decodes. */
static __always_inline void note_value(struct watch_slot *s, __u64 addr, __u64 n)
{
	__u64 v = 0;

	if (bpf_probe_read_user(&v, sizeof(v), (void *)(addr & ~7ull)))
		return;
	if (n > 1 && v != s->value)
		s->changed = 1;
	s->value = v;
}

SEC("perf_event")
int on_hit(struct bpf_perf_event_data *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), id = current_id(), n, limit;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 key = cookie & (SLOTS - 1);
	bool in_kernel = (__s64)ctx->regs.rip < 0;
	struct wire_watch *w;
	struct pt_regs user;
	struct watch_slot *s;
	void *r;

	s = bpf_map_lookup_elem(&slots, &key);
	if (!s || s->generation != cookie >> 8) {
		count(WC_LATE);
		return 1;
	}
	if (s->process && s->process != id >> 32) {
		if (__sync_fetch_and_add(&s->others, 1) < WATCH_OTHERS)
			return 0;
		__sync_fetch_and_or(&crowded, 1u << key);
		return 1;
	}
	if (!entitled())
		return 1;
	if (s->arming) {
		if (__sync_fetch_and_add(&s->early, 1) < MOST_EARLY)
			return 0;
		__sync_fetch_and_or(&crowded, 1u << key);
		return 1;
	}
	n = __sync_fetch_and_add(&s->hits, 1) + 1;
	if (n == s->soft_limit && !s->changed)
		s->limit = n;
	limit = s->limit;
	if (n <= s->soft_limit)
		note_value(s, ctx->addr, n);
	if (n > limit) {
		count(WC_LATE);
		return 1;
	}
	r = (void *)bpf_task_pt_regs(task);
	if (!r || bpf_probe_read_kernel(&user, sizeof(user), r)) {
		count(WC_LOST);
		return n >= limit;
	}
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (!w) {
		count(WC_LOST);
		return n >= limit;
	}
	w->h.kind = WIRE_WATCH;
	w->h.size = sizeof(*w);
	w->h.time = bpf_ktime_get_ns();
	w->h.pid = id >> 32;
	w->h.tid = (__u32)id;
	w->h.cpu = bpf_get_smp_processor_id();
	w->h.flags = in_kernel ? WIRE_F_KERNEL : 0;
	w->cookie = cookie;
	w->addr = ctx->addr;
	w->kernel_ip = in_kernel ? ctx->regs.rip : 0;
	w->syscall = in_kernel ? (__s64)user.orig_rax : -1;
	TAKE_REGS(w->regs, &user);
	/* Reading it would need the kernel's type information, which takes user space 40 ms to parse. */
	w->regs[WREG_FSBASE] = 0;
	w->on_stack = 0;
	bpf_probe_read_user(&w->on_stack, sizeof(w->on_stack), (void *)user.rsp);
	/* Dear (watch_costs.wake_ns), but until user space looks nobody sees who writes. */
	bpf_ringbuf_submit(w, n >= limit || wake_each ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return n >= limit;
}
