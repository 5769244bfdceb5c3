// SPDX-License-Identifier: GPL-2.0-or-later
/* Which pages the next run will touch, by those before it. */
#include <string.h>

#include "abi.h"
#include "emu/emu_pages.h"
#include "unit/unit.h"

#define CODE 0x401000u
#define HELD 0x10000u    /* comes with the sample */
#define SLOT (HELD + 64) /* where a pointer lies */
#define FAR 0x7f0000u    /* where it points to: read when it is touched */

static const uint8_t insns[] = { 0x48, 0x8b, 0x07, 0x48, 0x8b, 0x18, 0x90 }; /* mov (%rdi),%rax; mov (%rax),%rbx; nop */
static uint64_t to;

static size_t code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	if (addr < CODE || addr >= CODE + sizeof(insns))
		return 0;
	len = len < CODE + sizeof(insns) - addr ? len : CODE + sizeof(insns) - addr;
	memcpy(buf, insns + (addr - CODE), len);
	return len;
}

static bool page(void *ctx, uint64_t addr, uint8_t *buf)
{
	memset(buf, 0, EMU_PAGE);
	return addr >= FAR;
}

static void run(struct emu *e, struct emu_pages *p)
{
	uint64_t regs[WREG_MAX] = { [WREG_IP] = CODE, [WREG_DI] = SLOT, [WREG_SP] = 0x500000 };
	uint8_t held[EMU_PAGE] = { 0 };
	const struct sample_page given = { HELD, held };
	struct emu_start start = { .regs = regs, .page = &given, .pages = 1, .insns = 2 };
	struct emu_result out;

	memcpy(held + (SLOT - HELD), &to, sizeof(to));
	assert_int_equal(emu_run(e, &start, &out), 0);
	assert_int_equal(out.end, EMU_DONE);
	assert_int_equal(out.pages, 2);
	emu_pages_run(p, e, &given, 1);
}

static bool among(uint64_t what, const uint64_t *addr, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (addr[i] == what)
			return true;
	return false;
}

TEST(test_likely)
{
	const struct emu_env env = { .code = code, .page = page };
	struct emu *e = emu_new(&env);
	struct emu_pages *p = emu_pages_new();
	uint64_t addr[80];
	uint32_t n;

	assert_int_equal(emu_pages_likely(p, EMU_PAGES_LEAST, addr, 80), 0);
	/* the same place each time, from where a pointer leads to another place each time */
	for (uint64_t i = 0; i < 100; i++) {
		to = FAR + i * EMU_PAGE + 8 * i;
		run(e, p);
	}
	run(e, p);
	n = emu_pages_likely(p, EMU_PAGES_LEAST, addr, 80);
	assert_int_equal(addr[0], HELD);
	assert_true(n > 1 && n < 80);
	/* what one run touched lately, and not what one did long ago */
	assert_true(among(FAR + 99 * EMU_PAGE, addr, n));
	assert_false(among(FAR, addr, n));
	/* what more than half of the runs touched */
	assert_int_equal(emu_pages_likely(p, .5, addr, 80), 1);
	assert_int_equal(addr[0], HELD);
	n = emu_pages_slots(p, addr, 80);
	assert_int_equal(n, 1);
	assert_int_equal(addr[0], SLOT);
	assert_int_equal(emu_pages_likely(p, EMU_PAGES_LEAST, addr, 1), 1);
	emu_pages_forget(p);
	assert_int_equal(emu_pages_likely(p, EMU_PAGES_LEAST, addr, 80) + emu_pages_slots(p, addr, 80), 0);
	emu_pages_free(p);
	emu_free(e);
}

static bool fixed(void *ctx, uint64_t addr, size_t len)
{
	return addr + len > FAR;
}

/* What nobody can write to is as old as the sample whenever it is read. */
TEST(test_spared)
{
	const struct emu_env env = { .code = code, .page = page, .fixed = fixed };
	struct emu *e = emu_new(&env);
	struct emu_pages *p = emu_pages_new();
	uint64_t addr[80];

	to = FAR;
	for (int i = 0; i < 10; i++)
		run(e, p);
	assert_int_equal(emu_pages_likely(p, EMU_PAGES_LEAST, addr, 80), 1);
	assert_int_equal(addr[0], HELD);
	assert_int_equal(emu_pages_slots(p, addr, 80), 0);
	emu_pages_free(p);
	emu_free(e);
}

/* More than are remembered: those touched by all runs stay. */
TEST(test_many)
{
	const struct emu_env env = { .code = code, .page = page };
	struct emu *e = emu_new(&env);
	struct emu_pages *p = emu_pages_new();
	uint64_t addr[80];

	for (uint64_t i = 0; i < 5000; i++) {
		to = FAR + i * EMU_PAGE;
		run(e, p);
	}
	assert_true(emu_pages_likely(p, EMU_PAGES_LEAST, addr, 80) >= 1);
	assert_int_equal(addr[0], HELD);
	emu_pages_free(p);
	emu_free(e);
}
