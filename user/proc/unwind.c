// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/unwind.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "proc/ehframe.h"

#define ROWS 2048                  /* cached rules, a power of two */
#define NEAR_STACK (64ull << 20)   /* an address this far above the snapshot is still the same stack */
#define MAX_CFAS 64                /* frames whose place on the stack is kept */
#define ENTRY_BYTES 64             /* _start is shorter than this */
#define BARE_FRAME 2048            /* bytes of stack of a function without rules, at most; by hand */
#define LONGEST_BARE (64ull << 10) /* bytes of code of such a function; by hand */
#define SURE_FRAMES 3              /* that follow from a caller by rules, before it is believed; by hand */

/* One architecture: DWARF numbers of the registers that unwinding turns on. */
struct arch {
	uint16_t machine;
	unsigned regs, sp, fp, pc;
	uint64_t caller_saved; /* unknown in the caller */
	/* code of a signal trampoline and where it finds the interrupted registers, from sp */
	uint8_t sigreturn[16];
	unsigned sigreturn_len;
	unsigned context_offset;
	uint8_t context[CFI_REGS]; /* slot of each register in the sigcontext */
};

static const struct arch arch_x86_64 = {
	.machine = EM_X86_64,
	.regs = 17,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	/* rax rdx rcx rsi rdi r8..r11 */
	.caller_saved = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 | 0xfu << 8,
	.sigreturn = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }, /* mov $15,%rax; syscall */
	.sigreturn_len = 9,
	.context_offset = 40, /* ucontext.uc_mcontext */
	.context = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 },
};

struct cached_row {
	uint64_t vaddr;
	uint32_t module;
	bool known, has_row;
	struct cfi_row row;
};

struct unwinder {
	struct procmaps *maps;
	const struct arch *arch;
	struct unwind_counters counters[UNWIND_OF];
	enum unwind_of of;
	uint64_t stack_end;
	struct place leaf;      /* of the last walk */
	uint64_t cfa[MAX_CFAS]; /* of the last walk, leaf first; 0 unknown */
	unsigned cfas;
	struct cached_row *rows;
};

/* One walk. */
struct unwind_walk {
	struct unwinder *u;
	uint32_t pid;
	uint64_t regs[CFI_REGS];
	uint64_t known;
	struct stack_copy stack;
	uint64_t stack_start, stack_end;
	uint64_t missing; /* the address that a failed read wanted */
	struct place place;
	const struct cfi_row *row; /* at place, NULL none */
	const struct ehframe *frame;
	bool exact;        /* pc is that of the next instruction, not behind a call */
	bool after_signal; /* sp may have moved to another stack */
	bool by_fp;        /* this frame's registers came from a frame pointer */
};

enum unwind_step { STEP_CALLER, STEP_COMPLETE, STEP_FAILED };

const char *unwind_cause_str(enum unwind_cause c)
{
	switch (c) {
	case UNWIND_CUT_SNAPSHOT: return "stack deeper than the snapshot";
	case UNWIND_ABSENT: return "a page of the stack was not present";
	case UNWIND_CUT_DEPTH: return "more frames than kept";
	case UNWIND_OTHER_STACK: return "caller on another stack";
	case UNWIND_UNMAPPED: return "return address outside all mappings";
	case UNWIND_NO_RULE: return "no unwind rule and no frame pointer";
	case UNWIND_BAD_RULE: return "damaged unwind rule";
	case UNWIND_CAUSES: break;
	}
	return "unknown";
}

struct unwinder *unwinder_new(struct procmaps *maps)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->maps = maps;
	u->arch = &arch_x86_64;
	u->rows = calloc(ROWS, sizeof(*u->rows));
	if (!u->rows) {
		free(u);
		return NULL;
	}
	return u;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	free(u->rows);
	free(u);
}

void unwind_forget(struct unwinder *u)
{
	memset(u->rows, 0, ROWS * sizeof(*u->rows));
}

