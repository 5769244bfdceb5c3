// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/segment_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "abi.h"

#define FASTEST 20.0       /* instructions a ns: no thread runs faster, and behind a system call none nearly so fast */
#define TIME_OFF_NS 2000.0 /* that a segment's time may be off by, with what is taken off */

/* How the one that was begun last came out here. */
struct outcome {
	bool waits; /* for its end */
	uint64_t begun;
	uint32_t tid;
	uint32_t taken_ns;
	struct emu_result run;
	uint64_t reg[WREG_IP + 1];
	uint32_t known; /* bit per register */
	bool denied, clock;
};

struct segment_run {
	struct segment_env env;
	struct emu *emu;
	struct emu_pages *likely; /* of the process */
	struct outcome last;
};

struct segment_run *segment_run_new(const struct segment_env *env)
{
	struct segment_run *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->env = *env;
	r->emu = emu_new(&r->env.sees);
	r->likely = emu_pages_new();
	if (r->emu && r->likely)
		return r;
	segment_run_free(r);
	return NULL;
}

void segment_run_free(struct segment_run *r)
{
	if (!r)
		return;
	emu_free(r->emu);
	emu_pages_free(r->likely);
	free(r);
}

static void change_process(struct segment_run *r, uint32_t pid)
{
	if (r->env.process(r->env.ctx, pid))
		return;
	emu_forget(r->emu);
	emu_pages_forget(r->likely);
}

bool segment_run_ask(struct segment_run *r, struct call_segments *of, uint32_t pid)
{
	uint64_t addr[WIRE_PAGES], slot[WIRE_SLOTS];
	uint32_t count, slots;

	change_process(r, pid);
	count = emu_pages_likely(r->likely, EMU_PAGES_LEAST, addr, WIRE_PAGES);
	slots = emu_pages_slots(r->likely, slot, WIRE_SLOTS);
	return call_segments_want(of, pid, addr, count, slot, slots);
}

int segment_run_begin(struct segment_run *r, const struct sample *m, emu_access_fn *access, void *access_ctx)
{
	struct emu_start from = { .regs = m->regs,
				  .page = m->page,
				  .pages = m->pages,
				  .insns = SEGMENT_HORIZON,
				  .to_entry = true,
				  .access = access,
				  .access_ctx = access_ctx };
	struct outcome *o = &r->last;
	int err;

	change_process(r, m->pid);
	*o = (struct outcome){ .begun = m->time, .tid = m->tid, .taken_ns = m->pages_ns };
	err = emu_run(r->emu, &from, &o->run);
	if (err)
		return err;
	emu_pages_run(r->likely, r->emu, m->page, m->pages);
	for (unsigned i = 0; i <= WREG_IP; i++)
		o->known |= emu_register(r->emu, i, &o->reg[i]) ? 1u << i : 0;
	o->denied = r->env.denied(r->env.ctx);
	o->clock = r->env.sees.clock && r->env.sees.clock(r->env.sees.ctx, o->run.end_ip);
	o->waits = true;
	return 0;
}

const struct emu *segment_run_emu(const struct segment_run *r, uint64_t *insns)
{
	*insns = r->last.run.insns;
	return r->emu;
}

size_t segment_run_counts(const struct segment_run *r, struct emu_count *buf, size_t max)
{
	return emu_counts(r->emu, buf, max);
}

bool segment_run_waits(const struct segment_run *r)
{
	return r->last.waits;
}

/* The system call itself leaves its own in these two. */
static bool left_by_entry(unsigned reg)
{
	return reg == WREG_CX || reg == WREG_R11;
}

/* It came to the same entry, but went round more often before than there was time for: it waited for something that had
 * changed when it was looked at. */
static bool took_too_little(const struct outcome *o, const struct call_segment_end *end)
{
	return end->timed && (double)o->run.insns > FASTEST * ((double)end->ran_ns + TIME_OFF_NS);
}

static enum fmt_segment_cause compare_entry(const struct outcome *o, const struct call_segment_end *end)
{
	static const unsigned must[] = { WREG_AX, WREG_IP, WREG_SP };

	for (unsigned i = 0; i < sizeof(must) / sizeof(must[0]); i++)
		if (!(o->known >> must[i] & 1) || o->reg[must[i]] != end->regs[must[i]])
			return FMT_SEGC_ENTRY;
	for (unsigned i = 0; i < WREG_IP; i++)
		if (o->known >> i & 1 && !left_by_entry(i) && o->reg[i] != end->regs[i])
			return FMT_SEGC_REGISTERS;
	return FMT_SEGC_NONE;
}

static enum fmt_segment_cause cause_of_end(const struct outcome *o, const struct call_segment_end *end)
{
	switch (o->run.end) {
	case EMU_ENTRY: return took_too_little(o, end) ? FMT_SEGC_STUCK : compare_entry(o, end);
	case EMU_DONE: return FMT_SEGC_HORIZON;
	case EMU_BRANCH:
	case EMU_TARGET: return FMT_SEGC_BRANCH;
	case EMU_FAULT: return FMT_SEGC_MEMORY;
	case EMU_CODE: return FMT_SEGC_CODE;
	default: return FMT_SEGC_STUCK;
	}
}

bool segment_run_end(struct segment_run *r, const struct call_segment_end *end, struct fmt_segment *out)
{
	struct outcome *o = &r->last;
	bool same, mine = o->waits && o->begun == end->begun && o->tid == end->tid;

	out->state = FMT_SEG_LOST;
	out->cause = FMT_SEGC_PAGES;
	if (!mine)
		return false;
	o->waits = false;
	out->taken_ns = o->taken_ns;
	out->instructions = o->run.insns;
	if (end->open || !end->regs || end->nr < 0) {
		out->state = end->open ? FMT_SEG_CENSORED : FMT_SEG_LOST;
		out->cause = end->open ? FMT_SEGC_LONG : FMT_SEGC_UNSEEN;
		return false;
	}
	out->cause = cause_of_end(o, end);
	if (!end->timed) {
		same = out->cause == FMT_SEGC_NONE;
		out->cause = FMT_SEGC_TIME;
		return same;
	}
	if (out->cause != FMT_SEGC_NONE && end->nr == SYS_rt_sigreturn)
		out->cause = FMT_SEGC_SIGNAL;
	else if (out->cause != FMT_SEGC_NONE && o->denied)
		out->cause = FMT_SEGC_DENIED;
	else if (out->cause != FMT_SEGC_NONE && o->clock)
		out->cause = FMT_SEGC_CLOCK;
	out->state = out->cause == FMT_SEGC_NONE      ? FMT_SEG_VERIFIED
		     : out->cause == FMT_SEGC_HORIZON ? FMT_SEG_CENSORED
						      : FMT_SEG_DIVERGED;
	return out->state == FMT_SEG_VERIFIED;
}
