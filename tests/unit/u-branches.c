// SPDX-License-Identifier: GPL-2.0-or-later
/* Which way a burst went: what the emulator keeps, the recorder adds up and writes, the reader sums, the views show. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi.h"
#include "profile/branches.h"
#include "record/emulate_branches.h"
#include "unit/fake_code.h"
#include "unit/temp_file.h"
#include "unit/unit.h"
#include "view/export.h"

/* Three turns of a loop, one of which takes a short cut; then a call of what lies in another module, and of what cannot
 * be followed, which is left at once. */
static const uint8_t code[] = {
	0xb9, 0x03, 0x00, 0x00, 0x00, /* 0 mov ecx, 3 */
	0x83, 0xf9, 0x02,             /* 5 cmp ecx, 2 */
	0x74, 0x01,                   /* 8 je 11 */
	0x90,                         /* 10 nop */
	0xff, 0xc9,                   /* 11 dec ecx */
	0x75, 0xf6,                   /* 13 jne 5 */
	0xe8, 0x06, 0x00, 0x00, 0x00, /* 15 call 26 */
	0xe8, 0x02, 0x00, 0x00, 0x00, /* 20 call 27 */
	0xf4,                         /* 25 hlt */
	0xc3,                         /* 26 ret, of module 2 */
	0x0f, 0x31,                   /* 27 rdtsc */
	0x85, 0xc0,                   /* 29 test eax, eax */
	0x74, 0x00,                   /* 31 je 33 */
	0xc3,                         /* 33 ret */
};
#define OTHER 26

static bool place(void *ctx, uint32_t pid, uint64_t ip, uint32_t *module, uint64_t *addr)
{
	assert_int_equal(pid, 5);
	*module = ip - CODE == OTHER ? 2 : 1;
	*addr = ip - CODE + 0x1000;
	return true;
}

static void put_modules(struct store_writer *w)
{
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE, .path = store_string(w, "/bin/one") };

	assert_int_equal(store_put(w, FMT_MODULE, &m, sizeof(m)), 0);
	m.id = 2;
	m.path = store_string(w, "/lib/two");
	assert_int_equal(store_put(w, FMT_MODULE, &m, sizeof(m)), 0);
	m.id = 7; /* merged files name one file more than once */
	m.path = store_string(w, "/bin/one");
	assert_int_equal(store_put(w, FMT_MODULE, &m, sizeof(m)), 0);
}

/* Twice written, as a long recording does. */
static void record(unsigned bursts)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct emulate_branches_env where = { .place = place };
	struct emulate_branches *b = emulate_branches_new(w, &where);
	struct fake_code fake = { code, sizeof(code) };
	struct emu_env env = { .code = fake_code, .page = fake_page, .ctx = &fake };
	struct emu *emu = emu_new(&env);
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP };
	struct emu_start start = { .regs = regs, .insns = 100, .branches = true };
	struct fmt_burst_branch again = { FMT_BRANCH_TAKEN, 10, 7, 2, 0x1000 + 15, 0x1000 + OTHER };
	struct emu_result out;

	assert_true(w && b && emu);
	put_modules(w);
	for (unsigned i = 0; i < bursts; i++) {
		assert_int_equal(emu_run(emu, &start, &out), 0);
		assert_int_equal(out.skipped, 1);
		assert_int_equal(emulate_branches_add(b, emu, 5), 0);
		emulate_branches_forget(b);
		if (i == bursts / 2)
			assert_int_equal(emulate_branches_write(b), 0);
	}
	assert_int_equal(emulate_branches_write(b), 0);
	assert_int_equal(emulate_branches_lost(b), 0);
	assert_int_equal(store_put(w, FMT_BURST_BRANCH, &again, sizeof(again)), 0);
	emulate_branches_free(b);
	emu_free(emu);
	assert_int_equal(store_close(w, &e), 0);
}

TEST_WITH(ways, new_path, remove_path)
{
	static const char bolt[] = "B 1008 100b 4 0\n"
				   "B 100d 1005 8 0\n"
				   "B 100f X:0 14 0\n"
				   "B 1014 101b 4 0\n"
				   "B X:0 1014 4 0\n"
				   "F 1005 1008 4\n"
				   "F 1005 100f 4\n"
				   "F 100b 100d 4\n"
				   "F 1014 1014 4\n";
	struct branches b = { 0 };
	struct section_reader r = branches_reader(&b);
	struct export_opts o = { .branches = &b };
	struct buf out = { 0 };
	struct err e = { 0 };
	struct profile *p;

	record(4);
	p = profile_load_with(path, 0, &r, 1, &e);
	assert_non_null(p);
	branches_sum(&b, p);
	assert_string_equal(p->modules[1].path, "/bin/one");
	assert_int_equal(branches_taken(&b, 1), 4 + 8 + 14 + 4);
	assert_int_equal(branches_taken(&b, 2), 4);
	o.module = 1;
	assert_int_equal(export_bolt(p, &o, &out, &e), 0);
	buf_addch(&out, 0);
	assert_string_equal(out.data, bolt);
	buf_release(&out);
	branches_release(&b);
	profile_free(p);
}

