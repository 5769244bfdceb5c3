// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Allocations of one process, in turns: entries and exits of allocators, paired by the stack pointer, and entries of
 * what frees. All are counted; some are told with their stack, by chance, in proportion to their bytes. What was told
 * is remembered, so that its end is told, too, if it comes in a turn. A turn ends after so many hits, which cost the
 * target a microsecond or more each. No return address is touched: exits are places of code.
 */
#include "kernel_types.bpf.h"
#include <linux/ptrace.h>
#include "count.bpf.h"
#include "entitled.bpf.h"
#include "regs.bpf.h"
#include "stack.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RING_BYTES (2 << 20) /* bytes: 256 calls with their stack; by hand */
#define CALLS_MOST 8192      /* threads inside a probed call; by hand */
#define BLOCKS_MOST 65536    /* sampled blocks whose end is waited for; by hand */
#define FAILED_FROM -4095ull /* results of mmap() and the like that are errors */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

/* A thread's call of an allocator, the outermost. */
struct call {
	__u64 sp, bytes;
	__u64 block; /* what is resized; where the address of a new one is put */
	__u32 role, turn;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CALLS_MOST);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

struct heap_block_key {
	__u64 addr;
	__u32 pid, pad;
};

/* Blocks told, whose end was not seen: when they were allocated. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, BLOCKS_MOST);
	__type(key, struct heap_block_key);
	__type(value, __u64);
} blocks SEC(".maps");

struct distance {
	__u64 left; /* bytes until the next one is told */
	__u64 turn; /* in which it was drawn */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct distance);
} distance SEC(".maps");

/* Set by user space. */
__u32 turn;              /* 0: none */
__u64 most;              /* hits in this turn */
__u32 gaps[HEAP_GAPS];   /* between what is told: drawn from these */
struct heap_limit limit; /* read by user space, which zeroes it for each turn */

/* At the limit the turn is over, and user space is woken to take the probes away. */
static __always_inline bool on_turn(void)
{
	struct wire_head wake = { 0 };

	count(HC_HITS);
	if (!turn || limit.over_at)
		return false;
	ADD(limit.hits, 1);
	if (limit.hits < most)
		return true;
	limit.over_at = bpf_ktime_get_ns();
	bpf_ringbuf_output(&ring, &wake, sizeof(wake), BPF_RB_FORCE_WAKEUP);
	return false;
}

/* A block that was told of is no more. again: its address is given out anew, so it ended at some time before. */
static __always_inline void heap_forget_one(__u32 pid, __u64 addr, bool again)
{
	struct heap_block_key key = { .addr = addr, .pid = pid };
	__u64 *born = bpf_map_lookup_elem(&blocks, &key), id = bpf_get_current_pid_tgid();
	struct wire_freed *w;

	if (!born)
		return;
	w = bpf_ringbuf_reserve(&ring, sizeof(*w), 0);
	if (w) {
		w->h.kind = WIRE_FREED;
		w->h.size = sizeof(*w);
		w->h.time = bpf_ktime_get_ns();
		w->h.pid = pid;
		w->h.tid = (__u32)id;
		w->h.cpu = bpf_get_smp_processor_id();
		w->h.flags = 0;
		w->addr = addr;
		w->born = *born;
		w->again = again;
		w->pad = 0;
		bpf_ringbuf_submit(w, BPF_RB_NO_WAKEUP);
	} else {
		count(HC_FREED_LOST);
	}
	bpf_map_delete_elem(&blocks, &key);
}

struct arguments {
	__u64 of[8]; /* six, and a mask that the verifier believes */
};

/* Constants name a context's registers, so they are copied before one is chosen. */
static __always_inline __u64 heap_argument(const struct arguments *a, __u32 n)
{
	return a->of[n & 7];
}

static __always_inline int heap_enters(struct pt_regs *r, __u64 cookie)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id, role = HEAP_COOKIE_ROLE(cookie), arg = HEAP_COOKIE_ARG(cookie);
	struct call c = { .sp = r->rsp, .role = role, .turn = turn }, *open;
	struct arguments a = { { r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9 } };

	if (role == HEAP_FREE) {
		count(HC_FREES);
		heap_forget_one(id >> 32, heap_argument(&a, arg), false);
		return 0;
	}
	open = bpf_map_lookup_elem(&calls, &tid);
	/* within another, or jumped to from it */
	if (open && open->turn == turn && open->sp >= c.sp) {
		count(HC_NESTED);
		return 0;
	}
	if (open)
		count(HC_ABANDONED);
	c.bytes = heap_argument(&a, arg);
	if (role == HEAP_CALLOC)
		c.bytes *= heap_argument(&a, arg + 1);
	else if (role == HEAP_REALLOC)
		c.block = heap_argument(&a, arg - 1);
	else if (role == HEAP_POSIX)
		c.block = heap_argument(&a, 0);
	if (bpf_map_update_elem(&calls, &tid, &c, BPF_ANY))
		count(HC_CALLS_FULL);
	return 0;
}

