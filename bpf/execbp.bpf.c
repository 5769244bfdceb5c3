// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hits of execute breakpoints that were armed together on one thread, or on all CPUs for one thread or process. The
 * window ends here, in the thread that hits: returning 1 makes an event that was enabled for one overflow stop
 * itself, so that no window outruns its limit however late user space wakes. When one of several stops, the others
 * trap once more each, find the window closed, and stop as well.
 */
#include "kernel_types.bpf.h"
#include "entitled.bpf.h"
#include "execwin.h"
#include "regs.bpf.h"
#include "thread_clock.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct execwin win;

/* All of them first: the verifier lets nobody choose an offset into the context. */
static __always_inline __u64 reg_of(struct bpf_perf_event_data *ctx, __u32 reg)
{
	__u64 all[16];

	if (reg >= 16)
		return 0;
	TAKE_GENERAL(all, &ctx->regs);
	return all[reg];
}

/* Waking user space from here would cost the target as much as three hits: it looks every few ms. */
static __always_inline int shut(__u32 why)
{
	win.closed_at = bpf_ktime_get_ns();
	win.closed = why;
	return 1;
}

static __always_inline int hit(struct bpf_perf_event_data *ctx, __u32 slot, __u64 generation)
{
	__u64 now = bpf_ktime_get_ns();
	bool others = false, foreign = false;
	__u32 n, at;
	struct bpf_perf_event_value clock;
	struct execwin_hit *h;

	/* armed on CPUs */
	if (win.process) {
		__u64 id = bpf_get_current_pid_tgid();

		foreign = win.process != id >> 32;
		others = win.thread && win.thread != (__u32)id;
	}
	if (win.generation != generation || win.closed || !(foreign || entitled())) {
		__sync_fetch_and_add(&win.surplus, 1);
		return 1;
	}
	if (foreign)
		return __sync_fetch_and_add(&win.foreign, 1) + 1 >= EXECWIN_FOREIGN ? shut(EXECWIN_CROWDED) : 0;
	if (!others && !win.logged && win.within_ns && win.armed_at && now > win.armed_at + win.within_ns) {
		__sync_fetch_and_add(&win.surplus, 1);
		return shut(EXECWIN_TOO_LATE);
	}
	if (others)
		return __sync_fetch_and_add(&win.surplus, 1) + 1 >= win.total_limit ? shut(EXECWIN_CROWDED) : 0;
	n = __sync_fetch_and_add(&win.hits[slot], 1) + 1;
	at = __sync_fetch_and_add(&win.logged, 1);
	h = &win.log[at & (EXECWIN_LOG - 1)];
	h->time = now;
	h->slot = slot;
	h->value = reg_of(ctx, win.reg[slot]);
	h->sp = ctx->regs.rsp;
	/* the event's own time runs only while its thread does, or its CPU */
	h->cpu_ns = win.process                                            ? thread_clock_ns(now)
		    : bpf_perf_prog_read_value(ctx, &clock, sizeof(clock)) ? 0
									   : clock.running;
	h->on_stack = 0;
	bpf_probe_read_user(&h->on_stack, sizeof(h->on_stack), (void *)ctx->regs.rsp);
	if (at + 1 >= win.total_limit || (n >= win.limit[slot] && win.ends[slot]))
		return shut(EXECWIN_FULL);
	return n >= win.limit[slot];
}

SEC("perf_event")
int on_exec(struct bpf_perf_event_data *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	__u32 slot = cookie & (EXECWIN_SLOTS - 1);
	int stop = hit(ctx, slot, cookie >> 8);

	if (stop && win.generation == cookie >> 8)
		__sync_fetch_and_or(&win.stopped, 1u << slot);
	return stop;
}
