// SPDX-License-Identifier: GPL-2.0-or-later
/* Instructions carried out quickly (emu_quick.c) do what their rules do: random code, carried out both ways. */
#include <stdlib.h>
#include <string.h>

#include "emu/emu_priv.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

#define CODE 0x400000ull
#define DATA 0x7f0000000000ull /* two pages; the third is not mapped */
#define LENGTH 60
#define ROUNDS 10000

static uint8_t code_bytes[LENGTH * 16 + 16], data[2 * EMU_PAGE];
static size_t code_len;
static uint64_t seed = 1;

static uint64_t rnd(void)
{
	return xorshift(&seed);
}

static size_t code_of(void *ctx, uint64_t addr, void *buf, size_t len)
{
	if (addr - CODE >= code_len)
		return 0;
	len = len < code_len - (addr - CODE) ? len : code_len - (addr - CODE);
	memcpy(buf, code_bytes + (addr - CODE), len);
	return len;
}

static bool page_of(void *ctx, uint64_t addr, uint8_t *buf)
{
	if (addr / EMU_PAGE == CODE / EMU_PAGE) {
		memset(buf, 0x5a, EMU_PAGE);
		return true;
	}
	if (addr - DATA >= sizeof(data))
		return false;
	memcpy(buf, data + (addr - DATA) / EMU_PAGE * EMU_PAGE, EMU_PAGE);
	return true;
}

/* What random operands hardly meet. */
static void put_sequence(void)
{
	static const struct {
		uint8_t len, bytes[16];
	} of[] = {
		/* rdtsc: two registers are unknown from here on; stored, and written over: known again */
		{ 11, { 0x0f, 0x31, 0x89, 0x43, 0x10, 0x89, 0x4b, 0x10, 0x8b, 0x43, 0x10 } },
		/* lea, and a load, of what lies behind */
		{ 13, { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0x8b, 0x0d, 1, 0, 0, 0 } },
		/* call what follows, by a jump; it is called, too */
		{ 7, { 0xe8, 0, 0, 0, 0, 0xeb, 0 } },
		/* lea (%rbx),%rdi; mov $5,%ecx; rep stosb */
		{ 10, { 0x48, 0x8d, 0x3b, 0xb9, 5, 0, 0, 0, 0xf3, 0xaa } },
		/* lock xadd %eax,(%rbx); add (%rbx),%eax */
		{ 6, { 0xf0, 0x0f, 0xc1, 0x03, 0x03, 0x03 } },
		/* mov $7,%ecx; div %ecx */
		{ 7, { 0xb9, 7, 0, 0, 0, 0xf7, 0xf1 } },
		/* push %rax; pop %rcx; cmp %rcx,%rax; je over a nop */
		{ 8, { 0x50, 0x59, 0x48, 0x39, 0xc8, 0x74, 1, 0x90 } },
	};
	size_t n = rnd() % (sizeof(of) / sizeof(of[0]));

	memcpy(code_bytes + code_len, of[n].bytes, of[n].len);
	code_len += of[n].len;
}

/* An instruction's bytes, of those that are carried out quickly, and some between them that are not. */
static void put_instruction(void)
{
	static const uint8_t arithmetic[] = { 0x01, 0x09, 0x21, 0x29, 0x31, 0x39, 0x03, 0x0b, 0x23, 0x2b, 0x33,
					      0x3b, 0x85, 0x89, 0x8b, 0x11, 0x00, 0x38, 0x84, 0x88, 0x8a, 0x2a };
	uint8_t *b = code_bytes + code_len, rex = 0x40 | (rnd() & 0xf), modrm = (uint8_t)rnd();
	size_t n = 0;

	if (!(rnd() % 25)) {
		put_sequence();
		return;
	}
	/* memory at the base, or with an index and a byte behind it; rbx and r11 point to data */
	if (rnd() & 1) {
		modrm = (uint8_t)((modrm & 0x38) | 0xc0 | (rnd() & 7));
	} else {
		rex = (uint8_t)((rex & 0x4c) | (rnd() & 1));
		modrm = (uint8_t)((modrm & 0x38) | 0x40 | 3);
	}
	if (!(rnd() & 7))
		b[n++] = 0x66;
	b[n++] = rex;
	switch (rnd() % 10) {
	case 0: /* an operand in the code */ b[n++] = 0x83; break;
	case 1: /* a shift, a rotation now and then */ b[n++] = 0xc1; break;
	case 2:
		b[n++] = 0x0f;
		b[n++] = (uint8_t)(0x40 | (rnd() & 15));
		break;
	case 3:
		b[n++] = 0x0f;
		b[n++] = (uint8_t)(0x90 | (rnd() & 15));
		break;
	case 4:
		b[n++] = 0x0f;
		b[n++] = (uint8_t[]){ 0xb6, 0xb7, 0xbe, 0xbf }[rnd() & 3];
		break;
	case 5: /* on, whichever way it goes: over a nop */
		code_bytes[code_len++] = (uint8_t)(0x70 | (rnd() & 15));
		code_bytes[code_len++] = 1;
		code_bytes[code_len++] = 0x90;
		return;
	case 6: b[n++] = 0x8d; break;
	default: b[n++] = arithmetic[rnd() % sizeof(arithmetic)]; break;
	}
	/* the stack pointer and the two that point to data are not written */
	if (b[n - 1] != 0x38 && b[n - 1] != 0x39 && !(rex & 4) && (modrm >> 3 & 7) == 3)
		modrm ^= 8;
	if ((rex & 4) && (modrm >> 3 & 7) == 3)
		modrm ^= 8;
	if (modrm >= 0xc0 && (modrm & 7) == 3)
		modrm ^= 1;
	b[n++] = modrm;
	if (modrm < 0xc0)
		b[n++] = (uint8_t)rnd();
	if (b[n - (modrm < 0xc0) - 2] == 0x83 || b[n - (modrm < 0xc0) - 2] == 0xc1)
		b[n++] = (uint8_t)rnd();
	code_len += n;
}

