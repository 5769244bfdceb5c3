// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timer sampler: on each cpu-clock tick of the target, send its user registers and the used part
 * of its stack. The bare interrupt costs some ten times what this program does, so it takes the
 * whole state and leaves unwinding to user space. For the same reason the kernel's own ticks are taken
 * along: these interrupt whether anybody looks or not.
 */
#include "kernel_types.bpf.h"
#include "count.bpf.h"
#include "regs.bpf.h"
#define RETURNS_READER
#include "returns.bpf.h"
#include "whoami.bpf.h"
#include "follow.bpf.h"
#include "thread_clock.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* The largest snapshot; what is taken is bounded by stack_limit and by what the stack holds. */
#define STACK_MAX (64 * 1024)
#define PAGE 4096
/* The kernel's tick and a timer's that are due together are one look at the same instruction. Longer than an interrupt
 * with pages lasts, shorter than between ticks; by hand. */
#define ONE_INTERRUPT_NS 50000
/* Bytes of a stack where half of the ring waits for its reader: a sample with a part of its stack is more than none.
 * Until a thread's stack was unwound once each sample of it has all that is allowed: 4 MiB hold 64 such. By hand. */
#define CROWDED_STACK 8192

const volatile __u32 stack_limit = STACK_MAX;
/* What a sample stands for once the kernel's own ticks come, too, in ns: told by user space. */
__u64 both_period;
bool kernel_ticks_come;
const volatile __u32 wake_bytes = 256 * 1024; /* wake the reader when this much waits */
/* Told by user space: nobody reads the ring yet, so nothing is sent and nothing counted as lost. */
bool not_yet;

static __always_inline __u64 wake_flag(__u64 waiting)
{
	return waiting > wake_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20); /* resized before load */
} ring SEC(".maps");

/* Where each thread's stack ended when it was last unwound completely, told by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} stack_end SEC(".maps");

struct sampler_scratch {
	struct wire_sample s;
	__u8 stack[STACK_MAX + PAGE];
	__u64 last; /* tick */
};

/* One per CPU, but not a per-CPU map: those refuse values above 32 KiB. Ticks of one CPU do not nest. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* number of CPUs, set before load */
	__type(key, __u32);
	__type(value, struct sampler_scratch);
} scratch SEC(".maps");

/* samples come first: half of the ring is theirs */
#define HALF_RING (2 * (__u64)wake_bytes)
#define PAGES_ROOM HALF_RING
#include "pages.bpf.h"

/* How much of the stack is worth copying: up to where it ended last time, or to where the process's
 * first frame began, or the limit. */
static __always_inline __u32 wanted_bytes(struct task_struct *task, __u32 tid, __u64 sp, __u32 *flags)
{
	__u64 *known = bpf_map_lookup_elem(&stack_end, &tid);
	__u64 limit = stack_limit, end = 0, start;

	if (known && *known > sp) {
		end = *known;
	} else {
		/* A plain access has the verifier search all of the kernel's types for mm's, on each path. */
		start = BPF_CORE_READ(task, mm, start_stack);
		if (start > sp && start - sp < (8u << 20))
			end = start + 64;
	}
	if (limit > STACK_MAX)
		limit = STACK_MAX;
	if (end && end - sp <= limit)
		return end - sp;
	*flags |= WIRE_F_STACK_CUT;
	return limit;
}

struct stack_taking {
	struct sampler_scratch *x;
	__u64 sp;
	__u32 want, present;
};

static long take_stack_page(__u32 i, void *ctx)
{
	struct stack_taking *t = ctx;
	__u32 at = t->x->s.stack_bytes, n = PAGE - ((t->sp + at) & (PAGE - 1));

	if (at >= t->want || at > STACK_MAX)
		return 1;
	if (n > t->want - at)
		n = t->want - at;
	/* True already, but Linux 6.1 wants to see it, and the compiler would leave it out. */
	barrier_var(n);
	if (n > PAGE)
		return 1;
	if (bpf_probe_read_user(t->x->stack + at, n, (void *)(t->sp + at))) {
		count(CTR_STACK_ABSENT);
		t->x->s.absent |= 1u << (i & 31);
	} else {
		t->present = at + n;
	}
	t->x->s.stack_bytes = at + n;
	return 0;
}

/* Page by page, so that a page that is not present (a large array of which little was used) neither empties the
 * snapshot nor ends it: a failed read leaves zeros. The verifier follows one turn, not all: this is most of what a
 * start costs. */
