// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Control-flow graphs, dominators, loops and induction registers: against brute force on random
 * graphs, and against the processor: tests/fixtures/loops.c, compiled in several ways, runs step by
 * step under ptrace, and everything the analysis claims must hold for each step taken.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi.h"
#include "code/cfg.h"
#include "proc/ehframe.h"
#include "code/induction.h"
#include "proc/module.h"
#include "unit/sized.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

#define AMPLE (8u << 20) /* instructions looked at for one function */

#define BASE 0x10000ull

struct image {
	uint8_t *bytes;
	size_t size;
};

static size_t image_read(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct image *m = ctx;

	if (addr < BASE || addr - BASE >= m->size)
		return 0;
	if (len > m->size - (addr - BASE))
		len = m->size - (addr - BASE);
	memcpy(buf, m->bytes + (addr - BASE), len);
	return len;
}

static uint32_t pick(uint32_t below)
{
	return (uint32_t)(xorshift(&rng) >> 20) % below;
}

/* ---- random graphs: every block is 16 bytes: a conditional jump, a jump or a return ---- */

static void emit(uint8_t *at, size_t pos, int cond, long to)
{
	int32_t rel;

	memset(at, 0x90, 16);
	if (to < 0) {
		at[10] = 0xc3;
		return;
	}
	if (cond) {
		rel = (int32_t)(to * 16 - (long)(pos * 16 + 16));
		at[10] = 0x0f;
		at[11] = 0x84;
		memcpy(at + 12, &rel, 4);
	} else {
		rel = (int32_t)(to * 16 - (long)(pos * 16 + 16));
		at[11] = 0xe9;
		memcpy(at + 12, &rel, 4);
	}
}

static bool reaches(const struct cfg *c, uint32_t from, uint32_t to, uint32_t without, uint32_t within)
{
	uint8_t seen[128] = { 0 };
	uint32_t stack[128], top = 0;

	if (from == without)
		return false;
	stack[top++] = from;
	seen[from] = 1;
	while (top) {
		uint32_t at = stack[--top];

		if (at == to)
			return true;
		for (uint32_t i = 0; i < c->block[at].succs; i++) {
			uint32_t n = c->succ[c->block[at].succ + i];

			if (n == without || seen[n] || (within != CFG_NONE && !cfg_dominates(c, within, n)))
				continue;
			seen[n] = 1;
			stack[top++] = n;
		}
	}
	return false;
}

/* Members by definition: what reaches a latch without passing the header. */
static bool in_natural_loop(const struct cfg *c, uint32_t header, uint32_t block)
{
	if (block == header)
		return true;
	for (uint32_t i = 0; i < c->block[header].preds; i++) {
		uint32_t latch = c->pred[c->block[header].pred + i];

		if (cfg_dominates(c, header, latch) && cfg_dominates(c, header, block) &&
		    reaches(c, block, latch, header, header))
			return true;
	}
	return false;
}

static void check_graph(const struct cfg *c)
{
	for (uint32_t b = 0; b < c->blocks; b++) {
		bool reached = reaches(c, 0, b, CFG_NONE, CFG_NONE);

		assert_int_equal(!!(c->block[b].flags & CFG_REACHED), reached);
		for (uint32_t a = 0; reached && a < c->blocks; a++)
			if (c->block[a].flags & CFG_REACHED)
				assert_int_equal(cfg_dominates(c, a, b), a == b || !reaches(c, 0, b, a, CFG_NONE));
	}
	for (uint32_t l = 0; l < c->loops; l++) {
		uint32_t members = 0;

		for (uint32_t b = 0; b < c->blocks; b++) {
			if (!(c->block[b].flags & CFG_REACHED)) {
				assert_int_equal(c->block[b].loop, CFG_NONE);
				continue;
			}
			assert_int_equal(cfg_in_loop(c, b, l), in_natural_loop(c, c->loop[l].header, b));
			members += cfg_in_loop(c, b, l);
		}
		assert_int_equal(c->loop[l].members, members);
		for (uint32_t i = 0; i < members; i++)
			assert_true(cfg_in_loop(c, c->member[c->loop[l].member + i], l));
	}
}

