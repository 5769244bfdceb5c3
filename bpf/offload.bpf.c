// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Offload calls: entry and return of probed functions become one call of the outermost function of
 * a family, counted exactly in maps and sent one by one as far as the rate limit allows. The same
 * code runs behind three ways of attaching (uprobe_session, uprobe_multi pairs, perf uprobes),
 * which is why state is found again by stack pointer and not by the session's cookie.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "count.bpf.h"
#include "entitled.bpf.h"
#include "regs.bpf.h"
#include "returns.bpf.h"
#include "stack.bpf.h"
#include "whoami.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Kernel types under flavoured names: only the fields used, matched by CO-RE. */
struct sched_entity___off {
	__u64 exec_start, sum_exec_runtime;
} __attribute__((preserve_access_index));
struct task_struct___off {
	struct sched_entity___off se;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
} __attribute__((preserve_access_index));

#if defined(__TARGET_ARCH_x86)
typedef struct pt_regs regs_t;
#define REG_SP(r) ((r)->rsp)
#define REG_IP(r) ((r)->rip)
#define REG_RET(r) ((r)->rax)
#define REG_ARGS 6     /* arguments in registers, by the ABI */
#define RET_SP_SHIFT 8 /* `ret` popped the return address */
#elif defined(__TARGET_ARCH_arm64)
typedef struct user_pt_regs regs_t;
#define REG_SP(r) ((r)->sp)
#define REG_IP(r) ((r)->pc)
#define REG_RET(r) ((r)->regs[0])
#define REG_ARGS 8     /* likewise */
#define RET_SP_SHIFT 0 /* bytes: `ret` pops nothing */
#else
#error "offload probes: add the registers of this architecture"
#endif

static bool (*const session_is_return)(void) = (void *)KERNEL_FUNCTION(KERNEL_SESSION_IS_RETURN);

const volatile __u64 stack_gap_ns = 200000000; /* between two stacks of one call site */
__u32 filter_pids;                             /* only those in `targets` */
__u32 skip_pid;                                /* the profiler, when it probes everybody */
__u32 limit_per_window = 100;                  /* records per process and 100 ms; 0 = no limit */
__u32 epochs[PROBE_LIBS];                      /* of each library: bumped whenever it is armed */
__u32 enabled[PROBE_LIBS];                     /* calls entered meanwhile count; others only cost */
__u32 entry_ns[PROBE_MAX], exit_ns;            /* what a hit costs: on a probe's entry, on any exit */

#define RATE_WINDOW_NS 100000000ull /* over which a probe's calls are counted before its weight changes; by hand */

struct rate {
	__u64 began;
	__u32 seen, sent, shift, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBE_MAX);
	__type(key, __u32);
	__type(value, struct probe_spec);
} specs SEC(".maps");

struct threads_map threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct rate);
} rates SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct probe_total_key);
	__type(value, struct probe_total);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct probe_hist_key);
	__type(value, struct probe_hist);
} hists SEC(".maps");

/* Hits and calls per probe: what the budget goes by. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PROBE_MAX);
	__type(key, __u32);
	__type(value, struct probe_activity);
} activity SEC(".maps");

static const struct probe_thread no_thread;
static const struct probe_total no_total;
static const struct probe_hist no_hist;

static __always_inline __u32 whoami(__u32 *tid)
{
	__u64 id = current_id();

	*tid = (__u32)id;
	return id >> 32;
}

#include "call_sizes.bpf.h"
#include "levels.bpf.h"

/* CPU time of the current thread but for a constant: what was accounted, and the time since. The
 * scheduler's clock and ours differ by a constant that falls out of a difference. */
static __always_inline __u64 cpu_clock(struct task_struct___off *t, __u64 now)
{
	return BPF_CORE_READ(t, se.sum_exec_runtime) + now - BPF_CORE_READ(t, se.exec_start);
}

static __always_inline void take_regs(__u64 *to, regs_t *r)
{
#if defined(__TARGET_ARCH_x86)
	TAKE_REGS(to, r);
#else
	to[WREG_SP] = r->sp;
	to[WREG_IP] = r->pc;
#endif
}