const struct place *unwind_leaf(const struct unwinder *u)
{
	return &u->leaf;
}

void unwind_count_as(struct unwinder *u, enum unwind_of of)
{
	u->of = of;
}

const struct unwind_counters *unwind_counters(const struct unwinder *u, enum unwind_of of)
{
	return &u->counters[of];
}

static struct unwind_counters *counters_of(struct unwinder *u)
{
	return &u->counters[u->of];
}

int unwind_frame_of(const struct unwinder *u, uint64_t addr, int64_t *offset)
{
	/* frames grow upwards from the leaf, unless a signal moved to another stack: stop there */
	for (unsigned i = 0; i < u->cfas && u->cfa[i]; i++) {
		if (i && u->cfa[i] <= u->cfa[i - 1])
			break;
		if (addr >= u->cfa[i])
			continue;
		*offset = (int64_t)(addr - u->cfa[i]);
		return (int)i;
	}
	return -1;
}

uint64_t unwind_stack_end(const struct unwinder *u)
{
	return u->stack_end;
}

static const struct cfi_row *row_at(struct unwinder *u, struct module *m, uint64_t vaddr, const struct ehframe *f)
{
	uint64_t hash = (vaddr ^ (uint64_t)m->id << 40) * 0x9e3779b97f4a7c15ull;
	struct cached_row *c = &u->rows[hash >> 32 & (ROWS - 1)];

	if (!c->known || c->module != m->id || c->vaddr != vaddr) {
		c->module = m->id;
		c->vaddr = vaddr;
		c->known = true;
		c->has_row = ehframe_row(f, vaddr, &c->row);
	}
	return c->has_row ? &c->row : NULL;
}

static bool absent(const struct unwind_walk *w, uint64_t addr)
{
	uint64_t page = addr / SAMPLE_PAGE - w->stack_start / SAMPLE_PAGE;

	return addr >= w->stack_start && page < STACK_PAGES && w->stack.absent >> page & 1;
}

static bool read_stack(void *ctx, uint64_t addr, uint64_t *value)
{
	struct unwind_walk *w = ctx;

	if (addr < w->stack_start || addr > w->stack_end || w->stack_end - addr < 8 || absent(w, addr) ||
	    absent(w, addr + 7)) {
		w->missing = addr;
		return false;
	}
	memcpy(value, w->stack.bytes + (addr - w->stack_start), 8);
	return true;
}

/* Where pc lies, and the rule there. False: in no code at all. */
static bool locate_pc(struct unwind_walk *w)
{
	uint64_t pc = w->regs[w->u->arch->pc];
	struct module *m;

	w->row = NULL;
	w->frame = NULL;
	if (!procmap_lookup(w->u->maps, w->pid, w->exact ? pc : pc - 1, &w->place))
		return false;
	m = w->place.module;
	if (!m || !(w->place.map.prot & MAP_EXEC))
		return false;
	if (m->machine == w->u->arch->machine) {
		w->frame = module_ehframe(m);
		if (w->frame)
			w->row = row_at(w->u, m, w->place.vaddr, w->frame);
	}
	return true;
}

static bool is_code(struct unwind_walk *w, uint64_t addr)
{
	struct place p;

	return procmap_lookup_quiet(w->u->maps, w->pid, addr, &p) && p.map.prot & MAP_EXEC;
}

static void cause(struct unwind_walk *w, enum unwind_cause c, uint32_t *flags)
{
	counters_of(w->u)->cause[c]++;
	*flags = c == UNWIND_CUT_SNAPSHOT || c == UNWIND_ABSENT || c == UNWIND_CUT_DEPTH || c == UNWIND_OTHER_STACK
			 ? FMT_STACK_CUT
			 : FMT_STACK_BROKEN;
}

