// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * emu keep PID N FILE: stops a thread N times, .1 s apart, carries it on in each of the ways below, and keeps the
 * registers, stack, code and pages that this took.
 * emu run FILE ROUNDS [WAY]: carries the kept ones on; prints ns an instruction, and a hash of all that the emulator
 * told, by way. Two builds of the library are compared by both.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "emu/emu.h"
#include "util/map.h"

#define STACK 24576u
#define CODE_PIECE 64u
#define GIVEN 16u /* pages of a start that come with it, in one of the ways */

struct start {
	uint64_t regs[WREG_MAX];
	uint32_t stack_bytes, pages, codes, fixes;
	uint8_t stack[STACK];
	struct map page, code; /* addr -> pointer, 0: none */
	struct map fixed;
};

static const struct way {
	const char *name;
	uint64_t insns;
	uint32_t guesses;
	bool access, branches, to_entry, aged, given;
} ways[] = {
	{ "burst", 10000, 8, true, true, false, false, true },
	{ "plain", 100000, 8, false, false, false, false, true },
	{ "aged", 10000, 8, true, true, false, true, true },
	{ "segment", 1000000, 0, true, false, true, false, false },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static int live; /* pid; 0: from the file */
static struct start *now;
static struct ranges {
	uint64_t from, to;
	bool write, exec;
} range[65536];
static size_t ranges;

static const struct ranges *range_of(uint64_t addr)
{
	for (size_t i = 0; i < ranges; i++)
		if (addr - range[i].from < range[i].to - range[i].from)
			return &range[i];
	return NULL;
}

static bool peek(uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };

	return process_vm_readv(live, &to, 1, &from, 1, 0) == (ssize_t)len;
}

/* Kept, or looked up and kept. */
static const uint8_t *piece(struct map *m, uint64_t addr, size_t len, bool wanted)
{
	uint64_t *v = map_get(m, addr);
	uint8_t *p = NULL;

	if (v)
		return (const uint8_t *)(uintptr_t)*v;
	if (!live)
		return NULL;
	p = wanted ? malloc(len) : NULL;
	if (p && !peek(addr, p, len)) {
		free(p);
		p = NULL;
	}
	*map_put(m, addr, NULL) = (uintptr_t)p;
	return p;
}

static size_t code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		uint64_t at = (addr + done) & ~(uint64_t)(CODE_PIECE - 1), off = addr + done - at, n = CODE_PIECE - off;
		const struct ranges *r = live ? range_of(at) : NULL;
		const uint8_t *p = piece(&now->code, at, CODE_PIECE, r && r->exec && !r->write);

		if (!p)
			break;
		n = n < len - done ? n : len - done;
		memcpy((uint8_t *)buf + done, p + off, n);
		done += n;
	}
	return done;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	const uint8_t *p = piece(&now->page, addr & ~(uint64_t)(EMU_PAGE - 1), EMU_PAGE, true);

	if (p)
		memcpy(buf, p, EMU_PAGE);
	return p;
}

static bool fixed(void *ctx, uint64_t addr, size_t len)
{
	uint64_t *v = map_get(&now->fixed, addr);
	const struct ranges *r;

	if (v || !live)
		return v && *v;
	r = range_of(addr);
	return *map_put(&now->fixed, addr, NULL) = r && !r->write && len <= r->to - addr;
}

static void read_ranges(int pid)
{
	char name[64], line[4096], prot[8];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "r");
	for (ranges = 0; f && fgets(line, sizeof(line), f) && ranges < 65536; ranges++) {
		struct ranges *r = &range[ranges];

		if (sscanf(line, "%lx-%lx %7s", &r->from, &r->to, prot) != 3)
			break;
		r->write = prot[1] == 'w';
		r->exec = prot[2] == 'x';
	}
	if (f)
		fclose(f);
}

/* ---- what is told ---- */

static uint64_t hash, accesses;

static void mix(const void *data, size_t len)
{
	const uint8_t *b = data;

	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t w;

		memcpy(&w, b + i, 8);
		hash = (hash ^ w) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
}

