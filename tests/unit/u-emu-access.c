// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run tells of its accesses: each once, by whom, how large, and which instruction of the run wrote there
 * last. */
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "emu/emu.h"
#include "unit/fake_code.h"
#include "unit/unit.h"

static const uint8_t code[] = {
	0x89, 0x07,                   /*  0 mov [rdi], eax */
	0x48, 0x8b, 0x1f,             /*  2 mov rbx, [rdi] */
	0x89, 0x06,                   /*  5 mov [rsi], eax: two pages */
	0x8b, 0x0e,                   /*  7 mov ecx, [rsi] */
	0x66, 0x49, 0x0f, 0x7e, 0xc0, /*  9 movq r8, xmm0: unknown */
	0x49, 0x8b, 0x10,             /* 14 mov rdx, [r8] */
	0x0f, 0x18, 0x0f,             /* 17 prefetcht0 [rdi] */
	0xff, 0x07,                   /* 20 inc dword [rdi] */
	0x50,                         /* 22 push rax */
	0xb9, 0x03, 0,    0,    0,    /* 23 mov ecx, 3 */
	0xf3, 0xaa,                   /* 28 rep stosb: [rdi .. rdi + 3) */
	0x8b, 0x47, 0xfd,             /* 30 mov eax, [rdi - 3] */
};
#define INSNS 12

struct seen {
	struct emu_access a[64];
	unsigned n;
};

static void take(void *ctx, const struct emu_access *a)
{
	struct seen *s = ctx;

	assert_true(s->n < 64);
	s->a[s->n++] = *a;
}

/* shape: one expected access. */
static void is(const struct emu_access *a, unsigned ip, uint64_t addr, unsigned size, bool store, int writer,
	       unsigned age)
{
	assert_int_equal(a->ip, CODE + ip);
	assert_int_equal(a->addr, addr);
	assert_int_equal(a->size, size);
	assert_int_equal(a->store, store);
	assert_int_equal(a->writer, writer < 0 ? 0 : CODE + (unsigned)writer);
	assert_int_equal(a->age, age);
	assert_int_equal(a->sp, ip > 22 ? SP - 8 : SP); /* it was pushed there */
}

static void run(struct emu *e, struct seen *s)
{
	uint64_t regs[WREG_MAX] = { 0 };
	struct emu_start start = { .regs = regs, .insns = INSNS, .access = s ? take : NULL, .access_ctx = s };
	struct emu_result out;

	regs[WREG_IP] = CODE;
	regs[WREG_SP] = SP;
	regs[WREG_DI] = DATA;
	regs[WREG_SI] = DATA + EMU_PAGE - 2;
	regs[WREG_AX] = 7;
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_int_equal(out.insns, INSNS);
	assert_int_equal(out.end, EMU_DONE);
}

static struct emu *new_emu(void)
{
	static struct fake_code fake = { code, sizeof(code) };
	struct emu_env env = { .code = fake_code, .page = fake_page, .ctx = &fake };
	struct emu *e = emu_new(&env);

	assert_non_null(e);
	return e;
}

TEST(test_accesses)
{
	struct emu *e = new_emu();

	for (int again = 0; again < 2; again++) { /* nothing of the run before is left */
		struct seen s = { .n = 0 };
		unsigned k = 0;

		run(e, &s);
		is(&s.a[k++], 0, DATA, 4, true, -1, 0);
		is(&s.a[k++], 2, DATA, 4, false, 0, 1);
		is(&s.a[k++], 2, DATA + 4, 4, false, -1, 0);
		is(&s.a[k++], 5, DATA + EMU_PAGE - 2, 2, true, -1, 0);
		is(&s.a[k++], 5, DATA + EMU_PAGE, 2, true, -1, 0);
		is(&s.a[k++], 7, DATA + EMU_PAGE - 2, 2, false, 5, 1);
		is(&s.a[k++], 7, DATA + EMU_PAGE, 2, false, 5, 1);
		/* the unknown place and the prefetch go untold */
		is(&s.a[k++], 20, DATA, 4, false, 0, 7);
		is(&s.a[k++], 20, DATA, 4, true, -1, 0);
		is(&s.a[k++], 22, SP - 8, 8, true, -1, 0);
		is(&s.a[k++], 28, DATA, 3, true, -1, 0);
		/* words are kept as a whole: the byte that is older goes with the rest */
		is(&s.a[k++], 30, DATA, 4, false, 28, 1);
		assert_int_equal(s.n, k);
	}
	emu_free(e);
}

TEST(test_written)
{
	struct emu *e = new_emu();
	struct seen s = { .n = 0 }, w = { .n = 0 };

	run(e, &s);
	emu_written(e, take, &w);
	assert_int_equal(w.n, 4);
	for (unsigned i = 0; i < w.n; i++) {
		const struct emu_access *a = &w.a[i];

		assert_true(a->store);
		if (a->addr == DATA)
			assert_true(a->ip == CODE + 28 && a->size == 4);
		else if (a->addr == SP - 8)
			assert_true(a->ip == CODE + 22 && a->size == 8);
		else
			assert_true(a->ip == CODE + 5 && a->size == 4 &&
				    (a->addr == DATA + EMU_PAGE - 4 || a->addr == DATA + EMU_PAGE));
	}
	/* a run that tells nobody keeps nothing, and does the same */
	run(e, NULL);
	w.n = 0;
	emu_written(e, take, &w);
	assert_int_equal(w.n, 0);
	emu_free(e);
}

/* One instruction to the run, and what it repeated beside it. */
TEST(test_repeats)
{
	struct emu *e = new_emu();

	for (int again = 0; again < 2; again++) {
		struct emu_count count[INSNS];

		run(e, NULL);
		assert_int_equal(emu_counts(e, count, INSNS), INSNS);
		for (unsigned i = 0; i < INSNS; i++) {
			bool repeated = count[i].ip == CODE + 28;

			assert_int_equal(count[i].runs, 1);
			assert_int_equal(count[i].repeats, repeated ? 2 : 0);
			assert_int_equal(count[i].loads, 0);
			assert_int_equal(count[i].stores, repeated);
			assert_int_equal(count[i].bytes, repeated);
		}
	}
	emu_free(e);
}
