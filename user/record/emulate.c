// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/emulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "attr/attr.h"
#include "code/field.h"
#include "emu/emu_pages.h"
#include "proc/procmap.h"
#include "record/emulate_branches.h"
#include "record/emulate_data.h"
#include "record/emulate_env.h"
#include "record/emulate_when.h"
#include "record/ledger.h"
#include "record/located_code.h"
#include "record/pages_choice.h"
#include "record/revisits.h"
#include "record/value_marks.h"
#include "util/clock.h"
#include "util/target_memory.h"

#define GUESSES 8   /* vector registers are not sampled: a search through a text begins with a branch that is unknown */
#define BURST 10000 /* instructions: what is read later in a longer one has changed too often since the sample */
#define FRESH_NS 2000000   /* of an older sample only the memory that came with it is used */
#define COUNTS_ROOM 65536  /* counts of one burst; by hand */
#define WAIT_NS 1000000000 /* for an answer about a page: it is lost then; by hand */
#define REVISITED 16       /* reads of a burst */

struct emulate {
	struct session *s;
	struct plan *plan;
	struct emulate_env sees;
	struct emu_env env;
	struct emu *emu;
	struct emulate_data *flow;
	struct emulate_branches *branches;
	struct revisits *revisits;
	struct emu_pages *likely; /* of the process whose memory is read */
	struct pages_choice pages;
	struct value_marks marks;
	double part, lent; /* of one CPU's time, of ours; lent: what segments leave */
	bool asked;        /* for its pages, with the next sample */
	uint64_t asked_at;
	struct emulate_when when;
	struct emu_count *count;
	struct {
		uint64_t bursts, instructions, changed, unlisted, skipped, guessed, unknown, syscalls, pages, given,
			own_ns, target_ns, aged, failed, end[EMU_ENDS];
	} n;
};

/* ---- what bursts see of the target ---- */

/* A return address or one past an instruction: what lies before it. */
static bool place_of_return(void *ctx, uint64_t runtime, struct module **m, uint64_t *vaddr)
{
	const struct emulate *r = ctx;
	struct place at;

	if (!emulate_env_find(&r->sees, runtime - 1, &at))
		return false;
	*m = at.module;
	*vaddr = at.vaddr + 1;
	return true;
}

/* The same for an instruction, as it is written. */
static bool instruction(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	struct emulate *r = ctx;

	return attr_code(session_attr(r->s), pid, ip, module, addr);
}

static int32_t field_of_code(void *ctx, uint64_t ip)
{
	struct emulate *r = ctx;
	uint8_t bytes[DEC_MAX_BYTES];
	size_t n = r->env.code(r->env.ctx, ip, bytes, sizeof(bytes));
	struct dec_insn d;

	return dec_decode(bytes, n, &d) ? 0 : field_of(&d);
}

static uint16_t mark_of_access(void *ctx, const struct emu_access *a)
{
	struct emulate *r = ctx;

	return value_marks_of(&r->marks, a);
}

static bool place_of_branch(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	struct emulate *r = ctx;

	return attr_place(session_attr(r->s), pid, ip, module, addr);
}

static void forget_run(struct emulate *r)
{
	emu_forget(r->emu);
	emulate_data_forget(r->flow);
	emulate_branches_forget(r->branches);
	value_marks_forget(&r->marks);
}

/* ---- one burst ---- */

static void tally_burst(struct emulate *r, const struct plan_burst *b)
{
	struct emu_touched t;

	r->n.bursts++;
	r->n.instructions += b->result.insns;
	r->n.skipped += b->result.skipped;
	r->n.unknown += b->result.unknown;
	r->n.changed += b->result.changed;
	r->n.unlisted += b->result.unlisted;
	r->n.guessed += b->result.guessed;
	r->n.syscalls += b->result.syscalls;
	r->n.pages += b->result.pages;
	for (uint32_t i = 0; emu_touched(r->emu, i, &t); i++)
		r->n.given += t.given;
	if (b->result.end < EMU_ENDS)
		r->n.end[b->result.end]++;
}

static void of_process(struct emulate *r, uint32_t pid)
{
	if (emulate_env_process(&r->sees, pid))
		return;
	forget_run(r);
	emu_pages_forget(r->likely);
}

/* What nobody can write needs no second look. */
static int revisit(struct emulate *r, uint32_t pid)
{
	uint32_t n;
	const struct fmt_burst_item *read = emulate_data_reads(r->flow, &n);
	uint64_t now = clock_now();
	int err = 0;

	for (uint32_t i = 0; i < n && i < REVISITED && !err; i++)
		if (!r->env.fixed(r->env.ctx, read[i].addr, read[i].size))
			err = revisits_add(r->revisits, pid, read[i].site, read[i].addr, read[i].size, now);
	return err;
}

