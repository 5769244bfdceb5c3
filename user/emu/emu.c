// SPDX-License-Identifier: GPL-2.0-or-later
/* The run: instruction after instruction, calls and returns, what is cut short. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emu_code.h"
#include "emu/emu_memory.h"
#include "emu/emu_ops.h"
#include "emu/emu_pipeline_step.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/random.h"

#define CODE_MAX (1u << 16) /* decoded instructions */
#define FRAMES 512          /* calls that have not returned; of more the older half is forgotten; by hand */
#define PAIRS 4096          /* slots for calls, found by both addresses; a power of two */
#define GUESS_LEAST 16      /* times that a branch was known in other runs: fewer tell little of its ways; by hand */
#define SKIPS_MOST 4096     /* calls left in the midst in one run, which then knows little; by hand */
#define SPINS_MOST 256      /* `pause` without end: it waits for a thread that does not run here */
/* By the ABI of calls. */
#define CALLEE_SAVED (1u << WREG_BX | 1u << WREG_BP | 1u << WREG_R12 | 1u << WREG_R13 | 1u << WREG_R14 | 1u << WREG_R15)
#define SAFES 24           /* places of one run: with SAFE_APART its first 10,000 instructions; by hand */
#define SAFE_APART 400     /* instructions: so many that were right are lost at most, where a run goes back */
#define AHEAD 8            /* instructions: carrying out so many takes as long as a line from memory; a power of two */
#define IO_MOST (1u << 30) /* bytes of one call: a larger size is a register that holds something else; by hand */

/* A call of this run that has not returned. */
struct emu_frame {
	uint64_t ret, sp; /* where `ret` lies */
	uint64_t saved[WREG_IP];
	uint32_t known;
};

/* A place to go back to: what the thread had in memory when it was there is known, but for what was read by the
 * instruction before. */
struct safe {
	uint64_t ip, insns;
	uint64_t ret[FRAMES];
	unsigned frames;
	uint32_t cuts, returned, skipped;
	uint32_t loaded; /* words that were read from late pages before that instruction */
	uint32_t mets, calls;
	size_t entries;
};

/* What ran, in order, by its place in a list: what was counted behind a safe place is taken back by it. */
struct trail {
	uint32_t *place;
	size_t count, cap;
};

/* A repeated string instruction of a run. */
struct again {
	uint64_t times; /* beyond the first */
	size_t at;      /* in what ran, in order */
	struct code *of;
};

struct emu {
	struct emu_env env;
	struct emu_memory *mem;
	struct emu_before *before;
	struct emu_pipeline *pipeline;
	struct emu_state s;
	struct emu_codes *codes;
	struct code *late[AHEAD]; /* those that ran last */
	struct code **met;
	uint32_t mets, met_cap;
	struct emu_frame frame[FRAMES];
	unsigned frames;
	struct emu_call *call;
	struct emu_call *told; /* of these, when the run is over */
	uint32_t calls, call_cap, tolds, told_cap;
	uint32_t pair[PAIRS]; /* index + 1 in call, found by both addresses */
	struct emu_cut *cut;
	uint32_t cuts, cut_cap;
	struct emu_branch *branch;
	uint32_t branches, branch_cap;
	bool keeps_branches, guessed; /* guessed: the way that is gone now */
	uint32_t returned, spins;
	uint32_t guesses;
	uint64_t random;
	bool no_memory;
	struct trail ran, entered; /* instructions, and calls; not of a segment */
	struct again *again;
	uint32_t agains, again_cap;
	uint64_t elements;       /* before the instruction that runs now */
	struct safe safe[SAFES]; /* of this run */
	uint32_t safes;
	bool tells; /* of accesses */
	bool to_entry;
	emu_watcher *watcher;
	void *watcher_ctx;
};

const char *emu_end_str(enum emu_end end)
{
	static const char *const name[EMU_ENDS] = {
		[EMU_DONE] = "done",
		[EMU_BRANCH] = "unknown branch",
		[EMU_TARGET] = "unknown target",
		[EMU_FAULT] = "unmapped memory",
		[EMU_CODE] = "no code",
		[EMU_SYSCALL] = "system call",
		[EMU_STUCK] = "stuck",
		[EMU_ASTRAY] = "went astray",
		[EMU_WAITS] = "waits for another thread",
		[EMU_ENTRY] = "enters the kernel",
	};

	return end < EMU_ENDS ? name[end] : "unknown";
}