struct snapshot {
	struct wire_sample s;
	__u8 stack[SNAPSHOT];
};

static __always_inline bool send_stack(regs_t *r, struct probe_thread *t, __u64 now, __u32 pid, __u32 tid)
{
	struct snapshot *s = bpf_ringbuf_reserve(&ring, sizeof(*s), 0);
	__u32 n;

	if (!s) {
		count(PC_RING_FULL);
		return false;
	}
	__builtin_memset(&s->s, 0, sizeof(s->s));
	s->s.h.kind = WIRE_SAMPLE;
	s->s.h.size = sizeof(*s);
	s->s.h.time = now;
	s->s.h.pid = pid;
	s->s.h.tid = tid;
	s->s.h.cpu = bpf_get_smp_processor_id();
	s->s.h.flags = WIRE_F_STACK_CUT;
	s->s.syscall = -1;
	take_regs(s->s.regs, r);
	n = take_stack(s->stack, (void *)REG_SP(r));
	s->s.stack_bytes = n;
	fix_returns(t, s->stack, SNAPSHOT, n, REG_SP(r));
	bpf_ringbuf_submit(s, 0);
	return true;
}

static __always_inline struct probe_total *offload_total_of(__u32 pid, __u32 probe, __u64 site, __u32 level)
{
	struct probe_total_key key = { .pid = pid, .probe = probe, .site = site, .level = level };
	struct probe_total *t = bpf_map_lookup_elem(&totals, &key);

	if (t)
		return t;
	bpf_map_update_elem(&totals, &key, &no_total, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&totals, &key);
	if (t)
		return t;
	key.site = 0;
	t = bpf_map_lookup_elem(&totals, &key);
	if (!t)
		count(PC_MAP_FULL);
	return t;
}

/* 0: no record of this call; else how many calls the record stands for. */
static __always_inline __u32 thinned(__u32 pid, __u64 now)
{
	struct rate *r, first = { .began = now };
	__u32 limit = limit_per_window, weight;

	if (!limit)
		return 1;
	r = bpf_map_lookup_elem(&rates, &pid);
	if (!r) {
		bpf_map_update_elem(&rates, &pid, &first, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&rates, &pid);
		if (!r)
			return 1;
	}
	if (now - r->began > RATE_WINDOW_NS) {
		/* Slowly back, one step a quiet window, so that the weights do not flap. */
		if (r->shift && (r->seen >> ((r->shift - 1) & 31)) < limit / 2)
			r->shift--;
		r->began = now;
		r->seen = r->sent = 0;
	}
	ADD(r->seen, 1);
	weight = 1u << (r->shift & 31);
	if (weight > 1 && (bpf_get_prandom_u32() & (weight - 1)))
		return 0;
	ADD(r->sent, 1);
	if (r->sent > limit && r->shift < 20) {
		r->shift++;
		r->sent = 0;
	}
	return weight;
}

static __always_inline void slot_dead(struct probe_slot *s, __u32 library_epoch)
{
	if (s->epoch != library_epoch)
		count(PC_CUT);
	else
		count(PC_ABANDONED);
	s->used = 0;
}

/* Its probes were away since, and with them, perhaps, its end: what ends now, on the same piece of the stack or of the
 * same family, is another call. */
static __always_inline bool slot_stale(struct probe_slot *s)
{
	__u32 epoch = epochs[s->library & (PROBE_LIBS - 1)];

	if (s->epoch == epoch)
		return false;
	slot_dead(s, epoch);
	return true;
}