/* The pages that a burst will touch must be as old as its registers: what compares the two goes wrong otherwise, and
 * most of a compressor's turns do. So they are asked for before the sample is there. Of several processes, of the one
 * that was met now: as often as it runs. */
static void ask_for_pages(struct emulate *r, uint32_t pid, uint64_t now)
{
	uint64_t addr[SAMPLER_PAGES], slot[SAMPLER_SLOTS];
	uint32_t count, slots;

	of_process(r, pid);
	count = emu_pages_likely(r->likely, pages_choice_next(&r->pages), addr, SAMPLER_PAGES);
	slots = emu_pages_slots(r->likely, slot, SAMPLER_SLOTS);
	r->asked = sampler_want_pages(session_sampler(r->s), pid, addr, count, slot, slots);
	r->asked_at = now;
}

static void begin_data(struct emulate *r, const struct sample *m, bool segment)
{
	emulate_data_begin(r->flow, &(struct fmt_burst_data){ .time = m->time, .pid = m->pid, .tid = m->tid },
			   located_code_stack_end(session_code(r->s), m), segment);
}

struct emulate_data *emulate_segment(struct emulate *r, const struct sample *m)
{
	if (!r || r->sees.denied)
		return NULL;
	of_process(r, m->pid);
	begin_data(r, m, true);
	return r->flow;
}

/* aged: what the thread was about to do it has done, and memory shows it. */
static int burst(struct emulate *r, const struct sample *m, bool aged)
{
	struct emu_start from = { .regs = m->regs,
				  .stack = m->valid & SV_STACK ? m->stack : NULL,
				  .stack_bytes = m->valid & SV_STACK ? sample_stack_known(m, m->regs[WREG_SP]) : 0,
				  .page = m->page,
				  .pages = m->pages,
				  .aged = aged,
				  .insns = BURST,
				  .guesses = GUESSES,
				  .access = emulate_data_access,
				  .access_ctx = r->flow,
				  .branches = true };
	struct plan_burst b = { .time = m->time, .ip = m->ip, .pid = m->pid, .tid = m->tid, .count = r->count };
	uint64_t began = clock_cpu(), took;
	int err = 0;

	of_process(r, m->pid);
	begin_data(r, m, false);
	if (emu_run(r->emu, &from, &b.result)) {
		r->n.failed++;
	} else {
		b.ended = clock_now();
		b.own_ns = clock_cpu() - began;
		b.counts = emu_counts(r->emu, r->count, COUNTS_ROOM);
		b.counts = b.counts < COUNTS_ROOM ? b.counts : COUNTS_ROOM;
		b.call = emu_calls(r->emu, &b.calls);
		b.cut = emu_cuts(r->emu, &b.cuts);
		emu_pages_run(r->likely, r->emu, m->page, m->pages);
		tally_burst(r, &b);
		/* one that never could read anything says nothing */
		if (!r->sees.denied)
			err = plan_replayed(r->plan, &b, place_of_return, r);
		if (!r->sees.denied && !err)
			err = emulate_data_end(r->flow, r->emu, r->count, b.counts, b.result.insns);
		if (!r->sees.denied && !err)
			err = emulate_branches_add(r->branches, r->emu, m->pid);
		if (!r->sees.denied && !err)
			err = revisit(r, m->pid);
	}
	took = clock_cpu() - began;
	r->n.own_ns += took;
	emulate_when_own(&r->when, (double)took);
	pages_choice_learn(&r->pages, (double)b.result.insns,
			   emulate_when_paid(&r->when, (double)took, session_coupled(r->s, m->pages_ns)));
	return err;
}

/* Nobody of that process runs any more, or its sample was lost. */
static bool waited(const struct emulate *r, uint64_t now)
{
	return now - r->asked_at > WAIT_NS;
}

int emulate_fresh(struct emulate *r, const struct sample *m)
{
	uint64_t now;

	if (!r || r->sees.denied || m->kind != SAMPLE_TICK)
		return 0;
	now = clock_now();
	r->when.samples++;
	r->when.period_ns = m->period ? (double)m->period : r->when.period_ns;
	if (m->valid & SV_PAGES) {
		r->asked = false;
		r->n.target_ns += m->pages_ns;
		ledger_spend(session_ledger(r->s), ACCOUNT_BURSTS, session_coupled(r->s, m->pages_ns));
		emulate_when_target(&r->when, session_coupled(r->s, m->pages_ns));
		emulate_when_draw(&r->when);
		r->n.aged += now - m->time > FRESH_NS;
		return burst(r, m, now - m->time > FRESH_NS);
	}
	if (r->asked && !waited(r, now))
		return 0;
	if (r->asked)
		sampler_want_none(session_sampler(r->s));
	else if (!emulate_when_sample(&r->when))
		return 0;
	ask_for_pages(r, m->pid, now);
	return 0;
}

