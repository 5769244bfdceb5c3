// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The block evaluator against the processor: real programs run under ptrace, single-stepped for a
 * stretch now and then; one instruction in the middle of each stretch plays the sample. What the
 * evaluator computes from that instant is compared with the registers seen at every other step.
 *
 *   u-truth PROGRAM [ARGS...]   prints the figures for one program, and how long a cached block takes
 */
#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#include "abi.h"
#include "code/block.h"
#include "format.h"
#include "unit/sized.h"
#include "unit/stepping.h"
#include "unit/unit.h"

#define HALF 96 /* steps before and after the sample */
#define STRETCHES SIZED(250, 60)
#define STACK_BYTES 4096

struct target {
	pid_t pid;
	struct step_images images;
	ZydisDecoder decoder;
	struct block_cache *cache;
	struct block_code code;
};

struct tally {
	uint64_t samples, failed, exact, wrong, path_wrong, known, unknown, block_known, block_unknown, block_mem,
		cached_ns, cached;
};

static bool timing; /* measures the evaluation of blocks that are in the cache; no test asserts it */

static size_t read_target(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct target *t = ctx;

	return step_read(t->pid, addr, buf, len);
}

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	struct target *t = ctx;

	return step_function(&t->images, addr, start, end);
}

/* Operand addresses by the decoder library's own evaluation of the registers seen: the judge. */
static unsigned true_addresses(struct target *t, const struct user_regs_struct *u, uint64_t *addr, unsigned max)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisRegisterContext rc = { 0 };
	ZydisDecodedInstruction z;
	uint8_t bytes[15];
	unsigned n = 0;
	size_t have = read_target(t, u->rip, bytes, sizeof(bytes));
	const uint64_t gpr[16] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
				   u->r8,  u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&t->decoder, bytes, have, &z, op)))
		return 0;
	for (unsigned i = 0; i < 16; i++) {
		rc.values[ZYDIS_REGISTER_RAX + i] = gpr[i];
		rc.values[ZYDIS_REGISTER_EAX + i] = (uint32_t)gpr[i];
	}
	for (unsigned i = 0; i < z.operand_count && n < max; i++) {
		uint64_t a;
		bool hidden = op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY || op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		rc.values[ZYDIS_REGISTER_RSP] = u->rsp;
		if (z.mnemonic == ZYDIS_MNEMONIC_POP && !hidden)
			rc.values[ZYDIS_REGISTER_RSP] += z.operand_width / 8;
		if (z.mnemonic == ZYDIS_MNEMONIC_LEAVE) {
			addr[n++] = u->rbp;
			continue;
		}
		if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&z, &op[i], u->rip, &rc, &a)))
			continue;
		if (op[i].mem.segment == ZYDIS_REGISTER_FS)
			a += u->fs_base;
		if (hidden && (z.mnemonic == ZYDIS_MNEMONIC_PUSH || z.mnemonic == ZYDIS_MNEMONIC_CALL))
			a -= op[i].size / 8;
		if ((z.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) &&
		    (u->eflags & 0x400))
			continue;
		addr[n++] = a;
	}
	return n;
}

/* One stretch: records steps, evaluates the one in the middle. Returns -1 when the program is gone. */
static int stretch(struct target *t, unsigned follow, struct tally *y)
{
	static struct user_regs_struct trace[2 * HALF + 1];
	static struct block_result res;
	uint8_t stack[STACK_BYTES];
	uint64_t regs[WREG_MAX];
	struct block_state s = { .regs = regs, .stack = stack, .stack_end = 0x7fffffffffffull };
	size_t got = 0;

	for (unsigned i = 0; i <= 2 * HALF; i++) {
		if (ptrace(PTRACE_GETREGS, t->pid, 0, &trace[i]))
			return -1;
		if (i == HALF)
			got = read_target(t, trace[i].rsp, stack, sizeof(stack));
		if (i < 2 * HALF && step_once(t->pid))
			return -1;
	}
	step_wreg(&trace[HALF], regs);
	s.code_ip = regs[WREG_IP];
	s.stack_bytes = (uint32_t)got;
	y->samples++;
	if (block_sample(t->cache, &t->code, &s, follow, &res)) {
		y->failed++;
		return 0;
	}
	if (timing) {
		struct timespec t0, t1;

		clock_gettime(CLOCK_MONOTONIC, &t0);
		for (int i = 0; i < 2000; i++)
			block_sample(t->cache, &t->code, &s, 0, &res);
		clock_gettime(CLOCK_MONOTONIC, &t1);
		y->cached_ns += (uint64_t)(t1.tv_sec - t0.tv_sec) * 1000000000u + (uint64_t)(t1.tv_nsec - t0.tv_nsec);
		y->cached += 2000;
		block_sample(t->cache, &t->code, &s, follow, &res);
	}
	y->known += res.known;
	y->unknown += res.unknown;
	y->block_known += res.block_known;
	y->block_unknown += res.block_unknown;
	for (unsigned i = 0; i < res.count; i++) {
		const struct block_access *a = &res.access[i];
		int at = HALF + a->step;
		uint64_t addr[4];
		unsigned n;
		bool ok = false;

		if (!a->known || at < 0 || at > 2 * HALF)
			continue;
		y->exact++;
		/* rep instructions take several steps: their neighbours shift; follow the path only where
		 * the trace has the instruction, else count it against us unless a rep lies between */
		if (trace[at].rip != a->ip) {
			bool rep = false;
			int lo = at < HALF ? at : HALF, hi = at < HALF ? HALF : at;

			for (int k = lo; k < hi; k++)
				rep |= trace[k].rip == trace[k + 1].rip;
			if (rep) {
				y->exact--;
				continue;
			}
			y->path_wrong++;
			y->wrong++;
			if (getenv("TRUTH_VERBOSE"))
				printf("path: sample %#llx step %d claims %#lx, was at %#llx\n", trace[HALF].rip,
				       a->step, (unsigned long)a->ip, trace[at].rip);
			continue;
		}
		n = true_addresses(t, &trace[at], addr, 4);
		for (unsigned k = 0; k < n; k++)
			ok |= addr[k] == a->addr;
		if (!ok) {
			y->wrong++;
			if (getenv("TRUTH_VERBOSE"))
				printf("addr: sample %#llx step %d ip %#lx claims %#lx, is %#lx\n", trace[HALF].rip,
				       a->step, (unsigned long)a->ip, (unsigned long)a->addr,
				       n ? (unsigned long)addr[0] : 0ul);
		}
	}
	return 0;
}