/* A walk along random edges: what is claimed to run once does, whatever cycles there are beside. */
static unsigned walk_graph(const struct cfg *c)
{
	uint32_t ran[128] = { 0 }, at = 0, last = CFG_NONE;
	unsigned checked = 0;

	for (int step = 0; step < 400; step++) {
		uint32_t l = c->block[at].loop;

		/* what is over: loops that were left, and the iteration before this one */
		for (uint32_t o = last == CFG_NONE ? CFG_NONE : c->block[last].loop; o != CFG_NONE;
		     o = c->loop[o].parent) {
			bool again = c->loop[o].header == at;

			if (cfg_in_loop(c, at, o) && !again)
				break;
			for (uint32_t b = 0; b < c->blocks; b++) {
				if (c->block[b].loop != o)
					continue;
				if (cfg_once(c, b)) {
					assert_int_equal(ran[b], 1);
					checked++;
				}
				ran[b] = 0;
			}
			if (again)
				break;
		}
		assert_true(l == CFG_NONE || l < c->loops);
		ran[at]++;
		last = at;
		if (!c->block[at].succs) {
			for (uint32_t b = 0; b < c->blocks; b++)
				if (c->block[b].loop == CFG_NONE && cfg_once(c, b)) {
					assert_int_equal(ran[b], 1);
					checked++;
				}
			break;
		}
		at = c->succ[c->block[at].succ + pick(c->block[at].succs)];
	}
	return checked;
}

TEST(test_random_graphs)
{
	unsigned loops = 0, irreducible = 0, once = 0, knots = 0, rounds = SIZED(400, 80);

	for (unsigned round = 0; round < rounds; round++) {
		uint32_t n = 3 + pick(30);
		struct image m = { malloc(n * 16), n * 16 };
		struct block_code code = { .id = 1, .read = image_read, .ctx = &m };
		struct cfg c;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t kind = pick(10);

			/* odd rounds have mostly short jumps: many nested loops */
			long to = round & 1 ? (long)(i + n + pick(7) - 4) % n : pick(n);

			emit(m.bytes + i * 16, i, kind < 7 && i + 1 < n, kind == 9 || i + 1 == n ? -1 : to);
		}
		assert_int_equal(cfg_build(&code, BASE, BASE + n * 16, &c), 0);
		assert_true(c.complete);
		check_graph(&c);
		for (int i = 0; i < 10; i++)
			once += walk_graph(&c);
		for (uint32_t b = 0; b < c.blocks; b++)
			knots += !!(c.block[b].flags & CFG_KNOT);
		loops += c.loops;
		irreducible += c.irreducible;
		cfg_release(&c);
		free(m.bytes);
	}
	assert_true(loops > rounds * 5 / 4);
	assert_true(irreducible > rounds / 8);
	assert_true(knots > rounds / 4);
	assert_true(once > rounds * 5 / 2);
}

/* A nest as deep as it is long: what is quadratic does not end. */
TEST(test_large)
{
	uint32_t n = 60000, budget = AMPLE, spent = 0;
	struct image m = { malloc(n * 16), n * 16 };
	struct block_code code = { .id = 1, .read = image_read, .ctx = &m };
	struct induction in;
	struct cfg c;

	for (uint32_t i = 0; i < n; i++) /* the second half jumps back into the first: loops in loops */
		emit(m.bytes + i * 16, i, 1, i < n / 2 ? (long)i + 1 : (long)(n - 1 - i));
	emit(m.bytes + (n - 1) * 16, n - 1, 0, -1);
	assert_int_equal(cfg_build(&code, BASE, BASE + n * 16, &c), 0);
	assert_int_equal(c.loops, n / 2 - 1);
	assert_int_equal(c.loop[c.loops - 1].depth, n / 2 - 1);
	for (uint32_t l = 0; l < c.loops; l++)
		spent += induction_find(&c, l, &budget, &in) == -E2BIG;
	assert_true(spent > 0);
	cfg_release(&c);
	/* more blocks than the limit: said */
	free(m.bytes);
	m.size = (CFG_MAX_BLOCKS + 2) * 3;
	m.bytes = malloc(m.size);
	for (size_t i = 0; i < m.size; i += 3)
		memcpy(m.bytes + i, "\x90\x74\x00", 3);
	assert_int_equal(cfg_build(&code, BASE, BASE + m.size, &c), -E2BIG);
	free(m.bytes);
}

static bool two_halves(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	bool cold = addr >= BASE + 64;

	*start = cold ? BASE + 64 : BASE;
	*end = cold ? BASE + 7 * 16 : BASE + 64;
	return addr >= *start && addr < *end;
}

