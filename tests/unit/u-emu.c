// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The emulator against the processor: a program stands still under ptrace, the emulator runs ahead on a copy of its
 * memory, then the program is single-stepped along: it must take the same path, and what the emulator claims to
 * know (registers, flags, vectors, masks) must be so after every instruction. Behind a store to an unknown place, a
 * system call or a call that was left early the emulator may be wrong (emu.h): that is counted apart.
 *
 *   u-emu PROGRAM [ARGS...]   prints the figures for one program; EMU_VERBOSE=1: what was wrong, EMU_INSNS,
 *                             EMU_STRETCHES
 */
#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/emu_priv.h"
#include "emu_forms.h"
#include "unit/sized.h"
#include "unit/stepping.h"
#include "unit/unit.h"
#include "unit/xorshift.h"
#include "util/grow.h"

#define XSTATE_MAX 16384

/* What the emulator claims after an instruction. */
struct point {
	uint64_t r[WREG_MAX];
	uint32_t known;
	uint8_t flags, flags_known;
	uint8_t len, mask_written;
	bool skipped, repeats, call, doubtful;
	int8_t vec; /* number of a vector that was written; -1 */
	uint8_t k_known;
	uint64_t k[8];
	struct emu_vec v;
};

struct tally {
	uint64_t stretches, asked, insns, doubtful, known, flags_known, vectors, wrong, path_wrong, doubtful_wrong,
		skips, lost;
	uint64_t begin, begin_wrong; /* bytes of vectors that were known at first */
	uint64_t unknown, syscalls, pages, counts_wrong, calls, calls_missing;
	uint64_t ends[EMU_ENDS];
};

struct target {
	pid_t pid;
	struct step_images images; /* for what vectors hold at first (emu_before.c) */
	struct emu *emu;
	struct emu_state before; /* the next instruction */
	struct point *point;
	uint32_t points, point_cap;
	bool doubtful;
};

static bool verbose;
static unsigned catch_up = 1000; /* steps that a call left early may take */

/* ---- what the emulator sees ---- */

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct target *t = ctx;

	return step_read(t->pid, addr, buf, len);
}

static bool read_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	struct target *t = ctx;

	return step_read(t->pid, addr, buf, EMU_PAGE) == EMU_PAGE;
}

static bool function_at(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct target *t = ctx;

	return step_function(&t->images, addr, start, end);
}

static bool never_written(void *ctx, uint64_t addr, size_t len)
{
	struct target *t = ctx;
	char prot[8], path[512];
	uint64_t start, end, off;

	return step_mapping(t->pid, addr, &start, &end, prot, &off, path) && prot[1] != 'w' && len <= end - addr;
}

static bool is_known(const struct emu_state *s, unsigned reg)
{
	return s->known >> reg & 1;
}

/* It stores where the emulator cannot tell, or the kernel does. */
static bool stores_anywhere(const struct emu_state *s, const struct emu_insn *i)
{
	uint64_t addr;

	if (i->op == EMU_OP_SYSCALL)
		return true;
	if (i->op == EMU_OP_MOVS || i->op == EMU_OP_STOS)
		return !is_known(s, WREG_DI) || !(s->flags_known & EMU_DF) || (i->rep && !is_known(s, WREG_CX)) ||
		       (i->op == EMU_OP_MOVS && !is_known(s, WREG_SI));
	for (unsigned k = 0; k < i->ops; k++) {
		const struct emu_operand *o = &i->o[k];

		if (o->kind != EMU_K_MEM || !o->written)
			continue;
		if (!emu_address(s, o, s->r[WREG_IP] + i->len, &addr))
			return true;
		if (i->op >= EMU_OP_BTS && i->op <= EMU_OP_BTC && i->o[1].kind == EMU_K_REG &&
		    !is_known(s, i->o[1].reg))
			return true;
	}
	return false;
}

static void tell(const struct target *t, uint64_t ip, const char *what)
{
	uint8_t code[15] = { 0 };
	ZydisDisassembledInstruction z;

	if (step_read(t->pid, ip, code, sizeof(code)) &&
	    ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, ip, code, 15, &z)))
		printf("# %s %#lx %s\n", what, ip, z.text);
}