struct emu *emu_new(const struct emu_env *env)
{
	struct emu *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->env = *env;
	e->random = 0x9e3779b97f4a7c15ull;
	e->mem = emu_mem_new(env);
	e->before = emu_before_new(env);
	e->pipeline = emu_pipeline_new();
	e->codes = emu_codes_new(env);
	if (!e->codes || !e->mem || !e->before || !e->pipeline) {
		emu_free(e);
		return NULL;
	}
	return e;
}

void emu_forget(struct emu *e)
{
	if (e->codes)
		emu_codes_forget(e->codes);
	e->mets = 0;
	memset(e->late, 0, sizeof(e->late));
	if (e->before)
		emu_before_forget(e->before);
}

void emu_free(struct emu *e)
{
	if (!e)
		return;
	emu_forget(e);
	emu_codes_free(e->codes);
	free(e->met);
	free(e->call);
	free(e->told);
	free(e->cut);
	free(e->branch);
	free(e->again);
	free(e->ran.place);
	free(e->entered.place);
	emu_mem_free(e->mem);
	emu_before_free(e->before);
	emu_pipeline_free(e->pipeline);
	free(e);
}

/* ---- code ---- */

static inline void leave_trail(struct emu *e, struct trail *t, uint32_t place)
{
	if (e->to_entry)
		return;
	if (t->count < t->cap || GROW(t->place, t->count, t->cap, 16384))
		t->place[t->count++] = place;
	else
		e->no_memory = true;
}

static void note_repeats(struct emu *e, struct code *c)
{
	uint64_t times = e->s.elements - e->elements - 1;

	e->elements = e->s.elements;
	/* not its own: one that ended on the way was left early */
	if (!times || !c->repeated)
		return;
	if (!GROW(e->again, e->agains, e->again_cap, 64)) {
		e->no_memory = true;
		return;
	}
	e->again[e->agains++] = (struct again){ times, e->ran.count, c };
	c->rest->repeats += times;
}

/* False: no memory. */
static bool meet_code(struct emu *e, struct code *c)
{
	if (!GROW(e->met, e->mets, e->met_cap, 1024)) {
		e->no_memory = true;
		return false;
	}
	c->met = true;
	c->runs = c->took = 0;
	if (c->repeated)
		c->rest->repeats = 0;
	c->place = e->mets;
	e->met[e->mets++] = c;
	return true;
}

static inline void note_met_code(struct emu *e, struct code *c)
{
	if (!c->met && !meet_code(e, c))
		return;
	c->runs++;
	if (e->s.elements != e->elements)
		note_repeats(e, c);
	leave_trail(e, &e->ran, c->place);
}

/* How long it takes, by what it touched and where it went on. */
static inline __attribute__((always_inline)) void note_took(struct emu *e, struct code *c, uint64_t to,
							    uint64_t elements)
{
	struct emu_step step = { .insn = &c->rest->i,
				 .needs = &c->rest->needs,
				 .ip = c->ip,
				 .to = to,
				 .place = e->mem->place,
				 .places = e->mem->places,
				 .repeats = c->repeated ? elements : 0 };

	c->took += pipeline_step(e->pipeline, &c->listed, &step);
}

/* ---- calls ---- */

static bool sp_known(const struct emu *e)
{
	return e->s.known >> WREG_SP & 1;
}

