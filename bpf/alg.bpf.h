/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AF_ALG operations as offload calls: bytes go in by send, write or splice on a socket and come out by
 * read or recv; one call reaches from the last send of an operation to the return of the read that
 * empties it. Sockets are recognised by what the kernel holds behind the descriptor and told apart by
 * inode number, so that dup, fork, exec and close need no following. Part of offload.bpf.c, whose maps
 * it fills; included there only.
 *
 * To add a system call: its number below, and a line in alg_call().
 */
#ifndef ACCPERF_ALG_BPF_H
#define ACCPERF_ALG_BPF_H

struct inode___alg {
	__u16 i_mode;
	unsigned long i_ino;
} __attribute__((preserve_access_index));
struct file___alg {
	struct inode___alg *f_inode;
	void *private_data;
} __attribute__((preserve_access_index));
struct fdtable___alg {
	unsigned int max_fds;
	struct file___alg **fd;
} __attribute__((preserve_access_index));
struct files_struct___alg {
	struct fdtable___alg *fdt;
} __attribute__((preserve_access_index));
struct task_struct___alg {
	struct files_struct___alg *files;
} __attribute__((preserve_access_index));
struct sock_common___alg {
	__u16 skc_family;
} __attribute__((preserve_access_index));
struct sock___alg {
	struct sock_common___alg __sk_common;
} __attribute__((preserve_access_index));
struct socket___alg {
	struct sock___alg *sk;
} __attribute__((preserve_access_index));

#if defined(__TARGET_ARCH_x86)
enum {
	NR_READ = 0,
	NR_WRITE = 1,
	NR_READV = 19,
	NR_WRITEV = 20,
	NR_SENDFILE = 40,
	NR_ACCEPT = 43,
	NR_SENDTO = 44,
	NR_RECVFROM = 45,
	NR_SENDMSG = 46,
	NR_RECVMSG = 47,
	NR_BIND = 49,
	NR_SPLICE = 275,
	NR_ACCEPT4 = 288,
	NR_RECVMMSG = 299,
	NR_SENDMMSG = 307
};
#define SYS_ARGS(a, r) ((a)[0] = (r)->rdi, (a)[1] = (r)->rsi, (a)[2] = (r)->rdx, (a)[3] = (r)->r10)
#define SYS_ARG6(r) ((r)->r9)
#define COMPAT(r) ((r)->cs == 0x23)
#else
enum {
	NR_READ = 63,
	NR_WRITE = 64,
	NR_READV = 65,
	NR_WRITEV = 66,
	NR_SENDFILE = 71,
	NR_ACCEPT = 202,
	NR_SENDTO = 206,
	NR_RECVFROM = 207,
	NR_SENDMSG = 211,
	NR_RECVMSG = 212,
	NR_BIND = 200,
	NR_SPLICE = 76,
	NR_ACCEPT4 = 242,
	NR_RECVMMSG = 243,
	NR_SENDMMSG = 269
};
#define SYS_ARGS(a, r) ((a)[0] = (r)->regs[0], (a)[1] = (r)->regs[1], (a)[2] = (r)->regs[2], (a)[3] = (r)->regs[3])
#define SYS_ARG6(r) ((r)->regs[5])
#define COMPAT(r) ((r)->pstate & 0x10)
#endif

#define PF_ALG 38           /* the kernel's, as the four below */
#define S_IFMT_ 0170000     /* stat(2): S_IFMT, whose name vmlinux.h lacks */
#define S_IFSOCK_ 0140000   /* stat(2): S_IFSOCK */
#define ALG_MSG_MORE 0x8000 /* MSG_MORE */
#define ALG_SPLICE_F_MORE 4 /* SPLICE_F_MORE */

enum { ALG_NOTHING = 0, ALG_IN = 1, ALG_OUT = 2, ALG_BIND = 3, ALG_ACCEPT = 4 };

/* A system call under way, by thread. */
struct alg_flight {
	__u64 ino, entry, addr;
	__u64 cpu, sum_exec; /* of the thread, at entry */
	__u32 voluntary, involuntary, on_cpu;
	__u8 what, more, many, pad; /* many: returns messages, not bytes */
};

static const struct probe_alg_sock no_sock;

__u32 alg_everybody, alg_first, alg_library;
__u32 alg_family;
__u32 alg_used = 1; /* names given out; 0 is for unknown ones */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct alg_flight);
} alg_flights SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct probe_alg_sock);
} alg_socks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct probe_alg);
	__type(value, __u32);
} alg_names SEC(".maps");

/* Too large for the stack. Where the kernel has no way to hold the CPU (preempt.bpf.h), one system call may be
 * interrupted in here by another task's: who finds a part of it taken does without, and it is counted. */
