// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls that move user memory: which range, which way, how much. Every system call of the
 * machine passes here while this is loaded, so the first thing is to leave for those of others.
 */
#include "kernel_types.bpf.h"
#include "abi.h"

char LICENSE[] SEC("license") = "GPL";

#define MAX_NR 512
#define MAX_RANGES 16
#define RING_BYTES (1 << 20)
#define USER_CS_32 0x23

/* As enum sysdir_shape in kmod-free/syscalls.h; told by user space in `calls`. */
enum { SHAPE_BUFFER = 1, SHAPE_VECTOR, SHAPE_MESSAGE, SHAPE_FIXED, SHAPE_COUNTED, SHAPE_MAP };

struct call {
	__u8 shape, addr, len, dir;
	__u32 fixed;
};

struct pending {
	__u64 time;
	__u64 args[6];
	__s64 nr;
	__u32 every, pad; /* as drawn */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_NR);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct pending);
} pending SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

struct record {
	struct wire_sysio s;
	struct wire_range range[MAX_RANGES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} scratch SEC(".maps");

struct msghdr { /* user space's */
	__u64 name;
	__u32 name_len, pad;
	__u64 iov, iov_len;
};

/* Set by user space while running. */
__u32 every = 1; /* one call in so many is reported, drawn at random */
__u32 all;	 /* every process is a target */
/* Read by user space. */
__u64 seen, lost, cut, uring;

static __always_inline bool wanted(__u32 pid)
{
	return all || bpf_map_lookup_elem(&targets, &pid);
}

/* When user space is behind: fewer, each standing for more, rather than a full ring. */
static __always_inline __u32 one_in(void)
{
	__u64 waits = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u32 n = every ? every : 1;

	return waits > RING_BYTES / 4 * 3 ? n * 256 : waits > RING_BYTES / 2 ? n * 16 : n;
}

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct pt_regs *r = (struct pt_regs *)ctx->args[0], regs;
	__u32 tid = (__u32)id, key = (__u32)ctx->args[1], n;
	struct pending p = { 0 };
	struct call *c;

	if (!wanted(id >> 32))
		return 0;
	if (key == 426 /* io_uring_enter */)
		__sync_fetch_and_add(&uring, 1);
	c = bpf_map_lookup_elem(&calls, &key);
	if (!c || !c->shape)
		return 0;
	__sync_fetch_and_add(&seen, 1);
	n = one_in();
	if (n > 1 && bpf_get_prandom_u32() % n)
		return 0;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), r) || regs.cs == USER_CS_32)
		return 0;
	p.time = bpf_ktime_get_ns();
	p.nr = key;
	p.every = n;
	p.args[0] = regs.rdi;
	p.args[1] = regs.rsi;
	p.args[2] = regs.rdx;
	p.args[3] = regs.r10;
	p.args[4] = regs.r8;
	p.args[5] = regs.r9;
	bpf_map_update_elem(&pending, &tid, &p, BPF_ANY);
	return 0;
}

static __always_inline __u64 arg(const struct pending *p, __u32 i)
{
	return i < 6 ? p->args[i & 7] : 0;
}

/* An iovec array has the layout of our ranges. The last ones are cut to what was moved. */
static __always_inline __u32 take_iov(struct record *x, __u64 iov, __u64 cnt, __u64 left)
{
	if (cnt > MAX_RANGES) {
		__sync_fetch_and_add(&cut, 1);
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

static __always_inline __u32 take_ranges(struct record *x, const struct call *c, const struct pending *p, __s64 ret)
{
	__u64 addr = arg(p, c->addr), cnt;
	struct msghdr m;

	switch (c->shape) {
	case SHAPE_BUFFER:
		x->range[0].addr = addr;
		x->range[0].len = ret;
		return 1;
	case SHAPE_FIXED:
		x->range[0].addr = addr;
		x->range[0].len = c->fixed;
		return 1;
	case SHAPE_COUNTED:
		x->range[0].addr = addr;
		x->range[0].len = ret * c->fixed;
		return 1;
	case SHAPE_MAP:
		if ((__s32)p->args[4] < 0) /* anonymous: holds nothing yet */
			return 0;
		x->range[0].addr = ret;
		x->range[0].len = p->args[1];
		return 1;
	case SHAPE_VECTOR:
		cnt = arg(p, c->len);
		break;
	case SHAPE_MESSAGE:
		if (bpf_probe_read_user(&m, sizeof(m), (void *)addr))
			return 0;
		addr = m.iov;
		cnt = m.iov_len;
		break;
	default:
		return 0;
	}
	return take_iov(x, addr, cnt, ret);
}

SEC("raw_tp/sys_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)id, key = 0, n;
	__s64 ret = (__s64)ctx->args[1];
	struct pt_regs *r = (struct pt_regs *)ctx->args[0];
	struct pending *p, copy;
	struct record *x;
	struct call *c;

	if (!wanted(id >> 32))
		return 0;
	p = bpf_map_lookup_elem(&pending, &tid);
	if (!p)
		return 0;
	copy = *p;
	bpf_map_delete_elem(&pending, &tid);
	key = (__u32)copy.nr;
	c = bpf_map_lookup_elem(&calls, &key);
	if (!c)
		return 0;
	/* an error, or nothing moved; fixed-size answers come with 0 */
	if (ret < 0 ? c->shape != SHAPE_MAP || ret > -4096 : !ret && c->shape != SHAPE_FIXED)
		return 0;
	key = 0;
	x = bpf_map_lookup_elem(&scratch, &key);
	if (!x)
		return 0;
	n = take_ranges(x, c, &copy, ret);
	if (!n || n > MAX_RANGES)
		return 0;
	x->s.h.kind = WIRE_SYSIO;
	x->s.h.size = sizeof(x->s) + n * sizeof(struct wire_range);
	x->s.h.time = bpf_ktime_get_ns();
	x->s.h.pid = id >> 32;
	x->s.h.tid = tid;
	x->s.h.cpu = bpf_get_smp_processor_id();
	x->s.h.flags = WIRE_F_KERNEL;
	x->s.nr = copy.nr;
	x->s.result = ret;
	x->s.enter_time = copy.time;
	__builtin_memcpy(x->s.args, copy.args, sizeof(copy.args));
	x->s.ip = 0;
	bpf_probe_read_kernel(&x->s.ip, sizeof(x->s.ip), &r->rip);
	x->s.iov_cnt = n;
	x->s.every = copy.every;
	if (bpf_ringbuf_output(&ring, x, sizeof(x->s) + n * sizeof(struct wire_range), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}