static void watch(void *ctx, const struct emu_state *s, bool skipped)
{
	struct target *t = ctx;
	uint8_t code[16] = { 0 };
	struct emu_insn i;
	struct point *p;

	if (!GROW(t->point, t->points, t->point_cap, 4096))
		abort();
	p = &t->point[t->points++];
	memset(p, 0, sizeof(*p));
	memcpy(p->r, s->r, sizeof(p->r));
	memcpy(p->k, s->k, sizeof(p->k));
	p->known = s->known;
	p->flags = s->flags;
	p->flags_known = s->flags_known;
	p->k_known = s->k_known;
	p->skipped = skipped;
	p->vec = -1;
	if (skipped) {
		t->doubtful = true;
		if (verbose)
			tell(t, t->before.r[WREG_IP], "left a call at");
	} else if (step_read(t->pid, t->before.r[WREG_IP], code, 15) && !emu_decode(code, 15, &i)) {
		p->len = i.len;
		p->repeats = i.rep;
		p->call = i.op == EMU_OP_CALL;
		p->mask_written = i.mask_written;
		if (i.vec_written & 0xffffffff) {
			p->vec = (int8_t)__builtin_ctzll(i.vec_written);
			p->v = s->v[p->vec];
		}
		if (verbose && i.op == EMU_OP_UNKNOWN)
			tell(t, t->before.r[WREG_IP], "no rule for");
		t->doubtful |= stores_anywhere(&t->before, &i);
	}
	p->doubtful = t->doubtful;
	t->before = *s;
}

/* ---- what the processor says ---- */

static uint8_t to_flags(uint64_t f)
{
	return (uint8_t)((f & 1 ? EMU_CF : 0) | (f & 4 ? EMU_PF : 0) | (f & 16 ? EMU_AF : 0) | (f & 64 ? EMU_ZF : 0) |
			 (f & 128 ? EMU_SF : 0) | (f & 1024 ? EMU_DF : 0) | (f & 2048 ? EMU_OF : 0));
}

/* Offset of a component in the xsave area; 0: the processor has none. */
static unsigned component(unsigned which)
{
	unsigned a, b, c, d;

	if (!__get_cpuid_count(0xd, which, &a, &b, &c, &d) || !a)
		return 0;
	return b;
}

static unsigned vector_of(const uint8_t *x, size_t len, unsigned n, uint8_t *out)
{
	unsigned avx = component(2), high = component(6), last = component(7);

	if (n >= 16) {
		if (!last || last + (n - 15) * 64 > len)
			return 0;
		memcpy(out, x + last + (n - 16) * 64, 64);
		return 64;
	}
	memcpy(out, x + 160 + 16 * n, 16);
	if (!avx || avx + 16 * n + 16 > len)
		return 16;
	memcpy(out + 16, x + avx + 16 * n, 16);
	if (!high || high + 32 * n + 32 > len)
		return 32;
	memcpy(out + 32, x + high + 32 * n, 32);
	return 64;
}

static bool vectors_agree(pid_t pid, const struct point *p, struct tally *y)
{
	static uint8_t x[XSTATE_MAX];
	struct iovec io = { x, sizeof(x) };
	uint8_t value[64];
	unsigned have, masks = component(5);

	memset(x, 0, sizeof(x));
	if (ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_X86_XSTATE, &io))
		return true;
	have = p->vec >= 0 ? vector_of(x, io.iov_len, (unsigned)p->vec, value) : 0;
	for (unsigned b = 0; b < have; b++) {
		if (!(p->v.known >> b & 1))
			continue;
		y->vectors++;
		if (value[b] != p->v.b[b]) {
			if (verbose)
				printf("#   vector %d byte %u: %#x, is %#x\n", p->vec, b, p->v.b[b], value[b]);
			return false;
		}
	}
	for (unsigned k = 0; masks && k < 8; k++)
		if ((p->mask_written & p->k_known) >> k & 1) {
			uint64_t v;

			memcpy(&v, x + masks + 8 * k, 8);
			if (v != p->k[k]) {
				if (verbose)
					printf("#   mask %u: %#lx, is %#lx\n", k, p->k[k], v);
				return false;
			}
		}
	return true;
}