/* A read failed: did the snapshot end, did the thread change stacks, or was the address nonsense? */
static enum unwind_step missing(struct unwind_walk *w, uint32_t *flags)
{
	if (absent(w, w->missing) || absent(w, w->missing + 7))
		cause(w, UNWIND_ABSENT, flags);
	else if (w->missing >= w->stack_start && w->missing - w->stack_start < NEAR_STACK)
		cause(w, UNWIND_CUT_SNAPSHOT, flags);
	else if (w->after_signal)
		cause(w, UNWIND_OTHER_STACK, flags);
	else
		cause(w, UNWIND_BAD_RULE, flags);
	return STEP_FAILED;
}

/* ---- by call frame information ---- */

static bool apply_rule(struct unwind_walk *w, const struct cfi_machine *m, unsigned reg, uint64_t cfa, uint64_t *value,
		       bool *known)
{
	const struct cfi_rule *r = &w->row->reg[reg];
	uint64_t at;

	*known = true;
	switch (r->how) {
	case CFI_SAME:
		*value = m->regs[reg];
		*known = (m->known >> reg & 1) && (w->row->signal || !(w->u->arch->caller_saved >> reg & 1));
		return true;
	case CFI_UNDEFINED: *known = false; return true;
	case CFI_AT_CFA:
		at = cfa + (uint64_t)(int64_t)r->value;
		if (w->exact && at < m->regs[w->u->arch->sp]) {
			/* popped already, which compilers do not say: the register has its value back */
			*value = m->regs[reg];
			*known = m->known >> reg & 1;
			return true;
		}
		return read_stack(w, at, value);
	case CFI_CFA_PLUS: *value = cfa + (uint64_t)(int64_t)r->value; return true;
	case CFI_REGISTER:
		if (r->value < 0 || r->value >= CFI_REGS || !(m->known >> r->value & 1))
			*known = false;
		else
			*value = m->regs[r->value];
		return true;
	case CFI_AT_EXPR: return ehframe_expr(w->frame, r->value, m, true, cfa, &at) && read_stack(w, at, value);
	case CFI_EXPR: return ehframe_expr(w->frame, r->value, m, true, cfa, value);
	default: return false;
	}
}

static enum unwind_step step_cfi(struct unwind_walk *w, uint32_t *flags)
{
	const struct arch *a = w->u->arch;
	const struct cfi_row *row = w->row;
	uint64_t old[CFI_REGS], old_known = w->known, cfa, value;
	struct cfi_machine m = { old, old_known, a->regs, read_stack, w };
	bool known;

	if (row->ra_reg >= a->regs)
		goto bad;
	if (row->reg[row->ra_reg].how == CFI_UNDEFINED)
		return STEP_COMPLETE;
	memcpy(old, w->regs, sizeof(old));
	w->missing = 0;
	if (row->cfa_is_expr) {
		if (!ehframe_expr(w->frame, row->cfa_offset, &m, false, 0, &cfa))
			return w->missing ? missing(w, flags) : (cause(w, UNWIND_BAD_RULE, flags), STEP_FAILED);
	} else {
		if (row->cfa_reg >= a->regs || !(old_known >> row->cfa_reg & 1))
			goto bad;
		cfa = old[row->cfa_reg] + (uint64_t)row->cfa_offset;
	}
	if (!row->signal && cfa <= old[a->sp]) /* no progress: a loop in the making */
		goto bad;
	for (unsigned reg = 0; reg < a->regs; reg++) {
		if (reg == a->sp && row->reg[reg].how == CFI_SAME) {
			w->regs[reg] = cfa;
			w->known |= 1ull << reg;
			continue;
		}
		if (!apply_rule(w, &m, reg, cfa, &value, &known)) {
			/* a callee-saved register that is out of reach costs only itself */
			known = false;
			if (reg == row->ra_reg || reg == a->sp)
				return w->missing ? missing(w, flags) : (cause(w, UNWIND_BAD_RULE, flags), STEP_FAILED);
		}
		if (known) {
			w->regs[reg] = value;
			w->known |= 1ull << reg;
		} else {
			w->known &= ~(1ull << reg);
		}
	}
	if (row->ra_reg != a->pc) {
		w->regs[a->pc] = w->regs[row->ra_reg];
		w->known |= w->known >> row->ra_reg & 1 ? 1ull << a->pc : 0;
	}
	if (!(w->known >> a->pc & 1))
		goto bad;
	return STEP_CALLER;
bad:
	cause(w, UNWIND_BAD_RULE, flags);
	return STEP_FAILED;
}