static int run_program(char **argv, unsigned stretches, unsigned follow, struct tally *y)
{
	struct target t = { 0 };
	unsigned seed = 12345;
	int rc = -1;

	t.pid = t.images.pid = step_start(argv, false);
	if (t.pid < 0)
		return -1;
	elf_version(EV_CURRENT);
	ZydisDecoderInit(&t.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	t.cache = block_cache_new(0);
	t.code = (struct block_code){ .id = 1, .read = read_target, .bounds = bounds, .ctx = &t };
	for (unsigned i = 0; i < stretches; i++) {
		seed = seed * 1103515245 + 12345;
		if (step_let_run(t.pid, i ? 200000 + (seed >> 8) % 2000000 : 50000000) || stretch(&t, follow, y))
			goto out;
	}
	rc = 0;
out:
	step_end(t.pid);
	step_forget_images(&t.images);
	block_cache_free(t.cache);
	return rc;
}

static void print_tally(const char *name, const struct tally *y)
{
	printf("# %-10s %lu samples, %lu checked, %lu wrong (%lu by path); known %.1f %% of all operands, %.1f %% of "
	       "the block's; %.2f addresses a sample; %lu undecodable\n",
	       name, y->samples, y->exact, y->wrong, y->path_wrong,
	       100.0 * (double)y->known / (double)(y->known + y->unknown),
	       100.0 * (double)y->block_known / (double)(y->block_known + y->block_unknown),
	       (double)y->known / (double)y->samples, y->failed);
	if (y->cached)
		printf("# %-10s %.0f ns for a cached block\n", name, (double)y->cached_ns / (double)y->cached);
}

static void check_program(char **argv)
{
	struct tally y = { 0 };
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	if (access(argv[0], X_OK)) {
		printf("# %s is not there: run `make workloads`\n", argv[0]);
		skip();
	}
	assert_int_equal(run_program(argv, STRETCHES, 24, &y), 0);
	print_tally(name, &y);
	/* enough was checked to mean something, and all but one in a thousand is right */
	assert_true(y.exact > STRETCHES);
	assert_true(y.wrong * 1000 <= y.exact);
	assert_true(y.block_known * 10 >= (y.block_known + y.block_unknown) * 6);
}

#define PROGRAM(ident, ...)                                                                                            \
	TEST(ident)                                                                                                    \
	{                                                                                                              \
		check_program((char *[]){ __VA_ARGS__, NULL });                                                        \
	}

PROGRAM(rotate, (char *)"build/workloads/rotate", (char *)"--loop")
PROGRAM(pipeline, (char *)"build/workloads/pipeline", (char *)"--loop")
PROGRAM(hash_table, (char *)"build/workloads/kv", (char *)"--loop")
PROGRAM(zlib, (char *)"build/workloads/zlibuse", (char *)"--loop")
PROGRAM(python, (char *)"/usr/bin/python3", (char *)"-c",
	(char *)"d={}\nwhile True:\n for i in range(1000):\n  d[i]=[i]*3\n  x=str(i)+'a'\n")

int main(int argc, char **argv)
{
	if (argc > 1) {
		struct tally y = { 0 };
		int rc;

		timing = true;
		rc = run_program(argv + 1, STRETCHES, 24, &y);

		print_tally(argv[1], &y);
		return rc ? 1 : 0;
	}
	return RUN_TESTS(NULL, NULL);
}