static __always_inline __u32 sampler_take_stack(struct sampler_scratch *x, __u64 sp, __u32 want)
{
	struct stack_taking t = { .x = x, .sp = sp, .want = want };

	x->s.stack_bytes = x->s.absent = 0;
	bpf_loop(STACK_MAX / PAGE + 1, take_stack_page, &t, 0);
	if (t.present < want)
		x->s.h.flags |= WIRE_F_STACK_FAULT;
	return t.present;
}

/* What the thread had in the processor's registers when it entered the kernel. */
static __always_inline void take_registers(struct sampler_scratch *x, struct task_struct *task, struct pt_regs *user)
{
	__u64 code[WIRE_CODE_WORDS];

	TAKE_REGS(x->s.regs, user);
	x->s.code_hash = bpf_probe_read_user(code, sizeof(code), (void *)user->rip) ? 0 : wire_code_hash(code);
	x->s.regs[WREG_FSBASE] = task->thread.fsbase;
}

/* With the used part of the stack, into the ring. */
static __always_inline long send_sample(struct sampler_scratch *x, struct task_struct *task, __u32 tid, __u32 most,
					__u64 flag)
{
	__u32 len, want = wanted_bytes(task, tid, x->s.regs[WREG_SP], &x->s.h.flags);

	if (want > most) {
		x->s.h.flags |= WIRE_F_STACK_CUT;
		want = most;
	}
	len = sampler_take_stack(x, x->s.regs[WREG_SP], want);
	if (len > STACK_MAX)
		len = STACK_MAX;
	true_returns(x->stack, STACK_MAX, len, x->s.regs[WREG_SP], tid);
	x->s.stack_bytes = len;
	x->s.pad = 0;
	len += sizeof(x->s);
	x->s.h.size = len;
	return bpf_ringbuf_output(&ring, x, len, flag);
}

/* Of a timer, or of the kernel: the thread that runs, with what a sample stands for. */
static __always_inline void sampler_take_tick(__u64 id, __u64 kernel_ip, __u64 period, __u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs user, *r;
	struct sampler_scratch *x;
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 waiting;

	if (task->flags & PF_KTHREAD) {
		count(CTR_KTHREAD);
		return;
	}
	x = bpf_map_lookup_elem(&scratch, &cpu);
	if (!x)
		return;
	x->s.h.time = bpf_ktime_get_ns();
	if (x->s.h.time - x->last < ONE_INTERRUPT_NS) {
		count(CTR_TOGETHER);
		return;
	}
	x->last = x->s.h.time;
	x->s.h.kind = WIRE_SAMPLE;
	x->s.h.flags = flags;
	x->s.h.pid = id >> 32;
	x->s.h.tid = (__u32)id;
	x->s.h.cpu = cpu;
	x->s.period = kernel_ticks_come ? both_period : period;
	x->s.kernel_ip = kernel_ip;
	x->s.syscall = -1;
	x->s.switches = task->nvcsw + task->nivcsw;
	x->s.ran = thread_clock_ns(x->s.h.time);
	/* An interrupt from user mode leaves the user's registers in the same place as a system call
	 * does, so one path serves both; reading them through ctx would trip the verifier. */
	r = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!r || bpf_probe_read_kernel(&user, sizeof(user), r)) {
		count(CTR_NO_REGS);
		return;
	}
	if (user.cs == USER_CS_32) {
		count(CTR_COMPAT);
		return;
	}
	if (flags & WIRE_F_KERNEL)
		x->s.syscall = (__s64)user.orig_rax;
	take_registers(x, task, &user);
	x->s.pages = x->s.pages_ns = 0;
	if (!(flags & WIRE_F_KERNEL) && wanted.pid && wanted.pid == id >> 32)
		take_pages(&x->s);
	waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	if (send_sample(x, task, (__u32)id, waiting >= HALF_RING ? CROWDED_STACK : STACK_MAX, wake_flag(waiting)))
		count(CTR_RING_FULL);
	else
		count(CTR_SENT);
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	__u64 id = current_id(), ip = ctx->regs.rip;
	bool in_kernel = (__s64)ip < 0;

	if (not_yet)
		return 0;
	if (!followed(id)) {
		count(CTR_OTHERS);
		return 0;
	}
	count(CTR_TICKS);
	sampler_take_tick(id, in_kernel ? ip : 0, ctx->sample_period, in_kernel ? WIRE_F_KERNEL : 0);
	return 0;
}

#include "kernel_tick.bpf.h"
#include "waits.bpf.h"