/* What a damaged or made-up file says is left out, or ends in a sentence. */
TEST_WITH(hostile, new_path, remove_path)
{
	static const struct fmt_burst_branch bad[] = {
		{ FMT_BRANCH_STRAIGHT, 1, 1, 1, 20, 10 }, /* backwards */
		{ FMT_BRANCH_STRAIGHT, 1, 1, 2, 10, 20 }, /* from one file into another */
		{ 9, 1, 1, 1, 10, 20 },                   /* no kind */
		{ FMT_BRANCH_TAKEN, 0, 1, 1, 10, 20 },    /* never */
		{ FMT_BRANCH_TAKEN, 1, 1, 99, 10, 20 },   /* a module that nobody named */
		{ FMT_BRANCH_TAKEN, 1, 0, 1, 10, 20 },
	};
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct branches b = { 0 };
	struct section_reader r = branches_reader(&b);
	struct profile *p;

	put_modules(w);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(store_put(w, FMT_BURST_BRANCH, &bad[i], sizeof(bad[i])), 0);
	assert_int_equal(store_close(w, &e), 0);
	p = profile_load_with(path, 0, &r, 1, &e);
	assert_non_null(p);
	branches_sum(&b, p);
	assert_int_equal(b.count, 0);
	branches_release(&b);
	profile_free(p);
}

static size_t run_code(struct emu *emu, const struct emu_branch **b, uint32_t guesses, struct emu_result *out)
{
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_SP] = SP, [WREG_SI] = DATA };
	struct emu_start start = { .regs = regs, .insns = 200, .branches = true, .guesses = guesses };
	size_t n;

	assert_int_equal(emu_run(emu, &start, out), 0);
	*b = emu_branches(emu, &n);
	return n;
}

/* A way that was guessed is no step of the thread, nor is the way out of a call that was left. */
TEST(guessed)
{
	static const uint8_t guesses[] = {
		0xb9, 0x14, 0x00, 0x00, 0x00, /* 0 mov ecx, 20 */
		0x31, 0xc0,                   /* 5 xor eax, eax */
		0x85, 0xc0,                   /* 7 test eax, eax */
		0x74, 0x01,                   /* 9 je 12: known, 20 times; then not */
		0x90,                         /* 11 nop */
		0xff, 0xc9,                   /* 12 dec ecx */
		0x75, 0xf7,                   /* 14 jne 7 */
		0x0f, 0x31,                   /* 16 rdtsc */
		0xb9, 0x01, 0x00, 0x00, 0x00, /* 18 mov ecx, 1 */
		0xeb, 0xee,                   /* 23 jmp 7 */
	};
	struct fake_code fake = { guesses, sizeof(guesses) };
	struct emu_env env = { .code = fake_code, .page = fake_page, .ctx = &fake };
	struct emu *emu = emu_new(&env);
	const struct emu_branch *b;
	struct emu_result out;
	size_t n = run_code(emu, &b, 1, &out), known = 0, unknown = 0;

	assert_int_equal(out.guessed, 1);
	for (size_t i = 0; i < n; i++) {
		known += b[i].from == CODE + 9;
		unknown += !b[i].from && b[i].to == CODE + 12;
	}
	assert_int_equal(known, 20);
	assert_int_equal(unknown, 1);
	emu_free(emu);
}

TEST(left_early)
{
	struct fake_code fake = { code, sizeof(code) };
	struct emu_env env = { .code = fake_code, .page = fake_page, .ctx = &fake };
	struct emu *emu = emu_new(&env);
	const struct emu_branch *b;
	struct emu_result out;
	size_t n = run_code(emu, &b, 0, &out);

	assert_true(n > 0);
	assert_int_equal(out.skipped, 1);
	assert_int_equal(b[n - 1].from, 0);
	assert_int_equal(b[n - 1].to, CODE + 25);
	emu_free(emu);
}

static bool page_from_data_on(void *ctx, uint64_t addr, uint8_t *buf)
{
	return addr >= DATA && fake_page(ctx, addr, buf);
}

/* What ran after memory that may be younger than the registers is taken back where it goes wrong, with its branches. */
TEST(taken_back)
{
	static const uint8_t wrong[] = {
		0xeb, 0x00, /* 0 jmp 2: a branch, though it leads on */
		0xeb, 0x01, /* 2 jmp 5 */
		0x90,       /* 4 nop */
		0x8b, 0x06, /* 5 mov eax, [rsi]: late */
		0xeb, 0x01, /* 7 jmp 10 */
		0x90,       /* 9 nop */
		0x31, 0xc9, /* 10 xor ecx, ecx */
		0x8b, 0x19, /* 12 mov ebx, [rcx]: nothing is there */
	};
	struct fake_code fake = { wrong, sizeof(wrong) };
	struct emu_env env = { .code = fake_code, .page = page_from_data_on, .ctx = &fake };
	struct emu *emu = emu_new(&env);
	const struct emu_branch *b;
	struct emu_result out;
	size_t n = run_code(emu, &b, 0, &out);

	assert_int_equal(out.end, EMU_ASTRAY);
	assert_int_equal(n, 2);
	assert_int_equal(b[0].from, CODE);
	assert_int_equal(b[0].to, CODE + 2);
	assert_int_equal(b[1].from, CODE + 2);
	assert_int_equal(b[1].to, CODE + 5);
	emu_free(emu);
}

/* Days of recording tell each way many times; a file that tells ever other ones is damaged. */
TEST(many)
{
	struct fmt_burst_branch w = { FMT_BRANCH_TAKEN, 1, 1, 1, 10, 20 };
	struct branches b = { 0 };
	struct section_reader r = branches_reader(&b);
	uint64_t n = 0;
	int err = 0;

	for (; n < 5u << 20 && !err; n++) {
		w.from = n % 1000;
		err = r.rows[0].take(r.ctx, &w, sizeof(w));
	}
	assert_int_equal(err, 0);
	assert_true(b.count < 3u << 20);
	for (; n < 10u << 20 && !err; n++) {
		w.from = n;
		err = r.rows[0].take(r.ctx, &w, sizeof(w));
	}
	assert_int_equal(err, -E2BIG);
	branches_release(&b);
}