/* At `target` the stack pointer is where the innermost call put it: so a call, and what it jumps on to, enters it. */
static void note_entry(struct emu *e, uint64_t target)
{
	const struct emu_frame *f = e->frames ? &e->frame[e->frames - 1] : NULL;
	uint32_t at;

	if (!f || !sp_known(e) || e->s.r[WREG_SP] != f->sp)
		return;
	at = (uint32_t)((f->ret * 0x9e3779b97f4a7c15ull ^ target * 0xff51afd7ed558ccdull) >> 40) & (PAIRS - 1);
	for (;; at = (at + 1) & (PAIRS - 1)) {
		struct emu_call *k = e->pair[at] ? &e->call[e->pair[at] - 1] : NULL;

		if (!k)
			break;
		if (k->site == f->ret && k->target == target) {
			k->runs++;
			leave_trail(e, &e->entered, e->pair[at] - 1);
			return;
		}
	}
	if (e->calls >= PAIRS / 2)
		return;
	if (!GROW(e->call, e->calls, e->call_cap, 64)) {
		e->no_memory = true;
		return;
	}
	e->call[e->calls++] = (struct emu_call){ f->ret, target, 1 };
	e->pair[at] = e->calls;
	leave_trail(e, &e->entered, e->calls - 1);
}

static void push_frame(struct emu *e, uint64_t ret)
{
	struct emu_frame *f;

	if (!sp_known(e))
		return;
	if (e->frames == FRAMES) {
		memmove(e->frame, e->frame + FRAMES / 2, FRAMES / 2 * sizeof(e->frame[0]));
		e->frames = FRAMES / 2;
	}
	f = &e->frame[e->frames++];
	f->ret = ret;
	f->sp = e->s.r[WREG_SP];
	memcpy(f->saved, e->s.r, sizeof(f->saved));
	f->known = e->s.known;
}

/* Frames below the stack pointer have been left. */
static void leave_frames(struct emu *e)
{
	while (e->frames && e->frame[e->frames - 1].sp < e->s.r[WREG_SP])
		e->frames--;
}

/* ---- what is cut ---- */

static void add_cut(struct emu *e, uint64_t ip, uint64_t site)
{
	for (uint32_t i = 0; i < e->cuts; i++) {
		if (e->cut[i].ip == ip && e->cut[i].site == site) {
			e->cut[i].times++;
			return;
		}
	}
	if (!GROW(e->cut, e->cuts, e->cut_cap, 32)) {
		e->no_memory = true;
		return;
	}
	e->cut[e->cuts++] = (struct emu_cut){ ip, site, 1 };
}

/* ---- branches ---- */

static void note_branch(struct emu *e, uint64_t from, uint64_t to, uint64_t at)
{
	if (!e->keeps_branches || e->branches == EMU_BRANCHES)
		return;
	if (GROW(e->branch, e->branches, e->branch_cap, 1024))
		e->branch[e->branches++] = (struct emu_branch){ from, to, at };
	else
		e->no_memory = true;
}

static void forget_branches(struct emu *e, uint64_t insns)
{
	while (e->branches && e->branch[e->branches - 1].at >= insns)
		e->branches--;
}

/* Memory is not as old as the registers from now on: what follows may go wrong. */
static void pass_safe(struct emu *e, const struct emu_result *out, uint32_t loaded)
{
	struct safe *s = &e->safe[e->safes];

	e->safes++;
	s->ip = e->s.r[WREG_IP];
	s->insns = out->insns;
	s->skipped = out->skipped;
	s->cuts = e->cuts;
	s->returned = e->returned;
	s->frames = e->frames;
	s->loaded = loaded;
	s->mets = e->mets;
	s->calls = e->calls;
	s->entries = e->entered.count;
	for (unsigned i = 0; i < e->frames; i++)
		s->ret[i] = e->frame[i].ret;
}

static void back_to_safe(struct emu *e, const struct safe *s, struct emu_result *out)
{
	for (uint32_t i = 0; i < e->mets; i++)
		e->met[i]->rest->had = e->met[i]->runs;
	for (; e->agains && e->again[e->agains - 1].at >= s->insns; e->agains--)
		e->again[e->agains - 1].of->rest->repeats -= e->again[e->agains - 1].times;
	while (e->ran.count > s->insns)
		e->met[e->ran.place[--e->ran.count]]->runs--;
	while (e->entered.count > s->entries)
		e->call[e->entered.place[--e->entered.count]].runs--;
	for (uint32_t i = 0; i < s->mets; i++)
		e->met[i]->took = e->met[i]->took * e->met[i]->runs / e->met[i]->rest->had;
	for (uint32_t i = s->mets; i < e->mets; i++)
		e->met[i]->met = false;
	e->mets = s->mets;
	e->s.r[WREG_IP] = s->ip;
	forget_branches(e, s->insns);
	e->cuts = s->cuts;
	e->returned = s->returned;
	e->frames = s->frames;
	for (unsigned i = 0; i < e->frames; i++)
		e->frame[i].ret = s->ret[i];
	out->insns = s->insns;
	out->skipped = s->skipped;
	out->end = EMU_ASTRAY;
}