static __always_inline struct probe_thread *thread_of(__u32 tid)
{
	struct probe_thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (t)
		return t;
	bpf_map_update_elem(&threads, &tid, &no_thread, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		count(PC_MAP_FULL);
	return t;
}

_Static_assert(__builtin_offsetof(struct probe_spec, level) == TOLD_LEVEL * sizeof(struct probe_expr) &&
		       WO_IN << 1 == WO_OUT && WO_IN << 2 == WO_ITEMS,
	       "one after the other, for tell_one()");

struct telling {
	struct probe_thread *t;
	const struct probe_spec *spec;
};

/* What goes in, what comes out, items, the level: one after the other in the specification and in what is told. */
static long tell_one(__u32 i, void *ctx)
{
	struct telling *t = ctx;

	if (i > TOLD_LEVEL)
		return 1;
	if (expr_entry(&t->t->args, &t->spec->in + i, &t->t->told[i]))
		t->t->told_bits |= 1u << i;
	return 0;
}

/* What the arguments tell at entry. */
static __always_inline void tell_arguments(struct probe_thread *t, const struct probe_spec *spec)
{
	struct telling all = { t, spec };

	t->told_bits = 0;
	bpf_loop(TOLD_LEVEL + 1, tell_one, &all, 0);
	if (spec->level.op == PX_OBJECT)
		level_of_object(t, spec);
}

/* Into the slot of the call that begins, after tell_arguments(). */
static __noinline int read_args(const struct probe_thread *t, struct probe_slot *s, const struct probe_spec *spec)
{
	const struct probe_args *r;
	__u64 at;
	__u32 n;

	if (!t || !s || !spec)
		return 0;
	r = &t->args;
	if (spec->block_arg && (__u32)arg_of(r, spec->block_arg - 1))
		s->kind = PK_CALL;
	if (spec->either)
		s->flags |= WO_EITHER;
	s->flags |= t->told_bits & (WO_IN | WO_OUT | WO_ITEMS);
	s->in = t->told[0].v;
	s->in_at = t->told[0].at;
	s->out = t->told[1].v;
	s->out_at = t->told[1].at;
	s->items = t->told[2].v;
	if (t->told_bits >> TOLD_LEVEL & 1) {
		s->flags |= WO_LEVEL;
		s->level = (__s32)t->told[TOLD_LEVEL].v;
	}
	s->queue = spec->queue_arg ? arg_of(r, spec->queue_arg - 1) : 0;
	if (spec->queue_off && !read_field(s->queue + spec->queue_off, 8, &s->queue))
		s->queue = 0;
	s->event_at = spec->event_out ? arg_of(r, spec->event_out - 1) : 0;
	s->events_cnt = 0;
	if (spec->job_event && spec->in.op == PX_JOB) {
		s->events[0] = job_of(arg_of(r, spec->in.a) + spec->in.off);
		s->events_cnt = 1;
	} else if (spec->event_arg) {
		s->events[0] = arg_of(r, spec->event_arg - 1);
		s->events_cnt = 1;
	} else if (spec->list_p) {
		n = (__u32)arg_of(r, spec->list_n - 1);
		at = arg_of(r, spec->list_p - 1);
		if (n > PROBE_EVENTS) { /* the last ones: those submitted latest */
			at += 8 * (__u64)(n - PROBE_EVENTS);
			n = PROBE_EVENTS;
			s->flags |= WO_MORE_EVENTS;
		}
		s->events_cnt = n;
		if (n && bpf_probe_read_user(s->events, n * 8, (void *)at))
			s->events_cnt = 0;
	}
	return 0;
}

/* What only the return would tell of a call of which the entry is all that is seen. */
static __always_inline bool told_at_entry(const struct probe_expr *x)
{
	return x->op != PX_FIELD_AFTER && x->op != PX_USED && x->op != PX_GREW && x->op != PX_RETURN;
}

static __noinline int account(struct probe_slot *s, __u64 now, __u32 completes);

static __always_inline int counted_alone(struct probe_slot *s, const struct probe_spec *spec)
{
	s->flags |= WO_UNTIMED;
	if (!told_at_entry(&spec->in))
		s->flags &= ~WO_IN;
	if (!told_at_entry(&spec->out))
		s->flags &= ~WO_OUT;
	s->cpu = s->voluntary = s->involuntary = 0;
	s->faults = 0;
	account(s, s->entry, spec->completes);
	s->used = 0;
	return 1;
}

/* Of a call that began at c and has not been seen to end: is an entry with the same stack pointer a jump on from it
 * (a tail call), and no new call that begins where an exception left that one? By exits both have the true return
 * address. */
static __always_inline bool jumped_on(const struct probe_slot *c, __u64 sp, __u64 ra, __u64 func)
{
	if (c->sp != sp)
		return false;
	if (c->flags & WO_BY_EXITS)
		return ra == c->site && func != c->func;
	return ra != c->site && ra == return_trampoline();
}

/* A hit within another call is none of its time: as if that had begun so much later. */
static __always_inline void put_off(struct probe_slot *s, __u32 ns)
{
	s->entry += ns;
	s->cpu += ns;
}

/* A number that the verifier knows nothing more of: it follows what comes then once, and not once for each. */
static __always_inline __u32 forget_value(struct probe_thread *t, __u32 value)
{
	*(volatile __u32 *)&t->chosen = value;
	return *(volatile __u32 *)&t->chosen;
}

static __always_inline __u64 offload_faults_of(struct task_struct___off *task)
{
	return BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
}

/* What begins, and what the thread's slots say of it. */
struct entering {
	struct probe_thread *t;
	const struct probe_spec *spec;
	__u64 sp, ra, func, now;
	__u32 hit_ns, at, flags;
	bool nested;
};

static long look_at_slot(__u32 i, void *ctx)
{
	struct entering *e = ctx;
	struct probe_slot *c;
	__u32 epoch;

	if (i >= PROBE_SLOTS)
		return 1;
	c = &e->t->slots[i];
	if (!c->used) {
		e->at = e->at < PROBE_SLOTS ? e->at : i;
		return 0;
	}
	epoch = epochs[c->library & (PROBE_LIBS - 1)];
	if (c->family == e->spec->family) {
		/* Still in there if its frame is above ours and its probes never went; a
		 * tail call shares the frame and would return to the trampoline. */
		if (c->epoch == epoch &&
		    (c->sp > e->sp || e->spec->kind == PK_BEGIN || jumped_on(c, e->sp, e->ra, e->func))) {
			count(PC_NESTED);
			put_off(c, e->hit_ns);
			e->nested = true;
			return 1;
		}
		slot_dead(c, epoch);
		e->at = i;
	} else if (c->epoch != epoch) {
		slot_dead(c, epoch);
		e->at = e->at < PROBE_SLOTS ? e->at : i;
	} else if (c->sp > e->sp) {
		e->flags |= WO_INSIDE;
		put_off(c, e->hit_ns);
	} else if (jumped_on(c, e->sp, e->ra, e->func)) {
		e->flags |= WO_INSIDE;
		e->ra = c->site;
		put_off(c, e->hit_ns);
	}
	return 0;
}

/* The thread, where a call begins that is none of another's; NULL: nothing does, or nobody wants to know. */
static __always_inline struct probe_thread *call_begins(regs_t *r, __u32 probe, struct entering *e)
{
	const struct probe_spec *spec = e->spec;
	struct probe_activity *act;
	__u32 tid, pid = whoami(&tid), key = probe;

	if (pid == skip_pid)
		return NULL;
	if (filter_pids && !bpf_map_lookup_elem(&targets, &pid))
		return NULL;
	act = bpf_map_lookup_elem(&activity, &key);
	if (!act || !spec->kind)
		return NULL;
	/* half a pair, as an exit that ends none */
	if (spec->kind != PK_LEVEL || (bpf_get_prandom_u32() & 1))
		ADD(act->hits, 1);
	if (!enabled[spec->library & (PROBE_LIBS - 1)])
		return NULL;
	e->t = thread_of(tid);
	if (!e->t)
		return NULL;
	e->ra = spec->kind == PK_BEGIN ? REG_IP(r) : caller_of(r);
	e->hit_ns = entry_ns[probe & (PROBE_MAX - 1)];
	bpf_loop(PROBE_SLOTS, look_at_slot, e, 0);
	return e->nested ? NULL : e->t;
}

/* 0: want its return; 1: do not. */
static __always_inline int call_began(regs_t *r, __u64 cookie, const struct entering *e, struct probe_slot *s)
{
	struct task_struct___off *task = (void *)bpf_get_current_task();
	const struct probe_spec *spec = e->spec;
	struct probe_total *total;
	__u32 tid, pid = whoami(&tid), probe = PROBE_INDEX(cookie);
	__u64 now;

	s->probe = probe;
	s->pid = pid;
	s->tid = tid;
	s->family = spec->family;
	s->library = spec->library;
	s->epoch = epochs[spec->library & (PROBE_LIBS - 1)];
	s->sp = e->sp;
	s->func = e->func;
	s->site = e->ra;
	s->kind = spec->kind;
	s->flags = e->flags | (cookie & PROBE_BY_EXITS ? WO_BY_EXITS : 0);
	read_args(e->t, s, spec);
	if (spec->kind != PK_WAIT && spec->kind != PK_EVENT) {
		now = bpf_ktime_get_ns();
		total = offload_total_of(pid, probe, s->site, probe_level(s->flags, s->level));
		if (total && (!total->stack_time || now - total->stack_time > stack_gap_ns) &&
		    send_stack(r, e->t, now, pid, tid)) {
			total->stack_time = now;
			s->flags |= WO_STACK;
		}
	}
	s->used = 1;
	s->voluntary = BPF_CORE_READ(task, nvcsw);
	s->involuntary = BPF_CORE_READ(task, nivcsw);
	s->sum_exec = BPF_CORE_READ(task, se.sum_exec_runtime);
	s->on_cpu = bpf_get_smp_processor_id();
	s->faults = offload_faults_of(task);
	/* Last, so that little of the entry's own work falls between the stamps. */
	now = bpf_ktime_get_ns();
	s->cpu = cpu_clock(task, now);
	s->entry = now;
	return cookie & PROBE_ALONE ? counted_alone(s, spec) : 0;
}

static __always_inline void emit(struct probe_slot *s, __u32 pid, __u32 tid, __u64 now, __u32 weight)
{
	struct wire_offload *w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	__u32 i;

	if (!w) {
		count(PC_RING_FULL);
		return;
	}
	w->h.kind = WIRE_OFFLOAD;
	w->h.size = sizeof(*w);
	w->h.time = now;
	w->h.pid = pid;
	w->h.tid = tid;
	w->h.cpu = bpf_get_smp_processor_id();
	w->h.flags = 0;
	w->entry = s->entry;
	w->ret = s->flags & WO_OPEN ? 0 : now;
	w->in = s->in;
	w->out = s->out;
	w->items = s->items;
	w->queue = s->queue;
	w->cpu = s->cpu;
	w->site = s->site;
	w->func = s->func;
	for (i = 0; i < PROBE_EVENTS; i++)
		w->events[i] = s->events[i];
	w->events_cnt = s->events_cnt;
	w->probe = s->probe;
	w->kind = s->kind;
	w->weight = weight;
	w->flags = s->flags;
	w->voluntary = s->voluntary;
	w->involuntary = s->involuntary;
	w->level = s->flags & WO_LEVEL ? s->level : 0;
	bpf_ringbuf_submit(w, 0);
}

static __always_inline void add_total(struct probe_total *t, const struct probe_slot *s, __u64 ns)
{
	ADD(t->calls, 1);
	ADD(t->ns, ns);
	ADD(t->cpu, s->cpu);
	ADD(t->faults, s->faults);
	if (s->voluntary | s->involuntary) {
		ADD(t->switched, 1);
		ADD(t->switched_ns, ns);
	}
	if (s->flags & WO_FAILED)
		ADD(t->failed, 1);
	if (s->flags & WO_IN)
		ADD(t->in, s->in);
	if (s->flags & WO_OUT)
		ADD(t->out, s->out);
	if (!(s->flags & (WO_IN | WO_OUT)))
		ADD(t->unknown, 1);
}

static __always_inline void add_hist(const struct probe_slot *s, __u32 pid, __u64 ns)
{
	struct probe_hist_key key = {};
	struct probe_hist *h;
	__u64 bytes = 0;

	/* The size of a call is what it was handed, or, for copies back, what it delivered. */
	if (s->flags & WO_IN)
		bytes = s->in;
	if (!bytes && (s->flags & WO_OUT))
		bytes = s->out;
	key.pid = pid;
	key.probe = s->probe;
	key.level = probe_level(s->flags, s->level);
	key.bytes_bin = s->flags & (WO_IN | WO_OUT) ? probe_bin_of(bytes) : PROBE_BIN_UNKNOWN;
	key.time_bin = s->flags & WO_UNTIMED           ? PROBE_BIN_UNKNOWN
		       : s->voluntary | s->involuntary ? PROBE_BIN_SWITCHED
						       : probe_bin_of(ns);
	h = bpf_map_lookup_elem(&hists, &key);
	if (!h) {
		bpf_map_update_elem(&hists, &key, &no_hist, BPF_NOEXIST);
		h = bpf_map_lookup_elem(&hists, &key);
		if (!h) {
			count(PC_MAP_FULL);
			return;
		}
	}
	ADD(h->count, 1);
	ADD(h->bytes, bytes);
	ADD(h->ns, ns);
}

/* Counts a completed call and sends it, if its turn has come. */
static __noinline int account(struct probe_slot *s, __u64 now, __u32 completes)
{
	struct probe_activity *act;
	struct probe_total *t;
	__u32 pid, tid, weight, key;
	__u64 ns;

	if (!s)
		return 0;
	pid = s->pid;
	tid = s->tid;
	key = s->probe;
	ns = now > s->entry ? now - s->entry : 0;
	act = bpf_map_lookup_elem(&activity, &key);
	if (act)
		ADD(act->calls, 1);
	t = offload_total_of(pid, s->probe, s->site, probe_level(s->flags, s->level));
	if (t)
		add_total(t, s, ns);
	if (s->kind != PK_WAIT && s->kind != PK_EVENT) {
		add_hist(s, pid, ns);
		/* One that completes others is needed for them. */
		weight = completes && (s->kind == PK_CALL || s->events_cnt > 1) ? 1 : thinned(pid, now);
		if (!weight)
			count(PC_THINNED);
	} else {
		/* Never thinned: each may complete a call that has a record. A query that says
		 * "not ready" completes none. */
		weight = !(s->flags & WO_FAILED);
	}
	if (weight) {
		if (t)
			ADD(t->records, 1);
		emit(s, pid, tid, now, weight);
	}
	return 0;
}

/* What a manager returns is a finished job: of a wait what it waited for, of a submission another one's or its own. */
static __always_inline void job_returned(struct probe_slot *s, __u64 job)
{
	if (s->events_cnt && s->events[0] == job) {
		s->kind = PK_CALL;
	} else if (s->events_cnt) {
		s->events[1] = job;
		s->events_cnt = 2;
	} else {
		s->events[0] = job;
		s->events_cnt = 1;
	}
}

/* Slot s is complete: count it and perhaps send it. */
static __noinline int offload_finish(regs_t *r, struct probe_slot *s, const struct probe_spec *spec, __u64 now)
{
	struct task_struct___off *task = (void *)bpf_get_current_task();
	__u64 ret, ns;

	if (!s || !spec)
		return 0;
	ret = REG_RET(r);
	ns = now > s->entry ? now - s->entry : 0;
	s->cpu = cpu_clock(task, now) - s->cpu;
	/* Each CPU's scheduler clock leaves out its own stolen time: after a migration the difference
	 * says nothing, what was accounted is right to a tick. */
	if (s->on_cpu != bpf_get_smp_processor_id())
		s->cpu = BPF_CORE_READ(task, se.sum_exec_runtime) - s->sum_exec;
	if (s->cpu > ns)
		s->cpu = (__s64)s->cpu < 0 ? 0 : ns;
	s->voluntary = (__u32)BPF_CORE_READ(task, nvcsw) - s->voluntary;
	s->involuntary = (__u32)BPF_CORE_READ(task, nivcsw) - s->involuntary;
	s->faults = offload_faults_of(task) - s->faults;
	if (!(s->flags & WO_MARKER)) {
		if ((s->flags & WO_IN) && !expr_return(&spec->in, ret, s->in_at, &s->in))
			s->flags &= ~WO_IN;
		if ((s->flags & WO_OUT) && !expr_return(&spec->out, ret, s->out_at, &s->out))
			s->flags &= ~WO_OUT;
		if (!succeeded(spec->ok, ret))
			s->flags |= WO_FAILED;
	}
	if (s->event_at && !bpf_probe_read_user(&s->events[0], 8, (void *)s->event_at))
		s->events_cnt = 1;
	if (spec->job_event && ret)
		job_returned(s, ret);
	account(s, now, spec->completes);
	s->used = 0;
	return 0;
}

static __always_inline int returned(regs_t *r, __u32 probe)
{
	__u64 now = bpf_ktime_get_ns(), sp = REG_SP(r) - RET_SP_SHIFT;
	struct probe_spec *spec;
	struct probe_thread *t;
	struct probe_slot *s;
	__u32 tid, i, key = probe, at = PROBE_SLOTS;

	whoami(&tid);
	t = bpf_map_lookup_elem(&threads, &tid);
	spec = bpf_map_lookup_elem(&specs, &key);
	if (!t || !spec || !entitled())
		return 0;
#pragma unroll
	for (i = 0; i < PROBE_SLOTS; i++) {
		s = &t->slots[i];
		if (at == PROBE_SLOTS && s->used && s->probe == probe && s->sp == sp)
			at = i;
	}
	at = forget_value(t, at);
	if (at < PROBE_SLOTS)
		offload_finish(r, &t->slots[at], spec, now);
	return 0;
}

struct leaving {
	regs_t *r;
	struct probe_thread *t;
	__u64 now, sp;
	bool ended;
};

static long leave_slot(__u32 i, void *ctx)
{
	struct leaving *l = ctx;
	struct probe_spec *spec;
	struct probe_slot *s;
	__u32 key;

	if (i >= PROBE_SLOTS)
		return 1;
	s = &l->t->slots[i];
	if (s->used && s->sp > l->sp)
		put_off(s, exit_ns);
	if (!s->used || s->sp != l->sp || !(s->flags & WO_BY_EXITS) || slot_stale(s))
		return 0;
	key = s->probe;
	spec = bpf_map_lookup_elem(&specs, &key);
	if (spec)
		offload_finish(l->r, s, spec, l->now);
	l->ended = true;
	return 0;
}

/*
 * An exit of a function, before its last instruction: where the return address lies as at entry, of whatever call it
 * ends, of several that were handed on (tail calls) all. An exit that ends none is of a nested call, or of a function
 * that is called by others, too: every second one is booked as a hit, as an entry's hit stands for a pair.
 */
static __always_inline int offload_left_one(regs_t *r, __u32 probe)
{
	struct leaving l = { .r = r, .now = bpf_ktime_get_ns(), .sp = REG_SP(r) };
	struct probe_activity *act;
	__u32 tid, key = probe;

	if (!entitled())
		return 0;
	whoami(&tid);
	l.t = bpf_map_lookup_elem(&threads, &tid);
	if (l.t)
		bpf_loop(PROBE_SLOTS, leave_slot, &l, 0);
	act = l.ended || (bpf_get_prandom_u32() & 1) ? NULL : bpf_map_lookup_elem(&activity, &key);
	if (act)
		ADD(act->hits, 1);
	return 0;
}

/* PK_END, the marker that closes the call its family's PK_BEGIN opened: the thread, where one is open. */
static __always_inline struct probe_thread *call_ends(struct entering *e)
{
	struct probe_slot *s;
	__u32 tid, i;

	e->now = bpf_ktime_get_ns();
	whoami(&tid);
	e->t = bpf_map_lookup_elem(&threads, &tid);
	if (!e->t)
		return NULL;
#pragma unroll
	for (i = 0; i < PROBE_SLOTS; i++) {
		s = &e->t->slots[i];
		if (e->at == PROBE_SLOTS && s->used && s->family == e->spec->family && !slot_stale(s))
			e->at = i;
	}
	return e->at < PROBE_SLOTS ? e->t : NULL;
}

static __always_inline int call_ended(regs_t *r, const struct entering *e, struct probe_slot *s)
{
	__u32 key = s->probe;
	struct probe_spec *spec = bpf_map_lookup_elem(&specs, &key);

	if (!spec)
		return 1;
	s->flags |= WO_MARKER;
	if (e->t->told_bits & WO_OUT) {
		s->flags |= WO_OUT;
		s->out = e->t->told[1].v;
	}
	offload_finish(r, s, spec, e->now);
	return 1;
}

/* Whatever begins or ends, what it is handed is told in one place: the verifier follows that once. */
static __always_inline int on_entry(regs_t *r, __u64 cookie)
{
	__u32 key = PROBE_INDEX(cookie), at;
	struct probe_spec *spec = bpf_map_lookup_elem(&specs, &key);
	struct entering e = { .spec = spec, .sp = REG_SP(r), .func = REG_IP(r), .at = PROBE_SLOTS };
	struct probe_thread *t;

	if (!spec || !entitled())
		return 1;
	t = spec->kind == PK_END ? call_ends(&e) : call_begins(r, key, &e);
	if (!t)
		return 1;
	take_args(&t->args, r);
	tell_arguments(t, spec);
	if (spec->kind == PK_LEVEL) {
		level_set(t, spec);
		return 1;
	}
	at = forget_value(t, e.at);
	if (at >= PROBE_SLOTS) {
		count(PC_SLOTS_FULL);
		return 1;
	}
	return spec->kind == PK_END ? call_ended(r, &e, &t->slots[at]) : call_began(r, cookie, &e, &t->slots[at]);
}

static __always_inline int on_session(regs_t *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (session_is_return())
		return returned(ctx, PROBE_INDEX(cookie));
	return on_entry(ctx, cookie); /* 1: spare us the return */
}

SEC("uprobe")
int offload_session(regs_t *ctx)
{
	return HELD(on_session(ctx));
}

static __always_inline int is_return(void)
{
	__u32 is = session_is_return();

	barrier_var(is); /* the kernel wants to see that it is 0 or 1 */
	return is & 1;
}

/* Kernels without sessions refuse this one, too, which is verified in no time. */
SEC("uprobe")
int session_known(regs_t *ctx)
{
	return HELD(is_return());
}

SEC("uprobe")
int offload_entry(regs_t *ctx)
{
	HELD(on_entry(ctx, bpf_get_attach_cookie(ctx)));
	return 0;
}

SEC("uprobe")
int offload_return(regs_t *ctx)
{
	HELD(returned(ctx, PROBE_INDEX(bpf_get_attach_cookie(ctx))));
	return 0;
}

SEC("uprobe")
int offload_left(regs_t *ctx)
{
	HELD(offload_left_one(ctx, PROBE_INDEX(bpf_get_attach_cookie(ctx))));
	return 0;
}

/* A thread that ends inside a call leaves it open: counted, sent, never timed. */
static __always_inline int thread_ended(void)
{
	struct probe_total *total;
	struct probe_thread *t;
	struct probe_slot *s;
	__u32 tid, pid = whoami(&tid), i;
	__u64 now;

	t = bpf_map_lookup_elem(&threads, &tid);
	if (!t)
		return 0;
	now = bpf_ktime_get_ns();
#pragma unroll
	for (i = 0; i < PROBE_SLOTS; i++) {
		s = &t->slots[i];
		if (!s->used)
			continue;
		if (s->epoch != epochs[s->library & (PROBE_LIBS - 1)]) {
			count(PC_CUT);
			continue;
		}
		total = offload_total_of(pid, s->probe, s->site, probe_level(s->flags, s->level));
		if (total)
			ADD(total->open, 1);
		s->flags |= WO_OPEN;
		s->cpu = s->voluntary = s->involuntary = 0;
		emit(s, pid, tid, now, 1);
	}
	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int offload_exit(void *ctx)
{
	return HELD(thread_ended());
}

#include "uring.bpf.h"
#include "alg.bpf.h"
