// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that is read after the sample: where it has changed again by the end of a run, what rested on it is taken
 * back. */
#include <string.h>

#include "abi.h"
#include "emu/emu.h"
#include "unit/fake_code.h"
#include "unit/unit.h"

#define FIRST 0x700000ull
#define SECOND 0x710000ull
#define TURNS 1000u

static const uint8_t bytes[] = {
	0x48, 0x8b,        0x07,             /*  0 mov rax, [rdi] */
	0xb9, TURNS & 255, TURNS >> 8, 0, 0, /* 3 mov ecx, TURNS */
	0xff, 0xc9,                          /*  8 dec ecx */
	0x75, 0xfc,                          /* 10 jne 8 */
	0x48, 0x8b,        0x1e,             /* 12 mov rbx, [rsi] */
	0xb9, 0x0a,        0,          0, 0, /* 15 mov ecx, 10 */
	0xff, 0xc9,                          /* 20 dec ecx */
	0x75, 0xfc,                          /* 22 jne 20 */
	0x48, 0x89,        0x1f,             /* 24 mov [rdi], rbx */
	0x90,                                /* 27 nop */
};
#define BEFORE_SECOND (2 + 2 * TURNS)
#define ALL (BEFORE_SECOND + 2 + 2 * 10 + 2)

struct memory {
	struct fake_code code; /* first: fake_code() takes it for that */
	uint64_t changing;     /* the page that is another one each time */
	unsigned at;           /* ... in this byte */
	unsigned reads;
};

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	struct memory *m = ctx;

	memset(buf, 0, EMU_PAGE);
	if (addr == m->changing)
		buf[m->at] = (uint8_t)++m->reads;
	return true;
}

static struct emu_result run(struct memory *m, bool given, uint64_t *loop)
{
	static const uint8_t nothing[EMU_PAGE];
	const struct sample_page held[] = { { FIRST, nothing }, { SECOND, nothing } };
	struct emu_env env = { .code = fake_code, .page = page, .ctx = m };
	struct emu *e = emu_new(&env);
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP, [WREG_DI] = FIRST, [WREG_SI] = SECOND };
	struct emu_start start = { .regs = regs, .insns = ALL, .page = held, .pages = given ? 2 : 0 };
	struct emu_result out;

	assert_non_null(e);
	m->code = (struct fake_code){ bytes, sizeof(bytes) };
	assert_int_equal(emu_run(e, &start, &out), 0);
	*loop = emu_runs_of(e, CODE + 8);
	emu_free(e);
	return out;
}

static void is_whole(struct memory *m, bool given)
{
	uint64_t loop;
	struct emu_result out = run(m, given, &loop);

	assert_int_equal(out.end, EMU_DONE);
	assert_int_equal(out.insns, ALL);
	assert_int_equal(loop, TURNS);
	assert_false(out.changed);
}

TEST(test_what_stays)
{
	struct memory m = { .changing = 0 };

	is_whole(&m, false);
	/* beside what was read */
	m = (struct memory){ .changing = FIRST, .at = 8 };
	is_whole(&m, false);
	assert_true(m.reads > 1);
	/* read with the sample: what it is now says nothing */
	m = (struct memory){ .changing = FIRST };
	is_whole(&m, true);
	assert_int_equal(m.reads, 0);
}

TEST(test_what_changes)
{
	struct memory m = { .changing = FIRST };
	uint64_t loop;
	struct emu_result out = run(&m, false, &loop);

	/* the instruction that read it ran */
	assert_int_equal(out.end, EMU_ASTRAY);
	assert_true(out.changed);
	assert_int_equal(out.insns, 1);
	assert_int_equal(out.end_ip, CODE + 3);
	assert_int_equal(loop, 0);
	/* what was read later takes back what came later */
	m = (struct memory){ .changing = SECOND };
	out = run(&m, false, &loop);
	assert_true(out.changed);
	assert_int_equal(out.insns, BEFORE_SECOND + 1);
	assert_int_equal(out.end_ip, CODE + 15);
	assert_int_equal(loop, TURNS);
}

/* Two rounds of five calls, and what is read between them changes: counted is what ran until then, calls too. */
TEST(test_taken_back)
{
	static const uint8_t rounds[] = {
		0xb9, 5,    0,    0, 0, /*  0 mov ecx, 5 */
		0xe8, 13,   0,    0, 0, /*  5 call 23 */
		0xff, 0xc9,             /* 10 dec ecx */
		0x75, 0xf7,             /* 12 jne 5 */
		0x48, 0x8b, 0x1e,       /* 14 mov rbx, [rsi] */
		0xff, 0xca,             /* 17 dec edx */
		0x75, 0xeb,             /* 19 jne 0 */
		0x90, 0x90,             /* 21 nop nop */
		0x90, 0xc3,             /* 23 nop ret */
	};
	struct memory m = { .code = { rounds, sizeof(rounds) }, .changing = SECOND };
	struct emu_env env = { .code = fake_code, .page = page, .ctx = &m };
	struct emu *e = emu_new(&env);
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP, [WREG_DX] = 2, [WREG_SI] = SECOND };
	struct emu_start start = { .regs = regs, .insns = 2 * 29 };
	const struct emu_call *call;
	struct emu_result out;
	size_t calls;

	assert_non_null(e);
	/* a second run begins anew, whatever the first took back */
	for (int again = 0; again < 2; again++) {
		assert_int_equal(emu_run(e, &start, &out), 0);
		assert_true(out.changed);
		assert_int_equal(out.insns, 27);
		assert_int_equal(emu_runs_of(e, CODE), 1);
		assert_int_equal(emu_runs_of(e, CODE + 10), 5);
		assert_int_equal(emu_runs_of(e, CODE + 23), 5);
		assert_int_equal(emu_runs_of(e, CODE + 14), 1);
		assert_int_equal(emu_runs_of(e, CODE + 17), 0);
		call = emu_calls(e, &calls);
		assert_int_equal(calls, 1);
		assert_int_equal(call[0].runs, 5);
	}
	emu_free(e);
}