int emulate_event(struct emulate *r, const struct sample *m)
{
	if (!r || (m->kind != SAMPLE_MMAP && m->kind != SAMPLE_EXIT && !(m->flags & SF_EXEC)))
		return 0;
	r->sees.stale |= m->pid == r->sees.pid;
	return revisits_forget(r->revisits, m->pid);
}

int emulate_poll(struct emulate *r, uint64_t now)
{
	if (!r || r->sees.denied)
		return 0;
	/* where each look costs the target something, bursts take what others look for */
	if (!session_waits_for_itself(r->s))
		session_want_sample(r->s, now + emulate_when_wait(&r->when));
	return revisits_poll(r->revisits, now);
}

void emulate_lend(struct emulate *r, double part)
{
	if (r)
		r->lent = part;
}

void emulate_second(struct emulate *r, uint64_t now)
{
	if (!r)
		return;
	r->when.part = (r->part + r->lent) * session_own_share(r->s);
	/* windows may have become possible */
	r->when.target_part = ledger_rate(session_ledger(r->s), ACCOUNT_BURSTS);
	emulate_when_second(&r->when, now);
}

int emulate_write(struct emulate *r)
{
	int err = r ? emulate_data_write(r->flow) : 0;

	err = err || !r ? err : emulate_branches_write(r->branches);
	return err;
}

int emulate_end(struct emulate *r)
{
	int err = r ? revisits_end(r->revisits) : 0;

	return err ? err : emulate_write(r);
}

void emulate_report(struct emulate *r)
{
	char name[96];

	if (!r)
		return;
	session_count_anew(r->s, "bursts", r->n.bursts, false);
	session_count_anew(r->s, "burst instructions", r->n.instructions, false);
	session_count_anew(r->s, "bursts: own CPU time, us", r->n.own_ns / 1000, false);
	session_count_anew(r->s, "bursts: calls left early", r->n.skipped, false);
	session_count_anew(r->s, "bursts cut at memory that changed meanwhile", r->n.changed, false);
	session_count_anew(r->s, "bursts: words read late, too many to be looked at again", r->n.unlisted, false);
	session_count_anew(r->s, "bursts: branches guessed", r->n.guessed, false);
	session_count_anew(r->s, "bursts: instructions without a rule", r->n.unknown, false);
	session_count_anew(r->s, "bursts: system calls", r->n.syscalls, false);
	session_count_anew(r->s, "bursts: branches not counted, as too many others are",
			   emulate_branches_lost(r->branches), true);
	session_count_anew(r->s, "bursts: pages touched", r->n.pages, false);
	session_count_anew(r->s, "bursts: pages as old as the sample", r->n.given, false);
	session_count_anew(r->s, "bursts: target's time taken, us", r->n.target_ns / 1000, false);
	for (unsigned i = 0; i < EMU_ENTRY; i++) {
		snprintf(name, sizeof(name), "bursts that ended: %s", emu_end_str((enum emu_end)i));
		session_count_anew(r->s, name, r->n.end[i], false);
	}
	session_count_anew(r->s, "bursts from old samples, on the memory that came with them", r->n.aged, false);
	session_count_anew(r->s, "bursts: reads not looked at again, as too many wait", revisits_dropped(r->revisits),
			   true);
	session_count_anew(r->s, "bursts that failed for want of memory", r->n.failed, true);
	session_count_anew(r->s, "bursts given up: the target's memory may not be read", r->sees.denied, false);
}

struct emulate *emulate_new(struct session *s, struct plan *plan, double part)
{
	struct emulate *r = calloc(1, sizeof(*r));
	struct emulate_data_env tells = {
		.place = instruction, .field = field_of_code, .mark = mark_of_access, .ctx = r
	};
	struct emulate_branches_env where = { .place = place_of_branch, .ctx = r };

	if (!r)
		return NULL;
	*r = (struct emulate){ .s = s, .plan = plan, .sees = { .s = s }, .part = part };
	emulate_when_begin(&r->when, part, ledger_rate(session_ledger(s), ACCOUNT_BURSTS), (double)session_period(s),
			   clock_now());
	r->count = malloc(COUNTS_ROOM * sizeof(*r->count));
	r->env = emulate_env_of(&r->sees);
	value_marks_begin(&r->marks, &r->sees);
	r->emu = emu_new(&r->env);
	r->flow = emulate_data_new(session_store(s), &tells, clock_now());
	r->branches = emulate_branches_new(session_store(s), &where);
	r->likely = emu_pages_new();
	r->revisits = revisits_new(session_store(s), target_memory_read);
	if (!r->count || !r->emu || !r->flow || !r->branches || !r->likely || !r->revisits) {
		emulate_free(r);
		return NULL;
	}
	return r;
}

void emulate_free(struct emulate *r)
{
	if (!r)
		return;
	emu_free(r->emu);
	emulate_data_free(r->flow);
	emulate_branches_free(r->branches);
	revisits_free(r->revisits);
	emu_pages_free(r->likely);
	free(r->count);
	free(r);
}