/* ---- without ---- */

static bool is_sigreturn(struct unwind_walk *w)
{
	const struct arch *a = w->u->arch;
	uint8_t code[16];
	struct place p;

	if (w->exact || !procmap_lookup_quiet(w->u->maps, w->pid, w->regs[a->pc], &p) || !p.module ||
	    (p.module->kind != FMT_MOD_FILE && p.module->kind != FMT_MOD_VDSO))
		return false;
	return module_read(p.module, p.vaddr, code, a->sigreturn_len) == a->sigreturn_len &&
	       !memcmp(code, a->sigreturn, a->sigreturn_len);
}

static enum unwind_step step_sigcontext(struct unwind_walk *w, uint32_t *flags)
{
	const struct arch *a = w->u->arch;
	uint64_t base = w->regs[a->sp] + a->context_offset;

	w->known = 0;
	for (unsigned reg = 0; reg < a->regs; reg++) {
		if (!read_stack(w, base + 8ull * a->context[reg], &w->regs[reg]))
			return missing(w, flags);
		w->known |= 1ull << reg;
	}
	return STEP_CALLER;
}

static bool at_entry(const struct unwind_walk *w)
{
	const struct module *m = w->place.module;

	return m && m->kind == FMT_MOD_FILE && m->entry && w->place.vaddr >= m->entry &&
	       w->place.vaddr - m->entry < ENTRY_BYTES;
}

enum call_kind { NO_CALL, CALLS_THERE, CALLS_SOMEWHERE };

/* Does the instruction before ra call? Near calls only: relative (*to: where), by register, by memory. */
static enum call_kind call_behind(struct unwind_walk *w, uint64_t ra, uint64_t *to)
{
	uint8_t code[7];
	int32_t relative;
	struct place p;

	if (!procmap_lookup_quiet(w->u->maps, w->pid, ra - 7, &p) || !(p.map.prot & MAP_EXEC) || !p.module ||
	    module_read(p.module, p.vaddr, code, 7) != 7)
		return NO_CALL;
	memcpy(&relative, code + 3, 4);
	*to = ra + (uint64_t)(int64_t)relative;
	if (code[2] == 0xe8)
		return CALLS_THERE;
	for (int len = 2; len <= 7; len++) {
		const uint8_t *at = code + 7 - len;
		unsigned prefix = len > 2 && (*at & 0xf0) == 0x40, mod, want;

		if (at[prefix] != 0xff || (at[prefix + 1] >> 3 & 7) != 2)
			continue;
		mod = at[prefix + 1] >> 6;
		want = 2 + prefix + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
		if (mod != 3 && (at[prefix + 1] & 7) == 4)
			want++;
		if (mod == 0 && (at[prefix + 1] & 7) == 5)
			want += 4;
		if (want == (unsigned)len)
			return CALLS_SOMEWHERE;
	}
	return NO_CALL;
}

static bool behind_call(struct unwind_walk *w, uint64_t ra)
{
	uint64_t to;

	return call_behind(w, ra, &to) != NO_CALL;
}

/* The first instructions of code without rules, such as _init: the caller is on top of the stack. */
static bool step_fresh_call(struct unwind_walk *w)
{
	const struct arch *a = w->u->arch;
	uint64_t ra;

	for (unsigned off = 0; off <= 8; off += 8) {
		if (!read_stack(w, w->regs[a->sp] + off, &ra) || !behind_call(w, ra))
			continue;
		w->regs[a->sp] += off + 8;
		w->regs[a->pc] = ra;
		return true;
	}
	return false;
}