/* A late word that was read has changed since: it may have before, too, and what follows is not what the thread did. */
static void doubt_changed(struct emu *e, struct emu_result *out)
{
	uint32_t first = e->safes ? emu_mem_changed(e->mem) : UINT32_MAX, k = e->safes;

	if (first == UINT32_MAX)
		return;
	if (out->end == EMU_ENTRY) {
		out->changed = true;
		return;
	}
	while (k && e->safe[k - 1].loaded > first)
		k--;
	if (!k || e->safe[k - 1].insns >= out->insns)
		return;
	back_to_safe(e, &e->safe[k - 1], out);
	out->changed = true;
}

static void tell_calls(struct emu *e)
{
	e->tolds = 0;
	for (uint32_t i = 0; i < e->calls; i++) {
		if (!e->call[i].runs)
			continue;
		if (!GROW(e->told, e->tolds, e->told_cap, 64)) {
			e->no_memory = true;
			return;
		}
		e->told[e->tolds++] = e->call[i];
	}
}

/* Out of the innermost call, with nothing known of what it left. */
static bool skip(struct emu *e, struct emu_result *out)
{
	struct emu_state *s = &e->s;
	const struct emu_frame *f;

	if (!e->frames || out->skipped == SKIPS_MOST)
		return false;
	f = &e->frame[--e->frames];
	add_cut(e, s->r[WREG_IP], 0);
	for (unsigned r = 0; r < WREG_IP; r++)
		if (CALLEE_SAVED >> r & 1)
			s->r[r] = f->saved[r];
	s->known = (f->known & CALLEE_SAVED) | 1u << WREG_SP | (s->known & 1u << WREG_FSBASE);
	s->r[WREG_SP] = f->sp + 8;
	s->r[WREG_IP] = f->ret;
	s->lazy = EMU_LAZY_NONE;
	s->flags_known = EMU_DF;
	s->flags &= (uint8_t)~EMU_DF;
	s->k_known = 0;
	for (unsigned v = 0; v < 32; v++)
		s->v[v].known = 0;
	note_branch(e, 0, f->ret, out->insns);
	out->skipped++;
	return true;
}

/* ---- control ---- */

/* Ends itself, or complains before it does: exit, kill, tkill, exit_group, tgkill; writev to the error output. */
static bool gives_up(const struct emu_state *s)
{
	uint64_t nr = s->r[WREG_AX];

	return s->known >> WREG_AX & 1 &&
	       (nr == 60 || nr == 62 || nr == 200 || nr == 231 || nr == 234 || (nr == 20 && s->r[WREG_DI] == 2));
}

/* Nobody writes what it waits for: it would look again and again. */
static bool waits(struct emu *e)
{
	const struct emu_state *s = &e->s;
	uint64_t op = s->r[WREG_SI] & 0x7f, known = 0;
	uint32_t value = 0;

	/* futex, to wait, by a set of bits as well */
	if (!(s->known >> WREG_AX & 1) || s->r[WREG_AX] != 202 || !(s->known >> WREG_SI & 1) || (op != 0 && op != 9))
		return false;
	return !(s->known >> WREG_DI & 1) || !(s->known >> WREG_DX & 1) ||
	       !emu_mem_read(e->mem, s->r[WREG_DI], &value, sizeof(value), &known) || known != 0xf ||
	       value == (uint32_t)s->r[WREG_DX];
}