/* What the code around tells of vectors and masks before the first instruction. */
static void check_begin(struct target *t, const struct emu_state *s, struct tally *y)
{
	static uint8_t x[XSTATE_MAX];
	struct iovec io = { x, sizeof(x) };
	unsigned masks = component(5);
	uint8_t value[64];

	memset(x, 0, sizeof(x));
	if (ptrace(PTRACE_GETREGSET, t->pid, (void *)(uintptr_t)NT_X86_XSTATE, &io))
		return;
	for (unsigned n = 0; n < 32; n++) {
		unsigned have = vector_of(x, io.iov_len, n, value);

		for (unsigned b = 0; b < have; b++) {
			if (!(s->v[n].known >> b & 1))
				continue;
			y->begin++;
			if (value[b] == s->v[n].b[b])
				continue;
			y->begin_wrong++;
			if (verbose)
				printf("#   at first vector %u byte %u: %#x, is %#x\n", n, b, s->v[n].b[b], value[b]);
			break;
		}
	}
	for (unsigned k = 0; masks && k < 8; k++)
		if (s->k_known >> k & 1) {
			y->begin_wrong += memcmp(x + masks + 8 * k, &s->k[k], 8) != 0;
			y->begin++;
		}
}

static bool agrees(pid_t pid, const struct point *p, const struct user_regs_struct *u, struct tally *y)
{
	uint64_t r[WREG_MAX];
	uint8_t flags = to_flags(u->eflags);
	bool right = true;

	step_wreg(u, r);
	for (unsigned i = 0; i < WREG_MAX; i++) {
		if (i == WREG_IP || i == WREG_FLAGS || !(p->known >> i & 1) || r[i] == p->r[i])
			continue;
		right = false;
		if (verbose)
			printf("#   register %u: %#lx, is %#lx\n", i, p->r[i], r[i]);
	}
	if ((flags ^ p->flags) & p->flags_known) {
		right = false;
		if (verbose)
			printf("#   flags %#x of known %#x, are %#x\n", p->flags, p->flags_known, flags);
	}
	if (p->vec >= 0 || p->mask_written)
		right &= vectors_agree(pid, p, y);
	y->known += (unsigned)__builtin_popcount(p->known & 0xffff);
	y->flags_known += (unsigned)__builtin_popcount(p->flags_known & EMU_ARITH);
	return right;
}

static void complain(const struct target *t, uint64_t ip, const struct point *p, uint64_t now)
{
	tell(t, ip, p->doubtful ? "doubtful, and wrong, after" : "WRONG after");
	printf("#   point %ld: at %#lx, is at %#lx\n", (long)(p - t->point), p->r[WREG_IP], now);
}

/* One instruction of the emulator's. -1: the program does not go on. */
static int follow(struct target *t, const struct point *p, uint64_t from, struct user_regs_struct *u)
{
	unsigned most = p->skipped ? catch_up : p->repeats ? 1u << 19 : 1;

	for (unsigned n = 0; n < most; n++) {
		if (step_once(t->pid) || ptrace(PTRACE_GETREGS, t->pid, 0, u))
			return -1;
		if (p->skipped ? u->rip == p->r[WREG_IP] && u->rsp == p->r[WREG_SP] : u->rip != from)
			return 0;
	}
	return p->skipped || p->repeats ? -1 : 0;
}

/* ---- counts and calls, against the points of the same run ---- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* insns: those that it counts. A run that went astray is taken back to where it was sure of its way. */
static void check_counts(struct target *t, uint64_t first_ip, uint64_t insns, struct tally *y)
{
	static struct emu_count count[1 << 16];
	size_t n = emu_counts(t->emu, count, 1 << 16), calls;
	uint64_t *ip = calloc(t->points + 1, sizeof(*ip)), sum = 0;
	const struct emu_call *call = emu_calls(t->emu, &calls);
	size_t ips = 0;

	assert_non_null(ip);
	assert_true(n <= 1 << 16);
	for (uint32_t i = 0; i < t->points && ips < insns; i++) {
		const struct point *p = &t->point[i];
		uint64_t at = i ? t->point[i - 1].r[WREG_IP] : first_ip;
		bool found = false;

		if (p->skipped)
			continue;
		ip[ips++] = at;
		if (!p->call)
			continue;
		y->calls++;
		for (size_t k = 0; k < calls; k++)
			found |= call[k].site == at + p->len && call[k].target == p->r[WREG_IP];
		y->calls_missing += !found && p->known >> WREG_SP & 1;
	}
	qsort(ip, ips, sizeof(*ip), by_value);
	for (size_t i = 0; i < ips;) {
		size_t k = i;

		while (k < ips && ip[k] == ip[i])
			k++;
		y->counts_wrong += emu_runs_of(t->emu, ip[i]) != k - i;
		i = k;
	}
	for (size_t i = 0; i < n; i++)
		sum += count[i].runs;
	y->counts_wrong += sum != insns || ips != insns;
	free(ip);
}