/* Whether a call to there leads to code without rules that goes on to where w is. */
static bool leads_here(struct unwind_walk *w, uint64_t to)
{
	const struct ehframe *f;
	struct cfi_row row;
	struct place p;

	if (to > w->regs[w->u->arch->pc] || w->regs[w->u->arch->pc] - to > LONGEST_BARE ||
	    !procmap_lookup_quiet(w->u->maps, w->pid, to, &p) || p.module != w->place.module)
		return false;
	f = module_ehframe(p.module);
	return !f || !ehframe_row(f, p.vaddr, &row);
}

/* Whether rules lead on from a caller that was found, to return addresses behind calls. It costs nothing but time. */
static bool rules_lead_on(const struct unwind_walk *found)
{
	struct unwind_counters before = *counters_of(found->u);
	const struct arch *a = found->u->arch;
	struct unwind_walk w = *found;
	enum unwind_step s = STEP_CALLER;
	uint32_t flags = 0;
	bool well = true;

	w.exact = false;
	for (int i = 0; i < SURE_FRAMES && well && s == STEP_CALLER; i++) {
		well = locate_pc(&w) && w.row && !w.row->signal;
		s = well ? step_cfi(&w, &flags) : STEP_FAILED;
		/* not a zero, which memory is full of: where a thread begins its rules say so */
		well = s == STEP_COMPLETE || (s == STEP_CALLER && behind_call(&w, w.regs[a->pc]));
	}
	*counters_of(found->u) = before;
	return well;
}

/* How far below its return address code that begins there pushes the frame pointer, as its first instructions tell;
 * 0: it does not. */
static unsigned pushes_fp(struct unwind_walk *w, uint64_t start)
{
	static const uint8_t lands[] = { 0xf3, 0x0f, 0x1e, 0xfa }; /* endbr64 */
	uint8_t code[32] = { 0 };
	struct place p;
	unsigned at = 0, pushed = 0;

	if (!procmap_lookup_quiet(w->u->maps, w->pid, start, &p) || !p.module)
		return 0;
	module_read(p.module, p.vaddr, code, sizeof(code));
	at += memcmp(code, lands, sizeof(lands)) ? 0 : sizeof(lands);
	/* push of a register: 50..57, behind a prefix that of the upper eight */
	while (at + 1 < sizeof(code)) {
		bool upper = code[at] == 0x41;
		uint8_t op = code[at + upper];

		if ((op & 0xf8) != 0x50)
			return 0;
		pushed += 8;
		if (!upper && op == 0x55)
			return pushed;
		at += 1 + upper;
	}
	return 0;
}

static bool restore_fp(struct unwind_walk *w, uint64_t at)
{
	const struct arch *a = w->u->arch;
	uint64_t fp;

	if (!read_stack(w, at, &fp))
		return false;
	w->regs[a->fp] = fp;
	w->known |= 1ull << a->fp;
	return true;
}

/* The caller at this place of the stack, with the frame pointer that is in force, or that was pushed on its way. */
static bool caller_at(struct unwind_walk *w, uint64_t slot, uint64_t ra)
{
	const struct arch *a = w->u->arch;
	static const unsigned pushed[] = { 0, 16, 8 }; /* below the return address: behind one other, or first */

	for (unsigned i = 0; i < sizeof(pushed) / sizeof(pushed[0]); i++) {
		struct unwind_walk found = *w;

		found.regs[a->sp] = slot + 8;
		found.regs[a->pc] = ra;
		if (pushed[i] && (slot - pushed[i] < w->regs[a->sp] || !restore_fp(&found, slot - pushed[i])))
			continue;
		if (!rules_lead_on(&found))
			continue;
		*w = found;
		return true;
	}
	return false;
}