/* Blocks 4..6 lie elsewhere: 0 jumps to 4, 4 to 5, 5 comes back to 2; nobody asks for 6 -> 1. */
TEST(test_cold)
{
	struct image m = { malloc(7 * 16), 7 * 16 };
	struct block_code code = { .id = 1, .read = image_read, .bounds = two_halves, .ctx = &m };
	struct cfg c;

	emit(m.bytes, 0, 1, 4);
	emit(m.bytes + 16, 1, 1, 3);
	emit(m.bytes + 32, 2, 1, 1);
	emit(m.bytes + 48, 3, 0, -1);
	emit(m.bytes + 64, 4, 0, 5);
	emit(m.bytes + 80, 5, 0, 2);
	emit(m.bytes + 96, 6, 0, 1);
	assert_int_equal(cfg_build(&code, BASE, BASE + 64, &c), 0);
	assert_int_equal(c.blocks, 5); /* with what stands behind the return */
	assert_true(c.complete && (c.block[0].flags & CFG_VIA_COLD));
	assert_int_equal(c.block[0].succs, 2);
	assert_int_equal(c.succ[c.block[0].succ], 1);
	assert_int_equal(c.succ[c.block[0].succ + 1], 2);
	assert_int_equal(c.calls, 0);
	assert_int_equal(c.block[2].idom, 0); /* not 1: the cold half leads there, too */
	cfg_release(&c);
	free(m.bytes);
}

/* ---- compiled code ---- */

#define CASES 15
static const char *const cases[CASES] = { "sum",      "nested",  "search", "down", "calls",
					  "branches", "machine", "chase",  "copy", "saxpy",
					  "threaded", "list",    "find",   "ring", "strangers" };

struct tally {
	uint64_t steps, edges, once, activations, claimed, right, loops, inductions, tables, incomplete, told[CASES];
};

struct run {
	struct module *module;
	struct cfg cfg;
	struct induction *induct; /* by loop */
	bool *has;
	uint64_t bias;
	uint64_t *ran;         /* by block, since its anchor's last run */
	uint64_t *header_runs; /* by loop, in this activation */
	uint64_t *entry;       /* by loop: the induction's register at entry_insn */
	bool *entry_seen;
	uint32_t last; /* block of the step before */
	unsigned which;
	pid_t pid;
	struct tally *t;
};

static bool peek(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct run *r = ctx;
	struct iovec here = { value, sizeof(*value) }, there = { (void *)(uintptr_t)addr, sizeof(*value) };

	return process_vm_readv(r->pid, &here, 1, &there, 1, 0) == sizeof(*value);
}

static size_t module_bytes(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return module_read(ctx, addr, buf, len);
}

static bool module_bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct ehframe *f = module_ehframe(ctx);

	return f && ehframe_function(f, addr, start, end);
}

static void to_wreg(const struct user_regs_struct *r, uint64_t *w)
{
	const uint64_t v[] = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
			       r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip };

	memcpy(w, v, sizeof(v));
}

static void check_once(struct run *r, uint32_t anchor_loop)
{
	const struct cfg *c = &r->cfg;

	/* the anchor's run is over: each block of its own must have run once */
	for (uint32_t b = 0; b < c->blocks; b++) {
		if (c->block[b].loop != anchor_loop)
			continue;
		if (cfg_once(c, b)) {
			assert_int_equal(r->ran[b], 1);
			r->t->once++;
		}
		r->ran[b] = 0;
	}
}

static void leave_loop(struct run *r, uint32_t l, uint32_t from, uint32_t to, const uint64_t *w)
{
	const struct induction *in = &r->induct[l];
	uint64_t trips;

	check_once(r, l);
	r->t->activations++;
	for (uint32_t i = 0; r->has[l] && i < in->exits; i++) {
		const struct induction_exit *e = &in->exit[i];

		if (e->from != from || e->to != to || e->reg == DEC_NOREG)
			continue;
		if (!in->entry_known && (in->entry_reg == DEC_NOREG || !r->entry_seen[l]))
			continue;
		r->t->claimed++;
		r->t->told[r->which]++;
		trips = 0;
		if ((induction_trips(in, e, r->entry[l], w[e->reg], &trips) ||
		     induction_walk(in, e, r->entry[l], w[e->reg], peek, r, &trips)) &&
		    trips == r->header_runs[l])
			r->t->right++;
		else
			print_message("%s: loop %u ran %lu times, not %lu\n", cases[r->which], l,
				      (unsigned long)r->header_runs[l], (unsigned long)trips);
	}
	r->header_runs[l] = 0;
	r->entry_seen[l] = false;
}