/* ---- a stretch ---- */

/* A hypervisor that carries out cpuid itself may go on without the trap after it: one step is two instructions then. */
static bool trap_lost(pid_t pid, uint64_t ip)
{
	uint8_t code[2];

	return step_read(pid, ip, code, sizeof(code)) == 2 && code[0] == 0x0f && code[1] == 0xa2;
}

/* -1: the program is gone, or does what cannot be followed. */
static int stretch(struct target *t, uint64_t insns, struct tally *y)
{
	struct user_regs_struct u;
	struct emu_result out;
	struct emu_start start = { .insns = insns };
	uint64_t regs[WREG_MAX], ip;

	if (ptrace(PTRACE_GETREGS, t->pid, 0, &u))
		return -1;
	/* within a system call that is going to begin anew */
	if ((int64_t)u.orig_rax >= 0 && (int64_t)u.rax <= -512 && (int64_t)u.rax >= -516)
		return step_once(t->pid);
	step_wreg(&u, regs);
	start.regs = regs;
	memset(&t->before, 0, sizeof(t->before));
	memcpy(t->before.r, regs, sizeof(regs));
	t->before.known = ~0u;
	t->before.flags_known = 0xff;
	t->points = 0;
	t->doubtful = false;
	emu_watch(t->emu, watch, t);
	start.insns = 0;
	if (emu_run(t->emu, &start, &out))
		return -1;
	check_begin(t, emu_state(t->emu), y);
	if (y->begin_wrong && verbose)
		tell(t, u.rip, "wrong at first at");
	memcpy(t->before.v, emu_state(t->emu)->v, sizeof(t->before.v));
	start.insns = insns;
	if (emu_run(t->emu, &start, &out))
		return -1;
	y->stretches++;
	y->asked += insns;
	y->ends[out.end]++;
	if (verbose && out.end != EMU_DONE)
		tell(t, out.end_ip, emu_end_str(out.end));
	y->unknown += out.unknown;
	y->syscalls += out.syscalls;
	y->pages += out.pages;
	check_counts(t, regs[WREG_IP], out.insns, y);
	ip = u.rip;
	for (uint32_t i = 0; i < t->points; i++) {
		const struct point *p = &t->point[i];

		if (follow(t, p, ip, &u)) {
			y->lost++;
			if (verbose)
				complain(t, ip, p, 0);
			return kill(t->pid, 0) ? -1 : 0;
		}
		if (u.rip != p->r[WREG_IP] && trap_lost(t->pid, ip))
			return 0;
		y->skips += p->skipped;
		*(p->doubtful ? &y->doubtful : &y->insns) += 1;
		if (u.rip != p->r[WREG_IP] || !agrees(t->pid, p, &u, y)) {
			*(p->doubtful ? &y->doubtful_wrong : u.rip != p->r[WREG_IP] ? &y->path_wrong : &y->wrong) += 1;
			if (verbose || !p->doubtful)
				complain(t, ip, p, u.rip);
			return 0;
		}
		ip = u.rip;
	}
	return 0;
}

static bool target_open(struct target *t)
{
	struct emu_env env = {
		.code = read_code, .page = read_page, .function = function_at, .fixed = never_written, .ctx = t
	};

	t->images.pid = t->pid;
	t->emu = emu_new(&env);
	return t->emu;
}

static void target_close(struct target *t)
{
	step_end(t->pid);
	emu_free(t->emu);
	free(t->point);
	step_forget_images(&t->images);
}