/* What most calls say that go well. */
static bool succeed_system_call(struct emu *e)
{
	struct emu_state *s = &e->s;
	struct emu_value result = { 0 };

	if (!(s->known >> WREG_AX & 1))
		return false;
	switch (s->r[WREG_AX]) {
	case 0:
	case 17:
	case 45: /* read, pread64, recvfrom */
	case 1:
	case 18:
	case 44: /* write, pwrite64, sendto */
		result = (struct emu_value){ s->r[WREG_DX], s->known >> WREG_DX & 1 && s->r[WREG_DX] <= IO_MOST };
		break;
	/* close, mprotect, munmap, sched_yield, madvise, nanosleep, futex, clock_nanosleep */
	case 3:
	case 10:
	case 11:
	case 24:
	case 28:
	case 35:
	case 202:
	case 230: result.known = true; break;
	case 9:
	case 12:
	case 15:
	case 25:
	case 56:
	case 57:
	case 58:
	case 59:
	case 435: /* new memory, other places */ return false;
	case 158: /* arch_prctl */ s->known &= ~(1u << WREG_FSBASE); break;
	default: break;
	}
	emu_set(s, WREG_AX, 8, result);
	s->known &= ~(1u << WREG_CX | 1u << WREG_R11);
	return true;
}

static int jump_target(struct emu *e, const struct code *c, uint64_t next, uint64_t *to)
{
	const struct emu_insn *i = &c->rest->i;
	struct emu_value v = { next + (uint64_t)i->target, true };

	if (i->ops && i->o[0].kind != EMU_K_IMM) {
		if (emu_load(&e->s, e->mem, i, &i->o[0], &v))
			return EMU_FAULT;
	}
	*to = v.v;
	return v.known ? -1 : EMU_TARGET;
}

static int enter_call(struct emu *e, const struct code *c, uint64_t next, uint64_t *to)
{
	int end = jump_target(e, c, next, to);

	if (end >= 0)
		return end;
	if (emu_push(&e->s, e->mem, (struct emu_value){ next, true }, 8))
		return EMU_FAULT;
	push_frame(e, next);
	note_entry(e, *to);
	return -1;
}

static int go_back(struct emu *e, const struct code *c, uint64_t *to)
{
	struct emu_value v;
	bool inner = e->frames;

	if (emu_pop(&e->s, e->mem, &v, 8))
		return EMU_FAULT;
	if (!v.known)
		return EMU_TARGET;
	if (c->rest->i.ops && c->rest->i.o[0].kind == EMU_K_IMM)
		e->s.r[WREG_SP] += (uint16_t)c->rest->i.o[0].value;
	leave_frames(e);
	e->returned += !inner;
	*to = v.v;
	return -1;
}

/* As often as in other runs: -1, if too few of them knew it. */
static int guess(struct emu *e, const struct code *c, struct emu_result *out)
{
	uint64_t all = (uint64_t)c->went[0] + c->went[1];

	if (!e->guesses || all < GUESS_LEAST)
		return -1;
	e->guesses--;
	e->guessed = true;
	out->guessed++;
	return (random_next(&e->random) >> 11) % all < c->went[1];
}

/* -1: goes on at *to; otherwise how it ends. */
static int step_by_rule(struct emu *e, struct code *c, struct emu_result *out, uint64_t *to)
{
	struct emu_state *s = &e->s;
	uint64_t next = c->ip + c->rest->i.len;
	enum emu_outcome rc;
	int cond;

	emu_settle_flags(s);
	if (e->tells)
		emu_mem_by(e->mem, c->ip, (uint32_t)out->insns, sp_known(e) ? s->r[WREG_SP] : 0);
	*to = next;
	switch (c->rest->i.op) {
	case EMU_OP_JCC:
		cond = emu_condition(s, c->rest->i.cond);
		if (cond >= 0)
			c->went[cond]++;
		else
			cond = guess(e, c, out);
		*to = cond > 0 ? next + (uint64_t)c->rest->i.target : next;
		return cond < 0 ? EMU_BRANCH : -1;
	case EMU_OP_JRCXZ:
		if (!(s->known >> WREG_CX & 1))
			return EMU_BRANCH;
		*to = c->rest->i.width == 4 ? (uint32_t)s->r[WREG_CX] : s->r[WREG_CX];
		*to = *to ? next : next + (uint64_t)c->rest->i.target;
		return -1;
	case EMU_OP_JMP:
		cond = jump_target(e, c, next, to);
		if (cond < 0)
			note_entry(e, *to);
		return cond;
	case EMU_OP_CALL: return enter_call(e, c, next, to);
	case EMU_OP_RET: return go_back(e, c, to);
	case EMU_OP_SYSCALL:
		out->syscalls++;
		if (e->to_entry)
			return EMU_ENTRY;
		if (gives_up(s))
			return EMU_ASTRAY;
		if (waits(e))
			return EMU_WAITS;
		return succeed_system_call(e) ? -1 : EMU_SYSCALL;
	case EMU_OP_PAUSE: return ++e->spins > SPINS_MOST ? EMU_STUCK : -1;
	case EMU_OP_TRAP: return EMU_ASTRAY;
	case EMU_OP_UNKNOWN: rc = EMU_O_NO_RULE; break;
	case EMU_OP_VECTOR: rc = emu_vector(s, e->mem, &c->rest->i); break;
	default: rc = emu_integer(s, e->mem, &c->rest->i); break;
	}
	if (rc == EMU_O_NO_RULE) {
		out->unknown++;
		rc = emu_forget_written(s, e->mem, &c->rest->i);
	}
	return rc == EMU_OK ? -1 : rc == EMU_O_TRAP ? EMU_ASTRAY : EMU_FAULT;
}