struct alg_room {
	__u32 slot_taken, regs_taken;
	struct probe_slot slot;
	regs_t regs;
};

static __always_inline bool alg_take(__u32 *taken)
{
	if (!__sync_lock_test_and_set(taken, 1))
		return true;
	count(PC_ROOM_TAKEN);
	return false;
}
static const struct probe_slot no_slot;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct alg_room);
} alg_rooms SEC(".maps");

/* The inode behind a descriptor of the current process if it is an AF_ALG socket, else 0. */
static __noinline __u64 alg_inode(__u32 fd)
{
	struct task_struct___alg *task = (void *)bpf_get_current_task();
	struct fdtable___alg *table = BPF_CORE_READ(task, files, fdt);
	struct file___alg **slots, *file = NULL;
	struct inode___alg *inode;
	struct socket___alg *sock;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	slots = BPF_CORE_READ(table, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), slots + fd) || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT_) != S_IFSOCK_)
		return 0;
	sock = BPF_CORE_READ(file, private_data);
	if (BPF_CORE_READ(sock, sk, __sk_common.skc_family) != PF_ALG)
		return 0;
	return BPF_CORE_READ(inode, i_ino);
}

/* What this system call is to us, and on which descriptor. */
static __always_inline __u32 alg_call(__u64 nr, const __u64 *a, struct alg_flight *f, __u32 *fd)
{
	*fd = (__u32)a[0];
	switch (nr) {
	case NR_WRITE:
	case NR_WRITEV: return ALG_IN;
	case NR_SENDTO: f->more = !!(a[3] & ALG_MSG_MORE); return ALG_IN;
	case NR_SENDMSG: f->more = !!(a[2] & ALG_MSG_MORE); return ALG_IN;
	case NR_SENDMMSG:
		f->more = !!(a[3] & ALG_MSG_MORE);
		f->many = 1;
		return ALG_IN;
	case NR_SENDFILE: return ALG_IN;
	case NR_READ:
	case NR_READV:
	case NR_RECVFROM:
	case NR_RECVMSG: return ALG_OUT;
	case NR_RECVMMSG: f->many = 1; return ALG_OUT;
	case NR_BIND: f->addr = a[1]; return ALG_BIND;
	case NR_ACCEPT:
	case NR_ACCEPT4: return ALG_ACCEPT;
	}
	return ALG_NOTHING;
}

static __always_inline bool alg_wanted(__u32 pid)
{
	return pid != skip_pid && (alg_everybody || bpf_map_lookup_elem(&targets, &pid));
}

static __always_inline struct probe_alg_sock *alg_sock_of(__u64 ino)
{
	struct probe_alg_sock *o = bpf_map_lookup_elem(&alg_socks, &ino);

	if (o)
		return o;
	bpf_map_update_elem(&alg_socks, &ino, &no_sock, BPF_NOEXIST);
	return bpf_map_lookup_elem(&alg_socks, &ino);
}

/* The operation is over, or given up: what is known of it becomes a call. */
static __noinline int alg_complete(struct probe_alg_sock *o)
{
	struct alg_room *room;
	struct probe_slot *s;
	__u32 zero = 0;

	room = bpf_map_lookup_elem(&alg_rooms, &zero);
	if (!o || !room)
		return 0;
	if (!alg_take(&room->slot_taken)) {
		o->pending = o->more = o->partly = 0;
		return 0;
	}
	s = &room->slot;
	*s = no_slot;
	s->entry = o->entry - o->busy;
	s->pid = o->pid;
	s->tid = o->tid;
	s->probe = alg_first + (o->alg & (PROBE_ALGS - 1));
	s->kind = PK_CALL;
	s->flags = o->flags | (o->unknown ? 0 : WO_IN | WO_OUT);
	s->in = o->in;
	s->out = o->out;
	s->site = s->func = o->site;
	s->cpu = o->end_cpu + o->busy;
	s->voluntary = o->end_voluntary;
	s->involuntary = o->end_involuntary;
	o->pending = o->more = o->partly = 0;
	account(s, o->end, 0);
	room->slot_taken = 0;
	return 0;
}

/* A call of libkcapi holds the system calls it makes. 1: nested there. */
static __always_inline int alg_inside(struct probe_alg_sock *o, __u32 tid)
{
	struct probe_thread *t = bpf_map_lookup_elem(&threads, &tid);
	struct probe_slot *c;
	__u32 i;

	o->flags = 0;
	if (!t)
		return 0;
#pragma unroll
	for (i = 0; i < PROBE_SLOTS; i++) {
		c = &t->slots[i];
		if (!c->used || c->epoch != epochs[c->library & (PROBE_LIBS - 1)])
			continue;
		if (c->family == alg_family)
			return 1;
		o->flags |= WO_INSIDE;
	}
	return 0;
}