static void print_tally(const char *name, const struct tally *y)
{
	double n = (double)(y->insns + y->doubtful);

	printf("# %-12s %lu stretches, %lu of %lu instructions compared (%lu more doubtful), %lu wrong, %lu took another way, %lu "
	       "doubtful wrong\n",
	       name, y->stretches, y->insns, y->asked, y->doubtful, y->wrong, y->path_wrong, y->doubtful_wrong);
	if (n > 0)
		printf("# %-12s known: %.1f %% of registers, %.1f %% of flags, %lu bytes of vectors; %lu without a rule, %lu calls "
		       "left early (%lu lost), %lu system calls, %lu pages, %lu calls\n",
		       name, 100.0 * (double)y->known / (16 * n), 100.0 * (double)y->flags_known / (6 * n), y->vectors,
		       y->unknown, y->skips, y->lost, y->syscalls, y->pages, y->calls);
	printf("# %-12s at first: %lu bytes of vectors known, %lu wrong; %lu counts and %lu calls wrong; ended:", name,
	       y->begin, y->begin_wrong, y->counts_wrong, y->calls_missing);
	for (unsigned i = 0; i < EMU_ENDS; i++)
		if (y->ends[i])
			printf(" %s %lu", emu_end_str((enum emu_end)i), y->ends[i]);
	printf("\n");
	fflush(stdout);
}

static void assert_right(const struct tally *y)
{
	assert_int_equal(y->wrong, 0);
	assert_int_equal(y->path_wrong, 0);
	assert_int_equal(y->begin_wrong, 0);
	assert_int_equal(y->counts_wrong, 0);
	assert_int_equal(y->calls_missing, 0);
}

/* ---- programs ---- */

static int run_program(char **argv, bool from_start, unsigned stretches, uint64_t insns, struct tally *y)
{
	struct target t = { 0 };
	unsigned seed = 12345;
	int rc = -1;

	t.pid = step_start(argv, true);
	if (t.pid < 0)
		return -1;
	if (!target_open(&t))
		goto out;
	for (unsigned i = 0; i < stretches; i++) {
		seed = seed * 1103515245 + 12345;
		if (!from_start) {
			if (step_let_run(t.pid, i ? 200000 + (seed >> 8) % 3000000 : 60000000))
				goto out;
			emu_forget(t.emu);
		}
		if (stretch(&t, insns, y))
			goto out;
	}
	rc = 0;
out:
	target_close(&t);
	return rc;
}

static const char *name_of(char **argv)
{
	return strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
}

static void check_program(char **argv)
{
	struct tally y = { 0 };

	if (access(argv[0], X_OK)) {
		printf("# %s is not there: run `make workloads`\n", argv[0]);
		skip();
	}
	assert_int_equal(run_program(argv, false, SIZED(5, 2), 1500, &y), 0);
	print_tally(name_of(argv), &y);
	assert_right(&y);
}

#define PROGRAM(ident, ...)                                                                                            \
	TEST(ident)                                                                                                    \
	{                                                                                                              \
		check_program((char *[]){ __VA_ARGS__, NULL });                                                        \
	}

PROGRAM(jpeg, (char *)"build/workloads/jpeg", (char *)"--loop")
PROGRAM(zlib, (char *)"build/workloads/zlibuse", (char *)"--loop")
PROGRAM(xml, (char *)"build/workloads/xml", (char *)"--loop")
PROGRAM(kv, (char *)"build/workloads/kv", (char *)"--loop")
PROGRAM(json, (char *)"build/workloads/json", (char *)"--loop")
PROGRAM(bwt, (char *)"build/workloads/bwt", (char *)"--loop")
PROGRAM(motion, (char *)"build/workloads/motion", (char *)"--loop")
PROGRAM(python, (char *)"/usr/bin/python3", (char *)"-c",
	(char *)"d={}\nwhile True:\n for i in range(1000):\n  d[i]=[i]*3\n  x=str(i)+'a'\n")
PROGRAM(perl, (char *)"/usr/bin/perl", (char *)"-e", (char *)"while(1){$h{$i%99}.=$i++;%h=() if $i%9999==0}")

/* From its first instruction: the dynamic linker, then what most programs do first. */
TEST(program_start)
{
	struct tally y = { 0 };
	char *ls[] = { (char *)"/bin/ls", (char *)"-l", (char *)"/usr", NULL };

	run_program(ls, true, 20, 1000, &y);
	print_tally("ls", &y);
	assert_right(&y);
	assert_true(y.insns > 1000);
}

