// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/sampler_record.h"

#include <errno.h>
#include <string.h>

#define RESUME_FLAG (1u << 16) /* of the flags: what an interrupt may set in its copy */

_Static_assert(SAMPLE_PAGE == WIRE_PAGE_BYTES, "pages are what the program takes");
_Static_assert(SAMPLE_REGS == WREG_MAX, "struct sample holds every register of the wire record");

static void on_page(struct sampler_feed *s, const struct wire_page *w)
{
	struct page_store *k = s->pages;

	if (!k)
		return;
	if (k->time != w->h.time || k->tid != w->h.tid || k->cpu != w->h.cpu)
		k->count = 0;
	if (k->count == WIRE_PAGES_ALL) {
		s->malformed++;
		return;
	}
	k->time = w->h.time;
	k->tid = w->h.tid;
	k->cpu = w->h.cpu;
	memcpy(k->byte[k->count], w->byte, sizeof(w->byte));
	k->page[k->count] = (struct sample_page){ w->addr, k->byte[k->count] };
	k->count++;
}

static void give_pages(const struct sampler_feed *s, const struct wire_sample *w, struct sample *out)
{
	const struct page_store *k = s->pages;

	out->valid |= SV_PAGES;
	out->pages_ns = w->pages_ns;
	if (!k || k->time != w->h.time || k->tid != w->h.tid || k->cpu != w->h.cpu)
		return;
	out->page = k->page;
	out->pages = k->count;
}

static int on_back(struct sampler_feed *s, const struct wire_back *w)
{
	struct sample out = { .kind = SAMPLE_BACK,
			      .valid = SV_TIME | SV_CPU,
			      .pid = w->h.pid,
			      .tid = w->h.tid,
			      .cpu = w->h.cpu,
			      .time = w->h.time,
			      .addr = w->left };
	int err = s->fn(s->ctx, &out);

	return err < 0 || --s->left ? err : -EAGAIN;
}

int sampler_record(struct sampler_feed *s, const void *data, size_t size)
{
	const struct wire_sample *w = data;
	struct sample out;
	int err;

	if (size == sizeof(struct wire_page) && w->h.kind == WIRE_PAGE) {
		on_page(s, data);
		return 0;
	}
	if (size == sizeof(struct wire_back) && w->h.kind == WIRE_BACK)
		return on_back(s, data);
	if (size < sizeof(*w) || w->h.kind != WIRE_SAMPLE || w->stack_bytes > size - sizeof(*w)) {
		s->malformed++;
		return 0;
	}
	memset(&out, 0, sizeof(out));
	out.kind = w->h.flags & WIRE_F_OFF ? SAMPLE_OFF : SAMPLE_TICK;
	out.flags = (w->h.flags & WIRE_F_READY ? SF_READY : 0) | (w->h.flags & WIRE_F_KERNEL_TICK ? SF_KERNEL_TICK : 0);
	out.valid = SV_TIME | SV_IP | SV_REGS | SV_STACK | SV_CPU | SV_SWITCHES;
	out.pid = w->h.pid;
	out.tid = w->h.tid;
	out.cpu = w->h.cpu;
	out.time = w->h.time;
	out.period = w->period;
	out.switches = w->switches;
	out.ran = w->ran;
	out.valid |= w->ran ? SV_RAN : 0;
	memcpy(out.regs, w->regs, sizeof(out.regs));
	out.ip = w->regs[WREG_IP];
	out.code_hash = w->code_hash;
	out.stack = (const uint8_t *)(w + 1);
	out.stack_bytes = w->stack_bytes;
	out.stack_absent = w->absent;
	/* a system call leaves in these where it returns to, and the flags; a call through rcx leaves but the former */
	if (!(w->h.flags & WIRE_F_KERNEL) && w->regs[WREG_CX] == out.ip &&
	    !((w->regs[WREG_R11] ^ w->regs[WREG_FLAGS]) & ~(uint64_t)RESUME_FLAG))
		out.flags |= SF_RETURNS;
	if (w->h.flags & WIRE_F_KERNEL) {
		out.flags |= SF_KERNEL;
		/* negative: the kernel was entered by a fault or an interrupt */
		if (w->syscall >= 0) {
			out.valid |= SV_SYSCALL;
			out.syscall = (int32_t)w->syscall;
		}
	}
	if (w->h.flags & (WIRE_F_STACK_CUT | WIRE_F_STACK_FAULT))
		out.flags |= SF_STACK_CUT;
	if (w->h.flags & WIRE_F_PAGES)
		give_pages(s, w, &out);
	s->last = out.time;
	err = s->fn(s->ctx, &out);
	return err < 0 || --s->left ? err : -EAGAIN;
}