static void one(uint64_t v)
{
	mix(&v, sizeof(v));
}

static void hash_access(void *ctx, const struct emu_access *a)
{
	const uint64_t v[] = { a->ip, a->addr, a->sp, a->size, a->at, a->store, a->writer, a->age };

	mix(v, sizeof(v));
}

static void count_access(void *ctx, const struct emu_access *a)
{
	accesses += a->size;
}

static void hash_run(struct emu *e, const struct emu_result *r)
{
	static struct emu_count c[1 << 20];
	size_t n = emu_counts(e, c, 1 << 20), k;
	const struct emu_call *call;
	const struct emu_branch *b;
	const struct emu_cut *cut;
	struct emu_touched t;
	uint64_t v;

	const uint64_t told[] = { r->end,   r->end_ip,  r->insns,    r->skipped, r->guessed, r->syscalls,
				  r->pages, r->unknown, r->unlisted, r->changed, n };

	mix(told, sizeof(told));
	for (size_t i = 0; i < n; i++) {
		one(c[i].ip);
		one(c[i].runs);
		one(c[i].repeats);
		one(c[i].took);
		one((uint64_t)c[i].loads << 24 | (uint64_t)c[i].stores << 16 | (uint64_t)c[i].bytes << 8 | c[i].moves);
	}
	call = emu_calls(e, &k);
	mix(call, k * sizeof(*call));
	cut = emu_cuts(e, &k);
	mix(cut, k * sizeof(*cut));
	b = emu_branches(e, &k);
	mix(b, k * sizeof(*b));
	for (uint32_t i = 0; emu_touched(e, i, &t); i++)
		one(t.addr | (uint64_t)t.given << 1 | t.spared);
	for (unsigned i = 0; i <= WREG_IP; i++)
		one(emu_register(e, i, &v) ? v : 1);
	emu_written(e, hash_access, NULL);
}

static struct emu_result carry(struct emu *e, struct start *s, const struct way *w, bool hashed)
{
	static struct sample_page given[GIVEN];
	struct emu_start from = { .regs = s->regs,
				  .stack = s->stack,
				  .stack_bytes = s->stack_bytes,
				  .page = given,
				  .aged = w->aged,
				  .insns = w->insns,
				  .guesses = w->guesses,
				  .to_entry = w->to_entry,
				  .access = !w->access ? NULL
					    : hashed   ? hash_access
						       : count_access,
				  .branches = w->branches };
	struct emu_result out = { 0 };
	uint64_t key, *v;

	now = s;
	/* whichever lie first in the table: the same for all */
	for (size_t pos = 0; w->given && !live && from.pages < GIVEN && map_next(&s->page, &pos, &key, &v);)
		if (*v)
			given[from.pages++] =
				(struct sample_page){ .addr = key, .byte = (const uint8_t *)(uintptr_t)*v };
	if (emu_run(e, &from, &out))
		exit(3);
	if (hashed)
		hash_run(e, &out);
	return out;
}

/* ---- files ---- */

static void put_map(FILE *f, const struct map *m, size_t len)
{
	uint64_t n = 0, key, *v;

	for (size_t pos = 0; map_next(m, &pos, &key, &v);)
		n++;
	fwrite(&n, 8, 1, f);
	for (size_t pos = 0; map_next(m, &pos, &key, &v);) {
		fwrite(&key, 8, 1, f);
		fputc(*v != 0, f);
		if (*v && len)
			fwrite((const void *)(uintptr_t)*v, len, 1, f);
	}
}

static void get_map(FILE *f, struct map *m, size_t len)
{
	uint64_t n = 0, key;

	if (fread(&n, 8, 1, f) != 1)
		exit(1);
	while (n--) {
		uint8_t *p = NULL;
		int there;

		if (fread(&key, 8, 1, f) != 1 || (there = fgetc(f)) < 0)
			exit(1);
		if (there && len && (!(p = malloc(len)) || fread(p, len, 1, f) != 1))
			exit(1);
		*map_put(m, key, NULL) = len ? (uintptr_t)p : (uint64_t)there;
	}
}