static void enter_block(struct run *r, uint32_t b, const uint64_t *w)
{
	const struct cfg *c = &r->cfg;
	bool edge = false;

	if (r->last != CFG_NONE) {
		for (uint32_t i = 0; i < c->block[r->last].succs; i++)
			edge |= c->succ[c->block[r->last].succ + i] == b;
		assert_true(edge);
		r->t->edges++;
		for (uint32_t l = c->block[r->last].loop; l != CFG_NONE && !cfg_in_loop(c, b, l); l = c->loop[l].parent)
			leave_loop(r, l, r->last, b, w);
	}
	if (c->block[b].loop != CFG_NONE && c->loop[c->block[b].loop].header == b) {
		uint32_t l = c->block[b].loop;

		if (r->last != CFG_NONE && cfg_in_loop(c, r->last, l))
			check_once(r, l);
		r->header_runs[l]++;
	}
	r->ran[b]++;
	r->last = b;
}

static void one_step(struct run *r, const struct user_regs_struct *regs)
{
	const struct cfg *c = &r->cfg;
	uint64_t w[WREG_MAX] = { 0 }, addr = regs->rip - r->bias;
	uint32_t b = cfg_block_at(c, addr);

	if (b == CFG_NONE)
		return;
	to_wreg(regs, w);
	r->t->steps++;
	if (cfg_block_addr(c, b) == addr)
		enter_block(r, b, w);
	assert_int_equal(r->last, b);
	assert_true(c->block[b].flags & CFG_REACHED);
	for (uint32_t l = 0; l < c->loops; l++)
		if (r->has[l] && r->induct[l].entry_insn != CFG_NONE &&
		    cfg_insn_addr(c, r->induct[l].entry_insn) == addr && r->induct[l].entry_reg != DEC_NOREG) {
			r->entry[l] = w[r->induct[l].entry_reg];
			r->entry_seen[l] = true;
		}
}

static void trace(struct run *r, int (*f)(int *, int), int n)
{
	struct user_regs_struct regs;
	int status;
	pid_t pid = fork();

	if (!pid) {
		int array[512];

		for (int i = 0; i < 512; i++)
			array[i] = (int)((i + 1) * 2654435761u >> 9);
		array[0] = 7;
		array[n > 3 ? n - 2 : 0] = 77;
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		f(array, n);
		/* not _exit(): the sanitizer would look for leaks there, step by step */
		syscall(SYS_exit_group, 0);
	}
	assert_true(pid > 0);
	r->pid = pid;
	r->last = CFG_NONE;
	memset(r->ran, 0, r->cfg.blocks * sizeof(*r->ran));
	memset(r->header_runs, 0, (r->cfg.loops + 1) * sizeof(*r->header_runs));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 200000 && WIFSTOPPED(status); i++) {
		assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
		one_step(r, &regs);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFEXITED(status));
	/* what the function's entry is the anchor of */
	check_once(r, CFG_NONE);
}

static void one_case(struct module *m, void *lib, unsigned which, struct tally *t)
{
	struct block_code code = { .id = 1, .read = module_bytes, .bounds = module_bounds, .ctx = m };
	int (*f)(int *, int) = (int (*)(int *, int))dlsym(lib, cases[which]);
	static const int sizes[] = { 1, 9, 37, 133 }; /* the last where vectors hide the loop from less */
	uint32_t budget = AMPLE;
	struct run r = { .module = m, .which = which, .t = t };
	uint64_t start, end;
	Dl_info info;

	assert_non_null(f);
	assert_true(dladdr((void *)f, &info));
	r.bias = (uint64_t)(uintptr_t)info.dli_fbase;
	assert_true(module_bounds(m, (uint64_t)(uintptr_t)f - r.bias, &start, &end));
	assert_int_equal(start + r.bias, (uint64_t)(uintptr_t)f);
	assert_int_equal(cfg_build(&code, start, end, &r.cfg), 0);
	r.induct = calloc(r.cfg.loops + 1, sizeof(*r.induct));
	r.has = calloc(r.cfg.loops + 1, sizeof(*r.has));
	r.ran = calloc(r.cfg.blocks, sizeof(*r.ran));
	r.header_runs = calloc(r.cfg.loops + 1, sizeof(*r.header_runs));
	r.entry = calloc(r.cfg.loops + 1, sizeof(*r.entry));
	r.entry_seen = calloc(r.cfg.loops + 1, sizeof(*r.entry_seen));
	t->loops += r.cfg.loops;
	t->tables += r.cfg.tables;
	t->incomplete += !r.cfg.complete;
	for (uint32_t l = 0; l < r.cfg.loops; l++) {
		r.has[l] = !induction_find(&r.cfg, l, &budget, &r.induct[l]);
		t->inductions += r.has[l];
	}
	/* blocks begin where nobody knows: nothing to compare, and nothing is claimed */
	assert_true(r.cfg.complete || !strcmp(cases[which], "threaded"));
	for (unsigned i = 0; r.cfg.complete && i < (which ? 3 : 4); i++)
		trace(&r, f, sizes[i]);
	cfg_release(&r.cfg);
	free(r.induct);
	free(r.has);
	free(r.ran);
	free(r.header_runs);
	free(r.entry);
	free(r.entry_seen);
}