/* Whether chance has it that one of so many bytes is told. Distances have no memory: each CPU may count by itself. */
static __always_inline bool heap_drawn(__u64 bytes)
{
	__u32 zero = 0;
	struct distance *d = bpf_map_lookup_elem(&distance, &zero);

	if (!d)
		return false;
	if (d->turn != turn) {
		d->turn = turn;
		d->left = gaps[bpf_get_prandom_u32() & (HEAP_GAPS - 1)];
	}
	if (d->left > bytes) {
		d->left -= bytes;
		return false;
	}
	d->left = gaps[bpf_get_prandom_u32() & (HEAP_GAPS - 1)];
	return true;
}

struct heap_told {
	struct wire_block b;
	__u8 stack[SNAPSHOT];
};

static __always_inline void heap_tell(struct pt_regs *r, const struct call *c, __u64 addr, __u64 id)
{
	struct heap_block_key key = { .addr = addr, .pid = id >> 32 };
	__u64 now = bpf_ktime_get_ns();
	struct heap_told *t;

	if (bpf_map_update_elem(&blocks, &key, &now, BPF_ANY)) {
		count(HC_BLOCKS_FULL);
		return;
	}
	t = bpf_ringbuf_reserve(&ring, sizeof(*t), 0);
	if (!t) {
		count(HC_RING_FULL);
		bpf_map_delete_elem(&blocks, &key);
		return;
	}
	__builtin_memset(&t->b, 0, sizeof(t->b));
	t->b.s.h.kind = WIRE_BLOCK;
	t->b.s.h.size = sizeof(*t);
	t->b.s.h.time = now;
	t->b.s.h.pid = id >> 32;
	t->b.s.h.tid = (__u32)id;
	t->b.s.h.cpu = bpf_get_smp_processor_id();
	t->b.s.h.flags = WIRE_F_STACK_CUT;
	t->b.s.syscall = -1;
	TAKE_REGS(t->b.s.regs, r);
	t->b.addr = addr;
	t->b.bytes = c->bytes;
	t->b.role = c->role;
	t->b.turn = c->turn;
	t->b.s.stack_bytes = take_stack(t->stack, (void *)r->rsp);
	count(HC_TOLD);
	bpf_ringbuf_submit(t, BPF_RB_NO_WAKEUP);
}

static __always_inline int heap_leaves(struct pt_regs *r, __u64 addr)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id;
	struct call *open, c;

	open = bpf_map_lookup_elem(&calls, &tid);
	/* of a call within it, or of one that began before the turn */
	if (!open || open->sp != r->rsp)
		return 0;
	c = *open;
	bpf_map_delete_elem(&calls, &tid);
	if (c.turn != turn)
		return 0;
	if (c.role == HEAP_POSIX && (addr || bpf_probe_read_user(&addr, sizeof(addr), (void *)c.block)))
		addr = 0;
	if (!addr || addr >= FAILED_FROM) {
		/* resized to nothing: freed */
		if (c.role == HEAP_REALLOC && !c.bytes)
			heap_forget_one(id >> 32, c.block, false);
		else
			count(HC_FAILED);
		return 0;
	}
	count(HC_ALLOCS);
	count_n(HC_BYTES, c.bytes);
	if (c.role == HEAP_REALLOC && c.block)
		heap_forget_one(id >> 32, c.block, false);
	heap_forget_one(id >> 32, addr, true);
	if (heap_drawn(c.bytes))
		heap_tell(r, &c, addr, id);
	return 0;
}

static __always_inline int heap_reached(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	if (!on_turn() || !entitled())
		return 0;
	if (!cookie)
		return heap_leaves(ctx, ctx->rax);
	return HEAP_COOKIE_ROLE(cookie) == HEAP_HANDED ? heap_leaves(ctx, ctx->rdi) : heap_enters(ctx, cookie);
}

/* One program, and so one link for all places of a file: removing a link waits for the kernel, and what is still
 * planted meanwhile is hit for nothing. */
SEC("uprobe")
int heap_place(struct pt_regs *ctx)
{
	return HELD(heap_reached(ctx));
}