static bool in_own_file(const struct unwind_walk *w, uint64_t addr)
{
	struct place p;

	return procmap_lookup_quiet(w->u->maps, w->pid, addr, &p) && p.module == w->place.module;
}

/*
 * Of the words above the stack pointer the first that stands behind a call of this very code, or behind one of unknown
 * target from where rules lead on. A word of an earlier call that was left lying there is behind a call of something
 * else, mostly.
 */
static bool found_above(struct unwind_walk *w, bool any_file)
{
	const struct arch *a = w->u->arch;
	uint64_t sp = w->regs[a->sp], ra, to;
	unsigned pushed;

	for (uint64_t slot = sp; slot - sp < BARE_FRAME && read_stack(w, slot, &ra); slot += 8) {
		enum call_kind k = is_code(w, ra - 1) ? call_behind(w, ra, &to) : NO_CALL;

		if (k == NO_CALL || (k == CALLS_THERE && !leads_here(w, to)))
			continue;
		if (k == CALLS_SOMEWHERE && !((any_file || in_own_file(w, ra - 1)) && caller_at(w, slot, ra)))
			continue;
		if (k == CALLS_THERE) {
			pushed = pushes_fp(w, to);
			/* before it was pushed, what lies there is not it */
			if (pushed && slot - pushed >= sp)
				restore_fp(w, slot - pushed);
			w->regs[a->sp] = slot + 8;
			w->regs[a->pc] = ra;
		}
		w->by_fp = false;
		counters_of(w->u)->found++;
		return true;
	}
	return false;
}

/* Hand-written code without rules, whose frame has a size that nothing tells. Its own file calls it by a pointer more
 * often than others do. */
static bool step_found(struct unwind_walk *w)
{
	return w->place.module && w->place.module->kind == FMT_MOD_FILE &&
	       (found_above(w, false) || found_above(w, true));
}

static enum unwind_step step_fp(struct unwind_walk *w, uint32_t *flags)
{
	const struct arch *a = w->u->arch;
	uint64_t fp = w->regs[a->fp], sp = w->regs[a->sp], caller_fp, ra;
	bool was_fp = w->by_fp;

	if (w->place.module && w->place.module->machine && w->place.module->machine != a->machine) {
		cause(w, UNWIND_NO_RULE, flags); /* a 32-bit program: its frames are of another shape */
		return STEP_FAILED;
	}
	if (at_entry(w))
		return STEP_COMPLETE;
	/* its neighbours have rules: hand-written, and not with frame pointers */
	if (w->frame && step_found(w))
		return STEP_CALLER;
	if (!(w->known >> a->fp & 1))
		goto none;
	if (!fp && was_fp) /* the chain ends with the zero that _start or a thread's start puts there */
		return STEP_COMPLETE;
	if (fp < sp || fp & 7)
		goto none;
	if (!read_stack(w, fp, &caller_fp) || !read_stack(w, fp + 8, &ra)) {
		if (fp - sp < NEAR_STACK)
			return missing(w, flags);
		goto none;
	}
	if (!ra)
		return STEP_COMPLETE;
	if (!is_code(w, ra - 1))
		goto none;
	w->regs[a->fp] = caller_fp;
	w->regs[a->sp] = fp + 16;
	w->regs[a->pc] = ra;
	w->known = 1ull << a->fp | 1ull << a->sp | 1ull << a->pc;
	w->by_fp = true;
	counters_of(w->u)->by_frame_pointer++;
	return STEP_CALLER;
none:
	if ((w->exact && step_fresh_call(w)) || (!w->frame && step_found(w)))
		return STEP_CALLER;
	cause(w, UNWIND_NO_RULE, flags);
	return STEP_FAILED;
}