TEST(test_compiled)
{
	static const char *const how[] = { "gcc -O1",   "gcc -O2",   "gcc -O3 -mavx2",  "gcc -O2 -funroll-loops",
					   "clang -O1", "clang -O2", "clang -O3 -mavx2" };
	char source[600], path[64], command[900];
	const char *top = __FILE__;
	struct tally all = { 0 };
	unsigned built = 0;

	snprintf(source, sizeof(source), "%.*s/../fixtures/loops.c", (int)(strrchr(top, '/') - top), top);
	/* a step is two switches of processes: sanitized, the last two ways */
	for (unsigned i = SIZED(0, 5); i < sizeof(how) / sizeof(how[0]); i++) {
		struct tally t = { 0 };
		struct module *m;
		struct err e;
		void *lib;

		snprintf(path, sizeof(path), "/tmp/accperf-u-cfg.%d.%u.so", getpid(), i);
		/* stripped: bounds come from .eh_frame */
		snprintf(command, sizeof(command), "%s -w -shared -fPIC -s -o %s %s 2>/dev/null", how[i], path, source);
		if (system(command)) {
			print_message("skipped: %s\n", how[i]);
			continue;
		}
		built++;
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		assert_non_null(lib);
		m = module_open_path(path, NULL, 0, &e);
		assert_non_null(m);
		for (unsigned k = 0; k < CASES; k++)
			if (strcmp(cases[k], "saxpy") || !strstr(how[i], "avx2") || __builtin_cpu_supports("avx2"))
				one_case(m, lib, k, &t);
		module_close_path(m);
		dlclose(lib);
		unlink(path);
		print_message("%-28s %2lu loops, %2lu inductions, %lu tables, %lu incomplete; %6lu steps, %5lu edges, "
			      "%5lu once, %4lu activations, %4lu claimed, %4lu right\n",
			      how[i], (unsigned long)t.loops, (unsigned long)t.inductions, (unsigned long)t.tables,
			      (unsigned long)t.incomplete, (unsigned long)t.steps, (unsigned long)t.edges,
			      (unsigned long)t.once, (unsigned long)t.activations, (unsigned long)t.claimed,
			      (unsigned long)t.right);
		assert_int_equal(t.claimed, t.right);
		/* for (i = 0; i < n; i++) in all its forms; gcc enters what it unrolled in several places */
		if (strstr(how[i], "unroll"))
			continue;
		for (unsigned k = 0; k < CASES; k++)
			if (strcmp(cases[k], "chase") && strcmp(cases[k], "threaded"))
				assert_true(t.told[k] > 0);
		assert_true(t.tables >= 1);
		all.claimed += t.claimed;
		all.activations += t.activations;
	}
	assert_true(built > 0);
	assert_true(all.claimed * 100 >= all.activations * 95);
}

/* Numbers by hand: downwards, 32 bits, a remainder, the wrong way. */
TEST(test_trips)
{
	struct induction in = { .bits = 32, .stride = -3, .entry_reg = WREG_AX, .entry_add = -1 };
	struct induction_exit e = { .reg = WREG_CX, .add = -3 };
	uint64_t n;

	/* first = 99, last = 0 -> 34 headers; exit_reg = last - 3 */
	assert_true(induction_trips(&in, &e, 100, (uint32_t)-3, &n));
	assert_int_equal(n, 34);
	assert_false(induction_trips(&in, &e, 100, (uint32_t)-2, &n)); /* remainder */
	assert_false(induction_trips(&in, &e, 100, 300, &n));          /* the wrong way */
	in.stride = 0;
	assert_false(induction_trips(&in, &e, 100, 97, &n));
	in.stride = 1;
	e.reg = DEC_NOREG;
	assert_false(induction_trips(&in, &e, 1, 5, &n));
}
