// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls that move user memory: which range, which way, how much. Every system call of the
 * machine passes here while this is attached, so the first thing is to leave for those of others,
 * and there is one program only: at the exit the caller's registers still hold the arguments.
 */
#include "kernel_types.bpf.h"
#include "count.bpf.h"
#include "abi.h"
#include "control.h"
#include "follow.bpf.h"
#include "thread_clock.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_NR 512           /* numbers of system calls: those of x86-64 end below it */
#define MAX_RANGES 16        /* of one readv or writev: the verifier wants a bound; by hand */
#define RING_BYTES (1 << 20) /* bytes; by hand */
#define MOST_TAKES 8         /* prices of a reported call; if it took longer, something else came in between */
#define MOST_GROUPS 32       /* control groups within each other that are looked through */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_NR);
	__type(key, __u32);
	__type(value, struct sysio_call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

struct sysio_record {
	struct wire_sysio s;
	struct wire_range range[MAX_RANGES];
	__u32 busy; /* a task that was preempted while it fills this has not come back */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sysio_record);
} scratch SEC(".maps");

struct msghdr { /* user space's */
	__u64 name;
	__u32 name_len, pad;
	__u64 iov, iov_len;
};

struct stretch_share {
	__u64 stretch, ns;
};

/* What the stretch under way has cost on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stretch_share);
} shares SEC(".maps");

/* Set by user space while running. */
__u32 every = 1; /* one call in so many is reported, drawn at random */
/* What this costs a target, ns, as measured: a call that goes by, and one that is reported. */
__u32 pass_ns = 200, take_ns = 450;
__u64 limit_ns; /* what a stretch may cost on each CPU before it falls silent; 0: no limit */
__u64 stretch;  /* number of the stretch */
__u64 from;     /* when it begins: attaching takes its time; ~0: never, or it is over */
__u64 group_id; /* of the control group, where one is followed */
/* Read by user space, which zeroes it for each stretch. */
__u64 over_at; /* when the limit was reached */
/* enum sysio_sum, of those followed: of threads that have ended, and by the last sum_up() of those that live. */
__u64 ended[SYSIO_SUMS], living[SYSIO_SUMS];
__s64 ahead;     /* clock_ahead() at the last sum_up() */
__u32 uncounted; /* this kernel does not count bytes */

/* When user space is behind: fewer, each standing for more, rather than a full ring. */
static __always_inline __u32 one_in(void)
{
	__u64 waits = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u32 n = every ? every : 1;

	return waits > RING_BYTES / 4 * 3 ? n * 256 : waits > RING_BYTES / 2 ? n * 16 : n;
}

static __always_inline __u64 arg(const struct pt_regs *r, __u32 i)
{
	switch (i) {
	case 0: return r->rdi;
	case 1: return r->rsi;
	case 2: return r->rdx;
	case 3: return r->r10;
	case 4: return r->r8;
	case 5: return r->r9;
	}
	return 0;
}

/* An iovec array has the layout of our ranges. The last ones are cut to what was moved. */
static __always_inline __u32 take_iov(struct sysio_record *x, __u64 iov, __u64 cnt, __u64 left)
{
	if (cnt > MAX_RANGES) {
		count(SC_CUT);
		cnt = MAX_RANGES;
	}
	if (!cnt || bpf_probe_read_user(x->range, (cnt & 31) * sizeof(x->range[0]), (void *)iov))
		return 0;
	for (__u32 i = 0; i < MAX_RANGES; i++) {
		__u64 len = x->range[i].len;

		if (len > left)
			len = left;
		x->range[i].len = len;
		left -= len;
	}
	return cnt;
}

static __always_inline __u32 take_ranges(struct sysio_record *x, const struct sysio_call *c, const struct pt_regs *r,
					 __s64 ret)
{
	__u64 addr = arg(r, c->addr), cnt;
	struct msghdr m;

	switch (c->shape) {
	case SYSDIR_BUFFER:
		x->range[0].addr = addr;
		x->range[0].len = ret;
		return 1;
	case SYSDIR_FIXED:
		x->range[0].addr = addr;
		x->range[0].len = c->fixed;
		return 1;
	case SYSDIR_COUNTED:
		x->range[0].addr = addr;
		x->range[0].len = ret * c->fixed;
		return 1;
	case SYSDIR_MAP:
		if ((__s32)r->r8 < 0) /* anonymous: holds nothing yet */
			return 0;
		x->range[0].addr = ret;
		x->range[0].len = r->rsi;
		return 1;
	case SYSDIR_VECTOR: cnt = arg(r, c->len); break;
	case SYSDIR_MESSAGE:
		if (bpf_probe_read_user(&m, sizeof(m), (void *)addr))
			return 0;
		addr = m.iov;
		cnt = m.iov_len;
		break;
	default: return 0;
	}
	return take_iov(x, addr, cnt, ret);
}

/* Fills x and sends it; true if the call was reported.
 * shape: inlined; pointers to parts would cost the verifier what it knows of them. */