/* A call through a wild pointer: nothing is at pc, but the call has just pushed its return address. */
static bool step_wild_call(struct unwind_walk *w)
{
	const struct arch *a = w->u->arch;
	uint64_t ra;

	if (!read_stack(w, w->regs[a->sp], &ra) || !is_code(w, ra - 1))
		return false;
	w->regs[a->sp] += 8;
	w->regs[a->pc] = ra;
	return true;
}

static void emit_frame(struct unwind_walk *w, struct fmt_frame *f, bool trampoline)
{
	*f = (struct fmt_frame){ .addr = w->place.vaddr };
	f->module = w->place.module ? w->place.module->id : 0;
	if (trampoline) {
		/* entered by the kernel, not by a call: its address is its own */
		f->flags = FMT_FRAME_SIGNAL;
		f->addr += !w->exact;
	} else if (!w->exact) {
		f->flags = FMT_FRAME_RETURN;
	}
}

static unsigned walk_run(struct unwind_walk *w, struct fmt_frame *frames, unsigned max, uint32_t *flags)
{
	const struct arch *a = w->u->arch;
	bool mapped = locate_pc(w);
	unsigned n = 0;

	w->u->leaf = w->place;
	for (;;) {
		bool trampoline = mapped && (w->row ? w->row->signal : is_sigreturn(w));
		enum unwind_step s;

		if (n == max) {
			cause(w, UNWIND_CUT_DEPTH, flags);
			return n;
		}
		if (!mapped && n) { /* a return address into nothing is not worth a frame */
			cause(w, UNWIND_UNMAPPED, flags);
			return n;
		}
		emit_frame(w, &frames[n++], trampoline);
		if (!mapped) {
			if (!step_wild_call(w)) {
				cause(w, UNWIND_UNMAPPED, flags);
				return n;
			}
			s = STEP_CALLER;
		} else if (w->row) {
			s = step_cfi(w, flags);
			w->by_fp = w->by_fp && s == STEP_CALLER && w->row->reg[a->fp].how == CFI_SAME;
		} else if (trampoline) {
			s = step_sigcontext(w, flags);
		} else {
			s = step_fp(w, flags);
		}
		if (s == STEP_CALLER && mapped && !trampoline && n == w->u->cfas + 1 && w->u->cfas < MAX_CFAS)
			w->u->cfa[w->u->cfas++] = w->regs[a->sp];
		if (s == STEP_FAILED)
			return n;
		if (s == STEP_COMPLETE || !w->regs[a->pc]) {
			*flags = FMT_STACK_COMPLETE;
			return n;
		}
		w->exact = trampoline;
		w->after_signal = w->after_signal || trampoline;
		mapped = locate_pc(w);
	}
}

int unwind(struct unwinder *u, uint32_t pid, const uint64_t regs[SAMPLE_REGS], struct stack_copy stack,
	   struct fmt_frame *frames, unsigned max, uint32_t *flags)
{
	const struct arch *a = u->arch;
	struct unwind_walk w = { .u = u, .pid = pid, .stack = stack, .exact = true };
	struct unwind_counters *n_of = counters_of(u);
	unsigned n;

	*flags = FMT_STACK_BROKEN;
	if (!max)
		return 0;
	memcpy(w.regs, regs, a->regs * sizeof(*regs));
	w.known = (1ull << a->regs) - 1;
	w.stack_start = regs[a->sp];
	if (w.stack.len > ~w.stack_start)
		w.stack.len = 0;
	w.stack_end = w.stack_start + w.stack.len;
	u->cfas = 0;
	n = walk_run(&w, frames, max, flags);
	u->stack_end = *flags == FMT_STACK_COMPLETE ? w.regs[a->sp] : 0;
	n_of->stacks++;
	n_of->frames += n;
	n_of->complete += *flags == FMT_STACK_COMPLETE;
	n_of->cut += *flags == FMT_STACK_CUT;
	n_of->broken += *flags == FMT_STACK_BROKEN;
	return (int)n;
}
