// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments: what a thread does from the return of a system call to its next entry. Returns are drawn by count, each
 * with the same chance whatever it cost. Of some, registers and pages are taken, so that the recorder can carry the
 * code on; of others the time alone, which the taking would disturb. The entry is told with its registers. Every
 * system call of the machine passes here while this is attached: those of others leave first, and a return that is not
 * drawn is counted and nothing else.
 */
#include "kernel_types.bpf.h"
#include "count.bpf.h"
#include "regs.bpf.h"
#include "follow.bpf.h"
#include "thread_clock.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RING_BYTES (2 << 20) /* bytes; by hand */
#define OPEN_MOST 4096       /* threads inside a segment that is drawn; by hand */
#define STACK_PAGES_TAKEN 3  /* from that of the stack pointer on */
/* Results that only the kernel sees: it goes back and enters again, or a handler runs. */
#define RESTART_FIRST -516
#define RESTART_LAST -512

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

#define PAGES_ROOM (RING_BYTES / 4 * 3) /* those of one segment fit */
#include "pages.bpf.h"

/* Segments under way, by thread; user space takes out what is left when no more of them are waited for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OPEN_MOST);
	__type(key, __u32);
	__type(value, struct wire_segment);
} under_way SEC(".maps");

struct passed {
	__u64 stretch, n;
};

/* Returns of the targets in this stretch, by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct passed);
} passed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wire_sample);
} scratch SEC(".maps");

/* Set by user space while running. */
__u64 from = ~0ull, until; /* when returns are drawn (ns, monotonic clock) */
__u64 stretch;
__u64 most;                       /* returns on one CPU, after which none is drawn any more; 0: no limit */
__u32 timed_below, carried_below; /* of 2^32: the chances */
__u32 kept_below[WIRE_CALLS];     /* of those to be carried on, by the call that returns; 0: all */
/* Read by user space, which zeroes it for each stretch: when the limit was reached. */
__u64 over_at;

static __always_inline __u64 segment_faults_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/* At the limit all CPUs fall silent, and user space is woken to detach. */
static __always_inline bool too_many(void)
{
	struct wire_head wake = { 0 };
	__u32 zero = 0;
	struct passed *here = bpf_map_lookup_elem(&passed, &zero);

	if (!here)
		return true;
	if (here->stretch != stretch) {
		here->stretch = stretch;
		here->n = 0;
	}
	ADD(here->n, 1);
	if (!most || here->n < most)
		return false;
	if (!over_at) {
		over_at = bpf_ktime_get_ns();
		bpf_ringbuf_output(&ring, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
	}
	return true;
}

/* Its end, as far as it is known. */
static __always_inline void segment_tell_end(struct wire_segment *s, const struct pt_regs *regs, __s64 nr, __u64 id,
					     __u64 now)
{
	struct wire_entry *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);

	count(GC_ENDED);
	if (!w) {
		count(GC_LOST);
		return;
	}
	w->h.kind = WIRE_ENTRY;
	w->h.size = sizeof(*w);
	w->h.time = now;
	w->h.pid = id >> 32;
	w->h.tid = (__u32)id;
	w->h.cpu = bpf_get_smp_processor_id();
	w->h.flags = s->flags;
	w->s = *s;
	/* nothing is surer than the clock while the thread keeps its CPU */
	w->s.switches = switches_of(bpf_get_current_task_btf()) - s->switches;
	w->s.ran = w->s.switches ? thread_clock_ns(now) - s->ran : now - s->from;
	w->s.faults = segment_faults_of(bpf_get_current_task_btf()) - s->faults;
	w->nr = nr;
	TAKE_REGS(w->regs, regs);
	w->regs[WREG_AX] = nr;
	w->regs[WREG_FSBASE] = 0;
	bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
}

/* From here on it is the thread's time. */
static __always_inline void segment_let_go(struct wire_segment *s, __u32 tid)
{
	s->faults = segment_faults_of(bpf_get_current_task_btf());
	s->switches = switches_of(bpf_get_current_task_btf());
	s->from = bpf_ktime_get_ns();
	s->ran = thread_clock_ns(s->from);
	if (bpf_map_update_elem(&under_way, &tid, s, BPF_ANY))
		count(GC_FULL);
}