static inline struct code *code_after(struct emu *e, struct code *c, uint64_t to)
{
	struct code **known;

	if (!c)
		return emu_codes_at(e->codes, to);
	known = to == c->ip + c->quick.len ? &c->next : &c->taken;
	if (!*known || (*known)->ip != to)
		*known = emu_codes_at(e->codes, to);
	return *known;
}

/* A burst begins with cold caches: the program ran since the last one. */
static inline void fetch_ahead(struct emu *e, struct code *c, uint64_t insns)
{
	struct code **late = &e->late[insns & (AHEAD - 1)];

	if (*late)
		(*late)->ahead = c;
	*late = c;
	if (!c->ahead)
		return;
	__builtin_prefetch(c->ahead, 1);
	__builtin_prefetch((const char *)c->ahead + sizeof(*c) / 2, 1);
}

static void set_start(struct emu *e, const struct emu_start *start)
{
	struct emu_state *s = &e->s;
	uint64_t f = start->regs[WREG_FLAGS];

	if (emu_codes_count(e->codes) > CODE_MAX)
		emu_forget(e);
	for (uint32_t i = 0; i < e->mets; i++)
		e->met[i]->met = false;
	e->mets = e->calls = e->cuts = e->frames = e->returned = e->spins = e->branches = 0;
	e->keeps_branches = start->branches;
	e->guessed = false;
	e->safes = 0;
	e->ran.count = e->entered.count = 0;
	e->agains = 0;
	e->elements = 0;
	e->no_memory = false;
	e->guesses = start->guesses;
	memset(e->pair, 0, sizeof(e->pair));
	memset(e->late, 0, sizeof(e->late));
	memset(s, 0, sizeof(*s));
	memcpy(s->r, start->regs, sizeof(s->r));
	s->known = (1u << WREG_MAX) - 1;
	s->flags =
		(uint8_t)((f & 1 ? EMU_CF : 0) | (f & 4 ? EMU_PF : 0) | (f & 16 ? EMU_AF : 0) | (f & 64 ? EMU_ZF : 0) |
			  (f & 128 ? EMU_SF : 0) | (f & 1024 ? EMU_DF : 0) | (f & 2048 ? EMU_OF : 0));
	s->flags_known = EMU_ARITH | EMU_DF;
	e->tells = start->access;
	e->to_entry = start->to_entry;
	emu_mem_begin(e->mem, start);
	emu_pipeline_begin(e->pipeline);
	emu_before(e->before, e->mem, s);
	emu_mem_tell(e->mem, start->access, start->access_ctx); /* what was looked up so far is no access */
}

/* Of a segment all is wanted or nothing; its last instruction is carried out, but for what the kernel does. */
static void end_segment(struct emu *e, struct code *c, int end, uint64_t to, struct emu_result *out)
{
	out->end = (enum emu_end)end;
	if (end != EMU_ENTRY)
		return;
	note_met_code(e, c);
	out->insns++;
	e->s.r[WREG_IP] = to;
}

