/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a thread's memory, taken as they are while it stands in the kernel, a record for each before the record that
 * they belong to. Included by programs that take them, behind their `ring` and PAGES_ROOM: what may wait in the ring
 * before pages are left out.
 */
#ifndef ACCPERF_PAGES_BPF_H
#define ACCPERF_PAGES_BPF_H

#include "kernel_types.bpf.h"
#include "abi.h"
#include "count.bpf.h"

#define USER_MOST ((1ull << 47) - 2 * 4096) /* the lower half of x86-64, less two pages: the last is never mapped */

/* Written by user space while `pid` is 0. Two CPUs may both find it set: each takes the pages, for its own sample. */
struct wire_wanted wanted;

static __always_inline bool take_page(struct wire_sample *s, __u64 addr)
{
	struct wire_page *p = NULL;

	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < PAGES_ROOM)
		p = bpf_ringbuf_reserve(&ring, sizeof(*p), 0);
	if (!p) {
		count(CTR_PAGE_LOST);
		return false;
	}
	p->addr = addr;
	if (bpf_probe_read_user(p->byte, sizeof(p->byte), (void *)addr)) {
		count(CTR_PAGE_FAULT);
		bpf_ringbuf_discard(p, BPF_RB_NO_WAKEUP);
		return true;
	}
	p->h = s->h;
	p->h.kind = WIRE_PAGE;
	p->h.size = sizeof(*p);
	s->pages++;
	count(CTR_PAGES);
	bpf_ringbuf_submit(p, BPF_RB_NO_WAKEUP);
	return true;
}

/* A page in some sixty is passed over because another one has its bit. */
static __always_inline bool taken(__u64 addr)
{
	__u32 bit = wire_seen_bit(addr);

	return wanted.seen[bit / 64 & (WIRE_SEEN / 64 - 1)] >> bit % 64 & 1;
}

struct taking {
	struct wire_sample *s;
};

/* Of 1 the loop ends. */
static long take_wanted(__u32 i, void *ctx)
{
	struct taking *t = ctx;

	return i >= WIRE_PAGES || !take_page(t->s, wanted.addr[i]);
}

static long take_slot(__u32 i, void *ctx)
{
	struct taking *t = ctx;
	__u64 to;

	if (i >= WIRE_SLOTS)
		return 1;
	if (bpf_probe_read_user(&to, sizeof(to), (void *)wanted.slot[i]) || to - WIRE_PAGE_BYTES > USER_MOST ||
	    taken(to))
		return 0;
	return !take_page(t->s, to & ~(__u64)(WIRE_PAGE_BYTES - 1));
}

static long take_pointer(__u32 i, void *ctx)
{
	struct taking *t = ctx;
	__u64 addr, last;
	__u32 before;

	if (i >= WIRE_POINTERS)
		return 1;
	addr = t->s->regs[i] & ~(__u64)(WIRE_PAGE_BYTES - 1);
	before = (i - 1) & (WIRE_POINTERS - 1);
	/* the mask is what Linux 6.1 sees: the compiler would leave it out */
	barrier_var(before);
	last = t->s->regs[before & (WIRE_POINTERS - 1)] & ~(__u64)(WIRE_PAGE_BYTES - 1);
	if (i == WREG_SP || addr == last || addr - WIRE_PAGE_BYTES > USER_MOST || taken(addr))
		return 0;
	return !take_page(t->s, addr);
}

/* Memory as it is while the thread stands here: what reads it later finds what was written since. A record for each
 * page, so that it is copied once. The last ones are what the thread has just now in its hands, which nobody can know
 * beforehand. */
static __always_inline void take_pages(struct wire_sample *s)
{
	__u64 began = bpf_ktime_get_ns();
	struct taking t = { s };

	wanted.pid = 0;
	s->h.flags |= WIRE_F_PAGES;
	bpf_loop(wanted.count < WIRE_PAGES ? wanted.count : WIRE_PAGES, take_wanted, &t, 0);
	bpf_loop(wanted.slots < WIRE_SLOTS ? wanted.slots : WIRE_SLOTS, take_slot, &t, 0);
	bpf_loop(WIRE_POINTERS, take_pointer, &t, 0);
	s->pages_ns = (__u32)(bpf_ktime_get_ns() - began);
}

#endif