static __always_inline void take_stack_pages(struct wire_sample *x)
{
	__u64 page = x->regs[WREG_SP] & ~(__u64)(WIRE_PAGE_BYTES - 1);

	for (int i = 0; i < STACK_PAGES_TAKEN; i++)
		if (!taken(page + i * WIRE_PAGE_BYTES))
			take_page(x, page + i * WIRE_PAGE_BYTES);
}

/* One at a time: the recorder has asked for this process's pages, and does so again when it has seen to it. */
static __always_inline bool begin_carried(struct wire_segment *s, const struct pt_regs *regs, __u64 id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0, pid = id >> 32;
	struct wire_sample *x = bpf_map_lookup_elem(&scratch, &zero);

	if (!x || !pid || wanted.pid != pid || __sync_val_compare_and_swap(&wanted.pid, pid, 0) != pid) {
		count(GC_NOT_READY);
		return false;
	}
	__builtin_memset(x, 0, sizeof(*x));
	x->h.kind = WIRE_SAMPLE;
	x->h.size = sizeof(*x);
	x->h.time = s->begun;
	x->h.pid = pid;
	x->h.tid = (__u32)id;
	x->h.cpu = bpf_get_smp_processor_id();
	x->h.flags = WIRE_F_CARRIED;
	x->syscall = s->nr;
	TAKE_REGS(x->regs, regs);
	x->regs[WREG_FSBASE] = task->thread.fsbase;
	take_stack_pages(x);
	take_pages(x);
	x->pages_ns = (__u32)(bpf_ktime_get_ns() - s->begun);
	if (bpf_ringbuf_output(&ring, x, sizeof(*x), BPF_RB_NO_WAKEUP)) {
		count(GC_LOST);
		return false;
	}
	count(GC_CARRIED);
	return true;
}

static __always_inline void segment_draw(struct wire_segment *s, const struct pt_regs *regs, __u64 id)
{
	__u32 chance = bpf_get_prandom_u32(), kept = kept_below[s->nr & (WIRE_CALLS - 1)];

	count(GC_RETURNS);
	if (chance < carried_below) {
		if (kept && bpf_get_prandom_u32() >= kept)
			return;
		s->flags = WIRE_F_CARRIED;
		if (begin_carried(s, regs, id))
			segment_let_go(s, (__u32)id);
	} else if (chance - carried_below < timed_below) {
		count(GC_TIMED);
		segment_let_go(s, (__u32)id);
	}
}

static __always_inline int comes_back(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	__s64 result = (__s64)ctx->args[1];
	struct wire_segment s = { 0 }, *open;
	__u32 tid = (__u32)id;
	struct pt_regs regs;

	if (!followed(id)) {
		count(GC_OTHERS);
		return 0;
	}
	count(GC_PASSED);
	open = bpf_map_lookup_elem(&under_way, &tid);
	now = bpf_ktime_get_ns();
	if (!open && (now < from || now >= until || over_at))
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]))
		return 0;
	if (open) {
		segment_tell_end(open, &regs, -1, id, now);
		bpf_map_delete_elem(&under_way, &tid);
	}
	if (now < from || now >= until || over_at || too_many())
		return 0;
	if (regs.cs == USER_CS_32) {
		count(GC_COMPAT);
		return 0;
	}
	if (result >= RESTART_FIRST && result <= RESTART_LAST) {
		count(GC_RESTARTED);
		return 0;
	}
	s.begun = now;
	s.nr = (__s32)regs.orig_rax;
	segment_draw(&s, &regs, id);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(comes_back(ctx));
}

static __always_inline int segment_enters(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 now = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;
	struct wire_segment *open = bpf_map_lookup_elem(&under_way, &tid);
	struct pt_regs regs;

	if (!open)
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]))
		return 0;
	segment_tell_end(open, &regs, (__s64)ctx->args[1], id, now);
	bpf_map_delete_elem(&under_way, &tid);
	return 0;
}

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(segment_enters(ctx));
}