/* Out of a function that reads the clock: what it does depends on the time, what the rest does hardly. */
static bool leave_clock(struct emu *e, int end, struct emu_result *out)
{
	return (end == EMU_BRANCH || end == EMU_TARGET || end == EMU_ENTRY) && e->env.clock &&
	       e->env.clock(e->env.ctx, e->s.r[WREG_IP]) && skip(e, out);
}

static void tell_watcher(struct emu *e, bool skipped)
{
	emu_settle_flags(&e->s);
	e->watcher(e->watcher_ctx, &e->s, skipped);
}

/* Something was read late. */
static void note_loaded(struct emu *e, const struct emu_result *out, uint32_t *loaded)
{
	if (e->safes < SAFES && (!e->safes || out->insns - e->safe[e->safes - 1].insns >= SAFE_APART))
		pass_safe(e, out, *loaded);
	*loaded = e->mem->loads;
}

static void note_quick_branch(struct emu *e, struct code *c, int jumps, uint64_t to, uint64_t insns)
{
	c->went[jumps]++;
	if (c->leaves)
		note_entry(e, to);
	if (to != c->ip + c->quick.len || c->leaves)
		note_branch(e, c->ip, to, insns);
}

/* As far as instructions are common ones, whose cases are: nearly all. The next one, which is not. */
static struct code *run_quick(struct emu *e, struct code *c, uint64_t most, struct emu_result *out, uint32_t *loaded)
{
	struct emu_state *s = &e->s;
	struct emu_memory *m = e->mem;
	uint64_t to;
	int jumps;

	while (out->insns < most && c) {
		fetch_ahead(e, c, out->insns);
		s->r[WREG_IP] = c->ip;
		m->places = 0;
		if (c->quick.memory) {
			m->now.ip = c->ip;
			m->now.at = (uint32_t)out->insns;
			m->now.sp = sp_known(e) ? s->r[WREG_SP] : 0;
		}
		jumps = c->quick.run(s, m, &c->quick);
		if (jumps < 0)
			break;
		if (!c->met && !meet_code(e, c))
			break;
		c->runs++;
		leave_trail(e, &e->ran, c->place);
		to = c->ip + c->quick.len;
		if (c->quick.branch) {
			to += jumps ? (uint64_t)c->quick.displacement : 0;
			note_quick_branch(e, c, jumps, to, out->insns);
		}
		note_took(e, c, to, 0);
		out->insns++;
		c = !jumps && c->next ? c->next : jumps && c->taken ? c->taken : code_after(e, c, to);
		s->r[WREG_IP] = to;
		if (e->watcher)
			tell_watcher(e, false);
		if (m->loads != *loaded)
			note_loaded(e, out, loaded);
	}
	return c;
}