/* What the sample's piece of stack covers is as old as the sample; what lies below the stack pointer is not, and leaf
 * functions keep theirs there. */
TEST(test_stack)
{
	static const uint8_t stack[2 * EMU_PAGE];
	struct memory m = { .code = { bytes, sizeof(bytes) }, .changing = SP & ~(uint64_t)(EMU_PAGE - 1) };
	struct emu_env env = { .code = fake_code, .page = page, .ctx = &m };
	struct emu *e = emu_new(&env);
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP, [WREG_SI] = SECOND };
	struct emu_start start = { .regs = regs, .insns = ALL, .stack = stack, .stack_bytes = sizeof(stack) };
	struct emu_touched t;
	struct emu_result out;

	assert_non_null(e);
	for (int below = 0; below < 2; below++) {
		regs[WREG_DI] = below ? SP - 8 : SP;
		m.at = (unsigned)(regs[WREG_DI] % EMU_PAGE);
		assert_int_equal(emu_run(e, &start, &out), 0);
		assert_int_equal(out.changed, below);
		assert_int_equal(out.end, below ? EMU_ASTRAY : EMU_DONE);
		/* that page is wanted with the next sample, the one above it is not */
		assert_true(emu_touched(e, 0, &t) && t.addr == m.changing && !t.spared);
	}
	regs[WREG_DI] = SP + EMU_PAGE;
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_true(emu_touched(e, 0, &t) && t.spared);
	emu_free(e);
}

static bool never_written(void *ctx, uint64_t addr, size_t len)
{
	return addr == SECOND && len == EMU_PAGE;
}

/* Of a sample that is old, memory that did not come with it is not looked at: unknown, where somebody can write. */
TEST(test_aged)
{
	static const uint8_t held[EMU_PAGE] = { 5 }, stack[16] = { 7 };
	const struct sample_page page_of_first = { FIRST, held };
	struct memory m = { .code = { bytes, sizeof(bytes) }, .changing = FIRST };
	struct emu_env env = { .code = fake_code, .page = page, .fixed = never_written, .ctx = &m };
	struct emu *e = emu_new(&env);
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP, [WREG_DI] = FIRST, [WREG_SI] = SECOND };
	struct emu_start start = { .regs = regs, .insns = ALL, .page = &page_of_first, .aged = true };
	struct emu_result out;
	uint64_t v;

	assert_non_null(e);
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_int_equal(out.insns, ALL);
	assert_int_equal(m.reads, 0);
	assert_false(emu_register(e, WREG_AX, &v));
	assert_true(emu_register(e, WREG_BX, &v) && v == 0); /* nobody can write there */
	start.pages = 1;
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_true(emu_register(e, WREG_AX, &v) && v == 5);
	/* a piece of the stack that is shorter than its page */
	start.stack = stack;
	start.stack_bytes = sizeof(stack);
	for (int beyond = 0; beyond < 2; beyond++) {
		regs[WREG_DI] = SP + 16 * (uint64_t)beyond;
		assert_int_equal(emu_run(e, &start, &out), 0);
		assert_int_equal(emu_register(e, WREG_AX, &v), !beyond);
		assert_true(beyond || v == 7);
	}
	assert_int_equal(m.reads, 0);
	/* the same memory, of a fresh one */
	start.aged = false;
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_true(emu_register(e, WREG_AX, &v));
	emu_free(e);
}

static const uint8_t repeating[] = {
	0xb9, 0x05, 0,    0,    0, /*  0 mov ecx, 5 */
	0xf3, 0xaa,                /*  5 rep stosb */
	0x48, 0x83, 0xc6, 0x20,    /*  7 add rsi, 32 */
	0x48, 0x8b, 0x1e,          /* 11 mov rbx, [rsi] */
	0xeb, 0xf0,                /* 14 jmp 0 */
};
#define IN_A_PAGE (EMU_PAGE / 32) /* rounds */

/* The repetitions of what is taken back go with it, and its time; those before stay. */
TEST(test_repeats_taken_back)
{
	struct memory m = { .code = { repeating, sizeof(repeating) } };
	struct emu_env env = { .code = fake_code, .page = page, .ctx = &m };
	struct emu *e = emu_new(&env);
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP, [WREG_DI] = FIRST, [WREG_SI] = SECOND };
	struct emu_start start = { .regs = regs, .insns = 5 * 2 * IN_A_PAGE };
	struct emu_result out;
	double each[2];

	assert_non_null(e);
	for (int changes = 0; changes < 2; changes++) {
		struct emu_count count[8];
		uint64_t repeats = 0, took = 0;
		size_t n;

		m.changing = changes ? SECOND + EMU_PAGE : 0;
		assert_int_equal(emu_run(e, &start, &out), 0);
		assert_int_equal(out.changed, changes);
		n = emu_counts(e, count, 8);
		for (size_t i = 0; i < n; i++)
			repeats += count[i].repeats, took += count[i].took;
		each[changes] = (double)took / out.insns;
		assert_int_equal(repeats, 4 * emu_runs_of(e, CODE + 5));
		assert_in_range(out.insns, 5, start.insns - (changes ? 5 * IN_A_PAGE : 0));
	}
	/* five of them start a string instruction, which takes 20 cycles */
	assert_true(each[0] > 2 * EMU_CYCLE && each[1] > 0.8 * each[0] && each[1] < 1.25 * each[0]);
	emu_free(e);
}
