/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call's arguments and its return say of its size: the arguments as the calling convention passes them, and the
 * two halves of a probe's expressions (struct probe_expr). Part of offload.bpf.c; included there only, after regs_t and
 * REG_ARGS.
 *
 * To add a kind of expression: a PX_* in include/probe.h, its case below; at return only if entry cannot tell all.
 */
#ifndef ACCPERF_CALL_SIZES_BPF_H
#define ACCPERF_CALL_SIZES_BPF_H

/* All at once: the verifier wants each register of the context named by a constant. */
static __always_inline void take_args(struct probe_args *a, regs_t *r)
{
#if defined(__TARGET_ARCH_x86)
	a->reg[0] = r->rdi;
	a->reg[1] = r->rsi;
	a->reg[2] = r->rdx;
	a->reg[3] = r->rcx;
	a->reg[4] = r->r8;
	a->reg[5] = r->r9;
	a->reg[6] = a->reg[7] = 0;
	a->stack = r->rsp + 8;
#else
	a->reg[0] = r->regs[0];
	a->reg[1] = r->regs[1];
	a->reg[2] = r->regs[2];
	a->reg[3] = r->regs[3];
	a->reg[4] = r->regs[4];
	a->reg[5] = r->regs[5];
	a->reg[6] = r->regs[6];
	a->reg[7] = r->regs[7];
	a->stack = r->sp;
#endif
}

static __noinline __u64 arg_of(const struct probe_args *a, __u32 n)
{
	__u64 v = 0;

	if (!a)
		return 0;
	if (n < REG_ARGS)
		return a->reg[n & 7];
	bpf_probe_read_user(&v, sizeof(v), (void *)(a->stack + 8 * (__u64)(n - REG_ARGS)));
	return v;
}

static __always_inline __u64 caller_of(regs_t *r)
{
#if defined(__TARGET_ARCH_x86)
	__u64 v = 0;

	bpf_probe_read_user(&v, sizeof(v), (void *)r->rsp);
	return v;
#else
	return r->regs[30];
#endif
}

static __always_inline __u64 narrowed(__u64 v, __u8 width)
{
	return width == 4 ? (__u32)v : v;
}

/* One way through for both widths: what the verifier would follow twice, at each use. */
static __always_inline bool read_field(__u64 at, __u8 width, __u64 *v)
{
	__u64 read = 0;

	/* little-endian: a short one fills the low half */
	if (!at || bpf_probe_read_user(&read, 8 - (width & 4), (void *)at))
		return false;
	*v = read;
	return true;
}

/* Not told, or not to be read: false. */
static __noinline int job_bytes(__u64 job, __u64 value, __u32 width, __u64 *v)
{
	__u64 at = value & 0xffff, tells;

	if (!v || !read_field(job + ((value >> 32) & 0xffff), 4, &tells))
		return false;
	if (tells == value >> 48)
		at = (value >> 16) & 0xffff;
	return read_field(job + at, (__u8)width, v);
}

/* The job that a manager's call is about, by its argument; 0: unknown. */
static __always_inline __u64 job_of(__u64 ring)
{
	__u64 at;

	return read_field(ring - 4, 4, &at) ? ring + at : 0;
}

/* What is added up, one after the other, by a loop that the verifier follows once: unrolled, what it costs is most of
 * what loading these programs does. */
struct summed {
	__u64 at; /* of the pointers to them, or of the values */
	const struct probe_expr *x;
	__u64 *v;
	bool unread;
};

static long add_one(__u32 i, void *ctx)
{
	struct summed *s = ctx;
	const struct probe_expr *x = s->x;
	__u64 item;

	s->unread = !read_field(s->at + 8 * (__u64)i, 8, &item) ||
		    (x->op == PX_JOBS ? !job_bytes(item, x->value, x->width, &item)
				      : x->off && !read_field(item + x->off, x->width, &item));
	if (s->unread)
		return 1;
	if (x->op == PX_PRODUCT)
		*s->v *= item;
	else
		*s->v += item;
	return 0;
}

static __always_inline bool add_up(struct summed *s, __u64 n, __u32 most)
{
	bpf_loop(n < most ? n : most, add_one, s, 0);
	return !s->unread && n <= most;
}

/* The entry's half of an expression. False: not known. */
static __noinline int expr_entry(const struct probe_args *r, const struct probe_expr *x, struct size_seen *e)
{
	struct summed sum = { .x = x };
	__u64 a, p, n, item;
	__u32 i;

	if (!r || !x || !e)
		return false;
	e->v = e->at = 0;
	if (x->op == PX_NONE)
		return false;
	if (x->when_arg) {
		n = (__u32)arg_of(r, x->when_arg - 1);
		if (n != x->when)
			return !((x->value >> (n & 63)) & 1);
	}
	/* once, before what most of them do with it */
	a = arg_of(r, x->a);
	p = a + x->off;
	switch (x->op) {
	case PX_CONST: e->v = x->value; return true;
	case PX_ARG: e->v = narrowed(a, x->width); return true;
	case PX_MUL: e->v = narrowed(a, x->width) * narrowed(arg_of(r, x->b), x->width); return true;
	case PX_FIELD: return read_field(p, x->width, &e->v);
	case PX_FIELD_AFTER: e->at = p; return true;
	case PX_USED:
	case PX_GREW: e->at = p; return read_field(p, x->width, &e->v);
	case PX_RETURN: return true;
	case PX_SUM:
	case PX_PRODUCT:
	case PX_JOBS:
		n = x->value && x->op != PX_JOBS ? x->value : (__u32)arg_of(r, x->b);
		e->v = x->op == PX_PRODUCT;
		sum.at = a;
		sum.v = &e->v;
		return add_up(&sum, n, x->op == PX_JOBS ? PX_JOBS_MOST : PX_ITEMS_MOST);
	case PX_JOB: return job_bytes(job_of(p), x->value, x->width, &e->v);
	case PX_GRID:
		e->v = 1;
		for (i = 0; i < 6; i++)
			e->v *= (__u32)arg_of(r, x->a + i);
		return true;
	case PX_DIM3:
		e->v = 1;
		for (i = 0; i < 4; i += 2) {
			p = arg_of(r, x->a + i);
			e->v *= (__u64)(__u32)p * (p >> 32) * (__u32)arg_of(r, x->a + i + 1);
		}
		return true;
	case PX_FIELD_PAIR:
		if (!read_field(p, x->width, &e->v) || !read_field(p + (x->width == 4 ? 4 : 8), x->width, &item))
			return false;
		e->v *= item;
		return true;
	}
	return false;
}

/* The return's half. */
static __always_inline bool expr_return(const struct probe_expr *x, __u64 ret, __u64 at, __u64 *v)
{
	__u64 after;

	if (x->op == PX_RETURN) {
		*v = ret;
		return ret < (__u64)-4096;
	}
	if (!at)
		return true;
	if (!read_field(at, x->width, &after))
		return false;
	if (x->op == PX_USED)
		*v = narrowed(*v - after, x->width);
	else if (x->op == PX_GREW)
		*v = narrowed(after - *v, x->width);
	else
		*v = after;
	return true;
}

static __always_inline bool succeeded(__u8 ok, __u64 ret)
{
	switch (ok) {
	case PR_ZERO: return (__u32)ret == 0;
	case PR_POSITIVE: return (__s32)ret > 0;
	case PR_SIZE: return ret < (__u64)-4096;
	case PR_NONZERO: return ret != 0;
	case PR_NOT_NEGATIVE: return (__s32)ret >= 0;
	case PR_STREAM: return (__s32)ret >= 0 || (__s32)ret == -5;
	}
	return true;
}

#endif