/* ---- every rule, by itself ---- */

#define ROWS 5
#define MEMORY 32768

static uint64_t rows[ROWS][EMU_FORMS_ROW];
static uint8_t memory[MEMORY];

/* Values at which carries, signs, shifts and equality turn. */
static void make_rows(void)
{
	static const uint64_t special[] = {
		0, 1, ~0ull, 0x7f, 0x80, 0x8000, 0x7fff, 0x80000000, 0x7fffffff, 0x8000000000000000, 0x7fffffffffffffff,
		0x0102030405060708, 0x123456789abcdef0, 0xfedcba9876543210, 0xffffffff, 0x100000000, 0xff,
		0xff00ff00ff00ff00,
	}, counts[] = { 0, 1, 8, 16, 31, 33, 64, 0xffffffffffffff9f };
	uint64_t x = 88172645463325252ull;

	for (unsigned i = 0; i < ROWS; i++)
		for (unsigned k = 0; k < EMU_FORMS_ROW; k++) {
			xorshift(&x);
			rows[i][k] = k == 2  ? counts[(i * 3 + 4) % 8]
				     : x & 3 ? special[(x >> 8) % (sizeof(special) / 8)]
					     : x;
		}
	rows[1][1] = rows[1][0]; /* equal ones */
	rows[2][0] = x;
	for (unsigned i = 0; i < MEMORY; i++)
		memory[i] = i % 200 < 100 ? (uint8_t)(i * 7) : 0;
}

typedef void form_fn(const uint64_t *row, const uint64_t *end, uint8_t *mem);

static void check_forms(const char *name, form_fn *fn)
{
	struct tally y = { 0 };
	struct target t = { 0 };
	struct user_regs_struct u;
	int status;

	make_rows();
	t.pid = fork();
	if (!t.pid) {
		step_stay_here();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
	assert_true(target_open(&t));
	assert_int_equal(ptrace(PTRACE_GETREGS, t.pid, 0, &u), 0);
	u.orig_rax = ~0ull;
	u.rip = (uintptr_t)fn;
	u.rsp = (u.rsp & ~63ull) - 4096 - 8;
	u.rdi = (uintptr_t)rows[0];
	u.rsi = (uintptr_t)rows[ROWS];
	u.rdx = (uintptr_t)(memory + MEMORY / 2);
	u.r11 = 0x1111;
	assert_int_equal(ptrace(PTRACE_SETREGS, t.pid, 0, &u), 0);
	/* where it returns to: nowhere */
	assert_int_equal(ptrace(PTRACE_POKEDATA, t.pid, u.rsp, 0), 0);
	assert_int_equal(stretch(&t, 10000000, &y), 0);
	target_close(&t);
	print_tally(name, &y);
	assert_right(&y);
	assert_int_equal(y.lost, 0);
	assert_int_equal(y.doubtful, 0);
	/* all of it */
	assert_int_equal(y.ends[EMU_CODE], 1);
}

TEST(forms)
{
	check_forms("forms", emu_forms);
}

TEST(forms_bmi)
{
	if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
		skip();
	check_forms("forms_bmi", emu_forms_bmi);
}

TEST(forms_norule)
{
	check_forms("forms_norule", emu_forms_norule);
}

TEST(forms_norule_new)
{
	if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("avx512f"))
		skip();
	check_forms("norule_new", emu_forms_norule_new);
}

TEST(forms_xsave)
{
	unsigned a, b, c, d;

	/* xsavec */
	if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a & 2))
		skip();
	check_forms("forms_xsave", emu_forms_xsave);
}

int main(int argc, char **argv)
{
	elf_version(EV_CURRENT);
	verbose = getenv("EMU_VERBOSE");
	if (argc > 1) {
		const char *insns = getenv("EMU_INSNS"), *stretches = getenv("EMU_STRETCHES");
		struct tally y = { 0 };
		int rc;

		catch_up = 300000;
		rc = run_program(argv + 1, getenv("EMU_START"), stretches ? (unsigned)atoi(stretches) : 20,
				 insns ? (uint64_t)atoll(insns) : 20000, &y);

		print_tally(name_of(argv + 1), &y);
		return rc || y.wrong || y.path_wrong;
	}
	return RUN_TESTS(NULL, NULL);
}