/* An operation begins with this system call of the current thread. */
static __always_inline void alg_begin(struct probe_alg_sock *o, __u32 pid, __u32 tid, __u64 site)
{
	o->in = o->out = o->busy = 0;
	o->pid = pid;
	o->tid = tid;
	o->site = site;
	o->epoch = epochs[alg_library & (PROBE_LIBS - 1)];
	o->partly = o->more = o->unknown = 0;
}

static __always_inline void alg_stamp(struct alg_flight *f)
{
	struct task_struct___off *task = (void *)bpf_get_current_task();

	f->voluntary = BPF_CORE_READ(task, nvcsw);
	f->involuntary = BPF_CORE_READ(task, nivcsw);
	f->sum_exec = BPF_CORE_READ(task, se.sum_exec_runtime);
	f->on_cpu = bpf_get_smp_processor_id();
	f->entry = bpf_ktime_get_ns();
	f->cpu = cpu_clock(task, f->entry);
}

/* The operation is timed from this system call on. */
static __always_inline void alg_from(struct probe_alg_sock *o, const struct alg_flight *f)
{
	o->entry = f->entry;
	o->cpu = f->cpu;
	o->sum_exec = f->sum_exec;
	o->voluntary = f->voluntary;
	o->involuntary = f->involuntary;
	o->on_cpu = f->on_cpu;
}

/* What the operation took until here, should it be all. */
static __always_inline void alg_lap(struct probe_alg_sock *o, __u32 tid, __u64 now)
{
	struct task_struct___off *task = (void *)bpf_get_current_task();
	__u64 ns = now - o->entry;

	o->end = now;
	o->end_cpu = o->end_voluntary = o->end_involuntary = 0;
	if (tid != o->tid)
		return;
	o->end_voluntary = (__u32)BPF_CORE_READ(task, nvcsw) - o->voluntary;
	o->end_involuntary = (__u32)BPF_CORE_READ(task, nivcsw) - o->involuntary;
	if (o->on_cpu == bpf_get_smp_processor_id())
		o->end_cpu = cpu_clock(task, now) - o->cpu;
	else
		o->end_cpu = BPF_CORE_READ(task, se.sum_exec_runtime) - o->sum_exec;
	if (o->end_cpu > ns)
		o->end_cpu = (__s64)o->end_cpu < 0 ? 0 : ns;
}

static __always_inline int alg_call_begins(struct bpf_raw_tracepoint_args *ctx, regs_t *regs, __u32 pid, __u32 tid)
{
	struct alg_flight f = {};
	struct probe_total *total;
	struct probe_alg_sock *o;
	struct probe_thread *t;
	__u64 now, a[4];
	__u32 fd;

	if (bpf_probe_read_kernel(regs, sizeof(*regs), (void *)ctx->args[0]) || COMPAT(regs))
		return 0;
	SYS_ARGS(a, regs);
	if (ctx->args[1] == NR_SPLICE) { /* into the socket, or out of it */
		f.ino = alg_inode((__u32)a[2]);
		f.what = ALG_IN;
		f.more = !!(SYS_ARG6(regs) & ALG_SPLICE_F_MORE);
		if (!f.ino) {
			f.ino = alg_inode((__u32)a[0]);
			f.what = ALG_OUT;
		}
	} else {
		f.what = alg_call(ctx->args[1], a, &f, &fd);
		if (f.what)
			f.ino = alg_inode(fd);
	}
	if (!f.ino)
		return 0;
	if (f.what == ALG_IN || f.what == ALG_OUT) {
		o = alg_sock_of(f.ino);
		if (!o) {
			count(PC_MAP_FULL);
			return 0;
		}
		if (o->pending && o->epoch != epochs[alg_library & (PROBE_LIBS - 1)]) {
			count(PC_CUT);
			o->pending = 0;
		}
		if (f.what == ALG_IN && o->pending && o->partly && !o->more)
			alg_complete(o); /* the last read had been the last */
		if (!o->pending) {
			if (alg_inside(o, tid)) {
				count(PC_NESTED);
				return 0;
			}
			alg_begin(o, pid, tid, REG_IP(regs));
			now = bpf_ktime_get_ns();
			total = offload_total_of(pid, alg_first + (o->alg & (PROBE_ALGS - 1)), o->site, 0);
			t = thread_of(tid);
			if (t && total && (!total->stack_time || now - total->stack_time > stack_gap_ns) &&
			    send_stack(regs, t, now, pid, tid)) {
				total->stack_time = now;
				o->flags |= WO_STACK;
			}
		}
	}
	alg_stamp(&f);
	bpf_map_update_elem(&alg_flights, &tid, &f, BPF_ANY);
	return 0;
}