static void take_registers(int pid, struct start *s)
{
	struct user_regs_struct u;

	ptrace(PTRACE_GETREGS, pid, NULL, &u);
#define R(w, f) (s->regs[w] = u.f)
	R(WREG_AX, rax), R(WREG_DX, rdx), R(WREG_CX, rcx), R(WREG_BX, rbx), R(WREG_SI, rsi), R(WREG_DI, rdi);
	R(WREG_BP, rbp), R(WREG_SP, rsp), R(WREG_R8, r8), R(WREG_R9, r9), R(WREG_R10, r10), R(WREG_R11, r11);
	R(WREG_R12, r12), R(WREG_R13, r13), R(WREG_R14, r14), R(WREG_R15, r15), R(WREG_IP, rip), R(WREG_FLAGS, eflags);
	R(WREG_FSBASE, fs_base);
	for (s->stack_bytes = STACK; s->stack_bytes && !peek(s->regs[WREG_SP], s->stack, s->stack_bytes);)
		s->stack_bytes -= 1024;
}

static int keep(int pid, unsigned n, const char *file, struct emu *e)
{
	FILE *f = fopen(file, "w");
	int status;

	if (!f || ptrace(PTRACE_SEIZE, pid, NULL, NULL))
		return 1;
	live = pid;
	for (unsigned i = 0; i < n; i++) {
		struct start *s = calloc(1, sizeof(*s));

		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			break;
		read_ranges(pid);
		take_registers(pid, s);
		emu_forget(e);
		for (size_t w = 0; w < WAYS; w++)
			carry(e, s, &ways[w], false);
		ptrace(PTRACE_CONT, pid, NULL, NULL);
		fwrite(s->regs, sizeof(s->regs), 1, f);
		fwrite(&s->stack_bytes, 4, 1, f);
		fwrite(s->stack, STACK, 1, f);
		put_map(f, &s->page, EMU_PAGE);
		put_map(f, &s->code, CODE_PIECE);
		put_map(f, &s->fixed, 0);
		usleep(100000);
	}
	ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return fclose(f) != 0;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int run(const char *file, unsigned rounds, const char *way, struct emu *e)
{
	static struct start *all[4096];
	FILE *f = fopen(file, "r");
	size_t n = 0;

	for (; f && n < 4096; n++) {
		struct start *s = calloc(1, sizeof(*s));

		if (!s || fread(s->regs, sizeof(s->regs), 1, f) != 1)
			break;
		if (fread(&s->stack_bytes, 4, 1, f) != 1 || fread(s->stack, STACK, 1, f) != 1)
			return 1;
		get_map(f, &s->page, EMU_PAGE);
		get_map(f, &s->code, CODE_PIECE);
		get_map(f, &s->fixed, 0);
		all[n] = s;
	}
	for (size_t w = 0; w < WAYS; w++) {
		uint64_t insns = 0;
		double took = 0;

		if (way && strcmp(way, ways[w].name))
			continue;

		hash = 1;
		for (size_t i = 0; i < n; i++)
			carry(e, all[i], &ways[w], true);
		for (unsigned k = 0; k < rounds; k++)
			for (size_t i = 0; i < n; i++) {
				double began = cpu_ns();

				insns += carry(e, all[i], &ways[w], false).insns;
				took += cpu_ns() - began;
			}
		printf("%-8s %4zu starts %9llu instructions %6.2f ns  %016llx\n", ways[w].name, n,
		       (unsigned long long)(rounds ? insns / rounds : 0), insns ? took / (double)insns : 0,
		       (unsigned long long)hash);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct emu_env env = { .code = code, .page = page, .fixed = fixed };
	struct emu *e = emu_new(&env);

	if (e && argc == 5 && !strcmp(argv[1], "keep"))
		return keep(atoi(argv[2]), (unsigned)atoi(argv[3]), argv[4], e);
	if (e && argc >= 4 && !strcmp(argv[1], "run"))
		return run(argv[2], (unsigned)atoi(argv[3]), argv[4], e);
	fputs("usage: emu keep PID N FILE | emu run FILE ROUNDS [WAY]\n", stderr);
	return 2;
}