struct told {
	uint64_t hash, accesses;
};

static void add(uint64_t *hash, uint64_t v)
{
	*hash = (*hash ^ v) * 0x9e3779b97f4a7c15ull;
	*hash ^= *hash >> 31;
}

static void on_access(void *ctx, const struct emu_access *a)
{
	struct told *t = ctx;

	t->accesses++;
	add(&t->hash, a->ip);
	add(&t->hash, a->addr);
	add(&t->hash, a->sp);
	add(&t->hash, (uint64_t)a->size << 40 | (uint64_t)a->at << 1 | a->store);
	add(&t->hash, a->writer ^ a->age);
}

/* What is known of each; the rest is of no meaning. */
static void on_state(void *ctx, const struct emu_state *s, bool skipped)
{
	struct told *t = ctx;

	for (unsigned r = 0; r < WREG_IP; r++)
		add(&t->hash, s->known >> r & 1 ? s->r[r] : 1);
	add(&t->hash, (uint64_t)s->known << 32 | (uint64_t)s->flags_known << 8 | (s->flags & s->flags_known));
	add(&t->hash, skipped);
}

static void hash_result(struct emu *e, const struct emu_result *r, struct told *t)
{
	struct emu_count c[4 * LENGTH];
	size_t n = emu_counts(e, c, 4 * LENGTH);

	assert_true(n <= 4 * LENGTH);
	add(&t->hash, r->end);
	add(&t->hash, r->end_ip);
	add(&t->hash, r->insns);
	add(&t->hash, r->unknown);
	for (size_t i = 0; i < n; i++) {
		add(&t->hash, c[i].ip);
		add(&t->hash, c[i].runs);
		add(&t->hash, c[i].took);
	}
	on_state(t, emu_state(e), false);
	emu_written(e, on_access, t);
}

static struct told carry(struct emu *e, const uint64_t *regs, bool watched)
{
	struct told t = { 1, 0 };
	struct emu_start from = { .regs = regs, .insns = LENGTH, .access = on_access, .access_ctx = &t };
	const struct emu_call *calls;
	struct emu_result out;
	size_t count;

	emu_watch(e, watched ? on_state : NULL, &t);
	emu_forget(e);
	assert_int_equal(emu_run(e, &from, &out), 0);
	calls = emu_calls(e, &count);
	for (size_t i = 0; i < count; i++)
		add(&t.hash, calls[i].target ^ calls[i].runs << 48);
	hash_result(e, &out, &t);
	/* a second time, over code that was met */
	assert_int_equal(emu_run(e, &from, &out), 0);
	hash_result(e, &out, &t);
	return t;
}

TEST(test_both_ways)
{
	const struct emu_env env = { .code = code_of, .page = page_of };
	struct emu *quick = emu_new(&env), *rules = emu_new(&env);
	uint64_t regs[WREG_MAX], accesses = 0;

	assert_true(quick && rules);
	emu_by_rules(rules);
	for (unsigned n = 0; n < ROUNDS; n++) {
		struct told a, b;

		code_len = 0;
		while (code_len < LENGTH * 4)
			put_instruction();
		for (size_t i = 0; i < sizeof(data); i += 8)
			memcpy(data + i, (uint64_t[]){ n % 3 ? rnd() : rnd() & rnd() & 0x8000000080800081 }, 8);
		for (unsigned r = 0; r < WREG_MAX; r++)
			regs[r] = rnd() >> (rnd() & 63);
		/* in the midst, or where a page ends and where nothing follows */
		regs[WREG_BX] = DATA + 512 + rnd() % 3072;
		regs[WREG_R11] = DATA + (n & 1 ? EMU_PAGE : 2 * EMU_PAGE) - 64 + rnd() % 64;
		regs[WREG_SP] = DATA + 256;
		regs[WREG_IP] = CODE;
		a = carry(quick, regs, n % 4 == 0);
		b = carry(rules, regs, n % 4 == 0);
		assert_int_equal(a.accesses, b.accesses);
		assert_int_equal(a.hash, b.hash);
		accesses += a.accesses;
	}
	assert_true(accesses > 10 * ROUNDS);
	emu_free(quick);
	emu_free(rules);
}