int emu_run(struct emu *e, const struct emu_start *start, struct emu_result *out)
{
	uint64_t elements = 0;
	uint32_t loaded = 0;
	struct code *c;

	*out = (struct emu_result){ .end = EMU_DONE };
	set_start(e, start);
	c = code_after(e, NULL, start->regs[WREG_IP]);
	while (out->insns < start->insns && !e->no_memory) {
		uint64_t to;
		int end = EMU_CODE;

		/* with the first instruction behind a repeated one its elements are noted */
		if (e->s.elements == e->elements) {
			c = run_quick(e, c, start->insns, out, &loaded);
			if (out->insns == start->insns || e->no_memory)
				break;
		}
		to = e->s.r[WREG_IP];
		if (c) {
			fetch_ahead(e, c, out->insns);
			e->s.r[WREG_IP] = c->ip;
			elements = e->s.elements;
			e->mem->places = 0;
			end = step_by_rule(e, c, out, &to);
		}
		if (end < 0) {
			note_met_code(e, c);
			note_took(e, c, to, e->s.elements - elements);
			if (e->guessed || to != c->ip + c->quick.len || c->leaves)
				note_branch(e, e->guessed ? 0 : c->ip, to, out->insns);
			e->guessed = false;
			out->insns++;
			c = code_after(e, c, to);
			e->s.r[WREG_IP] = to;
			if (e->watcher)
				tell_watcher(e, false);
			if (e->mem->loads != loaded)
				note_loaded(e, out, &loaded);
			continue;
		}
		if (e->to_entry && leave_clock(e, end, out)) {
			c = code_after(e, NULL, e->s.r[WREG_IP]);
			continue;
		}
		if (e->to_entry) {
			end_segment(e, c, end, to, out);
			break;
		}
		/* nothing went wrong: it goes no further */
		if (end == EMU_WAITS || (end == EMU_FAULT && emu_mem_full(e->mem))) {
			out->end = (enum emu_end)end;
			break;
		}
		if ((end == EMU_FAULT || end == EMU_ASTRAY) && e->safes) {
			back_to_safe(e, &e->safe[0], out);
			break;
		}
		/* it does end itself, then */
		if (end == EMU_ASTRAY || !skip(e, out)) {
			out->end = end == EMU_ASTRAY ? EMU_STUCK : (enum emu_end)end;
			break;
		}
		c = code_after(e, NULL, e->s.r[WREG_IP]);
		if (e->watcher)
			tell_watcher(e, true);
	}
	emu_settle_flags(&e->s);
	doubt_changed(e, out);
	out->end_ip = e->s.r[WREG_IP];
	out->pages = emu_mem_pages(e->mem);
	out->unlisted = emu_mem_unlisted(e->mem);
	if (out->end != EMU_DONE) {
		add_cut(e, out->end_ip, 0);
		for (unsigned i = 0; i < e->frames; i++)
			add_cut(e, 0, e->frame[i].ret);
	}
	tell_calls(e);
	return e->no_memory ? -ENOMEM : 0;
}

static void tell_repeats(const struct code *c, struct emu_count *to)
{
	enum emu_op op = c->rest->i.op;

	to->repeats = c->rest->repeats;
	to->loads = (op == EMU_OP_MOVS || op == EMU_OP_SCAS) + 2 * (op == EMU_OP_CMPS);
	to->stores = op == EMU_OP_MOVS || op == EMU_OP_STOS;
	to->bytes = c->rest->i.width;
}

size_t emu_counts(const struct emu *e, struct emu_count *buf, size_t max)
{
	size_t n = 0;

	for (; n < e->mets && n < max; n++) {
		const struct code *c = e->met[n];

		buf[n] = (struct emu_count){ .ip = c->ip, .runs = c->runs, .took = c->took, .moves = c->moves };
		if (c->repeated && c->rest->repeats)
			tell_repeats(c, &buf[n]);
	}
	return e->mets;
}

uint64_t emu_runs_of(const struct emu *e, uint64_t ip)
{
	const struct code *c = emu_codes_known(e->codes, ip);

	return c && c->met ? c->runs : 0;
}

bool emu_register(const struct emu *e, unsigned reg, uint64_t *value)
{
	if (reg >= WREG_FLAGS || !(e->s.known >> reg & 1))
		return false;
	*value = e->s.r[reg];
	return true;
}

const struct emu_call *emu_calls(const struct emu *e, size_t *count)
{
	*count = e->tolds;
	return e->told;
}

const struct emu_branch *emu_branches(const struct emu *e, size_t *count)
{
	*count = e->branches;
	return e->branch;
}

const struct emu_cut *emu_cuts(const struct emu *e, size_t *count)
{
	*count = e->cuts;
	return e->cut;
}

bool emu_touched(const struct emu *e, uint32_t i, struct emu_touched *out)
{
	return emu_mem_touched(e->mem, i, out);
}

void emu_written(const struct emu *e, emu_access_fn *tell, void *ctx)
{
	emu_mem_written(e->mem, tell, ctx);
}

const struct emu_state *emu_state(const struct emu *e)
{
	return &e->s;
}

struct emu_memory *emu_memory_of(const struct emu *e)
{
	return e->mem;
}

void emu_watch(struct emu *e, emu_watcher *watcher, void *ctx)
{
	e->watcher = watcher;
	e->watcher_ctx = ctx;
}

void emu_by_rules(struct emu *e)
{
	emu_forget(e);
	emu_codes_by_rules(e->codes);
}