static __always_inline int alg_entered(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid, pid = whoami(&tid), key = alg_first, zero = 0;
	struct probe_activity *act;
	struct alg_room *room;

	if (!alg_wanted(pid) || !entitled())
		return 0;
	act = bpf_map_lookup_elem(&activity, &key);
	if (!act)
		return 0;
	ADD(act->hits, 1);
	if (!enabled[alg_library & (PROBE_LIBS - 1)])
		return 0;
	room = bpf_map_lookup_elem(&alg_rooms, &zero);
	if (!room || !alg_take(&room->regs_taken))
		return 0;
	alg_call_begins(ctx, &room->regs, pid, tid);
	room->regs_taken = 0;
	return 0;
}

static __always_inline void alg_bound(const struct alg_flight *f)
{
	struct probe_alg name = {};
	struct probe_alg_sock *o;
	__u32 *known, next;

	if (bpf_probe_read_user_str(name.type, 14, (void *)(f->addr + 2)) < 0 ||
	    bpf_probe_read_user_str(name.name, sizeof(name.name), (void *)(f->addr + 24)) < 0)
		return;
	o = alg_sock_of(f->ino);
	if (!o)
		return;
	o->at_once = name.type[0] != 's'; /* skcipher; the others are hash, aead, rng */
	known = bpf_map_lookup_elem(&alg_names, &name);
	if (!known) {
		next = __sync_fetch_and_add(&alg_used, 1);
		if (next >= PROBE_ALGS)
			return; /* no names left: counted with the unknown */
		bpf_map_update_elem(&alg_names, &name, &next, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&alg_names, &name);
	}
	o->alg = known ? *known : 0;
}

static __always_inline void alg_sent(struct probe_alg_sock *o, const struct alg_flight *f, __s64 ret, __u64 now)
{
	if (ret < 0) {
		if (!o->pending && ret != -11 /* EAGAIN */ && ret != -4 /* EINTR */) {
			alg_from(o, f);
			o->end = now;
			o->flags |= WO_FAILED;
			o->end_cpu = o->end_voluntary = o->end_involuntary = 0;
			alg_complete(o);
		}
		return;
	}
	if (f->many)
		o->unknown = 1;
	else
		o->in += ret;
	o->pending = 1;
	o->more = f->more;
}

static __always_inline void alg_read(struct probe_alg_sock *o, const struct alg_flight *f, __u32 tid, __s64 ret,
				     __u64 now)
{
	if (ret == -11 || ret == -4)
		return;
	if (ret < 0)
		o->flags |= WO_FAILED;
	else if (f->many)
		o->unknown = 1;
	else
		o->out += ret;
	o->pending = 1;
	o->partly = 1;
	alg_lap(o, tid, now);
	if (ret < 0 || o->at_once || (!o->more && o->out >= o->in))
		alg_complete(o);
}

static __always_inline int alg_left(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 now = bpf_ktime_get_ns(), child;
	__u32 tid, pid = whoami(&tid);
	struct probe_alg_sock *o, *parent;
	struct alg_flight f, *at;
	__s64 ret = (__s64)ctx->args[1];

	if (!alg_wanted(pid))
		return 0;
	at = bpf_map_lookup_elem(&alg_flights, &tid);
	if (!at)
		return 0;
	f = *at;
	bpf_map_delete_elem(&alg_flights, &tid);
	if (!enabled[alg_library & (PROBE_LIBS - 1)])
		return 0;
	if (f.what == ALG_BIND) {
		if (!ret)
			alg_bound(&f);
		return 0;
	}
	if (f.what == ALG_ACCEPT) {
		child = ret >= 0 ? alg_inode((__u32)ret) : 0;
		parent = bpf_map_lookup_elem(&alg_socks, &f.ino);
		o = child && parent ? alg_sock_of(child) : NULL;
		if (o) {
			o->alg = parent->alg;
			o->at_once = parent->at_once;
		}
		return 0;
	}
	o = bpf_map_lookup_elem(&alg_socks, &f.ino);
	if (!o)
		return 0;
	if (f.what == ALG_IN) {
		/* Earlier system calls of the operation took time, too; what lies between is the caller's. */
		if (o->pending && ret >= 0)
			o->busy += o->end - o->entry;
		if (ret >= 0) {
			alg_from(o, &f);
			o->end = now;
		}
		alg_sent(o, &f, ret, now);
	} else {
		if (!o->pending)
			alg_from(o, &f);
		alg_read(o, &f, tid, ret, now);
	}
	return 0;
}

SEC("raw_tp/sys_enter")
int offload_alg_enter(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(alg_entered(ctx));
}

SEC("raw_tp/sys_exit")
int offload_alg_exit(struct bpf_raw_tracepoint_args *ctx)
{
	return HELD(alg_left(ctx));
}

#endif