static __always_inline bool send(struct sysio_record *x, const struct sysio_call *c, const struct pt_regs *regs,
				 __s64 ret, __u64 id, __u64 now, __u32 step)
{
	__u32 n = take_ranges(x, c, regs, ret);

	if (!n || n > MAX_RANGES)
		return false;
	x->s.h.kind = WIRE_SYSIO;
	x->s.h.size = sizeof(x->s) + n * sizeof(struct wire_range);
	x->s.h.time = now;
	x->s.h.pid = id >> 32;
	x->s.h.tid = (__u32)id;
	x->s.h.cpu = bpf_get_smp_processor_id();
	x->s.h.flags = WIRE_F_KERNEL;
	x->s.nr = (__u32)regs->orig_rax;
	x->s.result = ret;
	x->s.ip = regs->rip;
	x->s.iov_cnt = n;
	x->s.every = step;
	if (bpf_ringbuf_output(&ring, x, sizeof(x->s) + n * sizeof(struct wire_range), BPF_RB_NO_WAKEUP))
		count(SC_LOST);
	count(SC_TAKEN);
	return true;
}

/* True if the call was reported. */
static __always_inline bool sysio_observe(struct bpf_raw_tracepoint_args *ctx, __u64 id, __u64 now)
{
	__s64 ret = (__s64)ctx->args[1];
	__u32 zero = 0, nr, step;
	struct pt_regs regs;
	struct sysio_record *x;
	struct sysio_call *c;
	bool sent;

	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]) || regs.cs == USER_CS_32)
		return false;
	nr = (__u32)regs.orig_rax;
	if (nr == 426 /* io_uring_enter */)
		count(SC_URING);
	c = bpf_map_lookup_elem(&calls, &nr);
	if (!c)
		return false;
	if (ret > 0 && c->counts & SYSDIR_READ)
		count_n(SC_READ, ret);
	if (ret > 0 && c->counts & SYSDIR_WRITTEN)
		count_n(SC_WRITTEN, ret);
	if (!c->shape)
		return false;
	count(SC_SEEN);
	step = one_in();
	if (step > 1 && bpf_get_prandom_u32() % step)
		return false;
	/* an error, or nothing moved; fixed-size answers come with 0 */
	if (ret < 0 ? c->shape != SYSDIR_MAP || ret > -4096 : !ret && c->shape != SYSDIR_FIXED)
		return false;
	x = bpf_map_lookup_elem(&scratch, &zero);
	if (!x)
		return false;
	if (__sync_lock_test_and_set(&x->busy, 1)) {
		count(SC_LOST);
		return false;
	}
	sent = send(x, c, &regs, ret, id, now, step);
	x->busy = 0;
	return sent;
}

/* Accounts for this call; at the limit all CPUs fall silent, and user space is woken to detach. */
static __always_inline void charge(__u64 ns)
{
	struct wire_head wake = { 0 };
	__u32 zero = 0;
	struct stretch_share *here = bpf_map_lookup_elem(&shares, &zero);

	if (!here)
		return;
	if (here->stretch != stretch) {
		here->stretch = stretch;
		here->ns = 0;
	}
	count_n(SC_SPENT, ns);
	ADD(here->ns, ns);
	if (!limit_ns || here->ns < limit_ns || over_at)
		return;
	over_at = bpf_ktime_get_ns();
	bpf_ringbuf_output(&ring, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
}

static __always_inline int sysio_left(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), now, took;

	if (!followed(id)) {
		count(SC_OTHERS);
		return 0;
	}
	count(SC_PASSED);
	now = bpf_ktime_get_ns();
	if (now < from || over_at || !sysio_observe(ctx, id, now)) {
		charge(pass_ns);
		return 0;
	}
	/* between calls that do work of their own, caches are not as warm as when the price was measured */
	took = bpf_ktime_get_ns() - now;
	charge(pass_ns + (took < MOST_TAKES * take_ns ? took : take_ns));
	return 0;
}

SEC("raw_tp/sys_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(sysio_left(ctx));
}

/* What followed() says, of another than the current thread. */
static __always_inline bool follows(struct task_struct *task)
{
	__u32 key = follow == FOLLOW_THREADS ? BPF_CORE_READ(task, pid) : BPF_CORE_READ(task, tgid);
	struct cgroup *group;
	__u64 *state;

	if (follow != FOLLOW_ALL && follow != FOLLOW_CGROUP) {
		state = bpf_map_lookup_elem(&targets, &key);
		return observed(state);
	}
	if (is_ours(task))
		return false;
	if (follow == FOLLOW_ALL)
		return true;
	group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	for (int depth = 0; depth < MOST_GROUPS && group; depth++) {
		if (BPF_CORE_READ(group, kn, id) == group_id)
			return true;
		group = (struct cgroup *)BPF_CORE_READ(group, self.parent);
	}
	return false;
}

static __always_inline void add_thread(__u64 sums[SYSIO_SUMS], struct task_struct *task)
{
	ADD(sums[SUM_READ], BPF_CORE_READ(task, ioac.rchar));
	ADD(sums[SUM_WRITTEN], BPF_CORE_READ(task, ioac.wchar));
	ADD(sums[SUM_RAN], thread_ran_ns(task, ahead));
}

/* Run by user space, over all threads of the machine. */
SEC(SEC_ITERATES_TASKS)
int sum_up(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!bpf_core_field_exists(((struct task_struct *)0)->ioac)) {
		uncounted = 1;
		return 0;
	}
	if (!BPF_CORE_READ(ctx, meta, seq_num))
		ahead = clock_ahead();
	/* one that ends is added to those that have ended */
	if (!task || BPF_CORE_READ(task, flags) & PF_EXITING || !follows(task))
		return 0;
	add_thread(living, task);
	return 0;
}

static __always_inline int ends(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];

	if (!bpf_core_field_exists(((struct task_struct *)0)->ioac) || !followed(bpf_get_current_pid_tgid()))
		return 0;
	add_thread(ended, task);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_end(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(ends(ctx));
}
