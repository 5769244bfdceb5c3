// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The emulator's vector instructions against the processor: each mnemonic that has a rule, in every form that the
 * encoder knows for it (legacy, VEX, EVEX; registers of all sizes, memory, masks, broadcasts), with random operands.
 * What the emulator calls known must be what the processor made of it, also when random parts of what went in are
 * unknown.
 */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <asm/prctl.h>
#include <dlfcn.h>

#include "emu/emu_vec_priv.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

#define MEM_AT 1024 /* of the operand in its page */
#define WINDOW 128  /* bytes of memory that are compared */
#define TRIALS 8

/* What a processor has: as run_native() below lays it out. */
struct native {
	uint8_t v[32][EMU_VEC_BYTES];
	uint64_t k[8], r[WREG_MAX], flags, level; /* 0: SSE, 1: AVX, 2: AVX-512 */
};
_Static_assert(offsetof(struct native, k) == 2048, "as in run_native");
_Static_assert(offsetof(struct native, r) == 2112, "as in run_native");
_Static_assert(offsetof(struct native, flags) == 2264, "as in run_native");
_Static_assert(WREG_AX == 0 && WREG_R8 == 8, "as in run_native");

void run_native(struct native *n, const void *code);
__asm__(".pushsection .text\n"
	".macro each what, op, size, from, to\n"
	".set at, \\from\n"
	".rept \\to - \\from + 1\n"
	"each_\\what \\op, \\size, %at\n"
	".set at, at + 1\n"
	".endr\n"
	".endm\n"
	".altmacro\n"
	".macro each_load op, size, num\n"
	"\\op 64*\\num(%r15), %\\size&mm\\num\n"
	".endm\n"
	".macro each_save op, size, num\n"
	"\\op %\\size&mm\\num, 64*\\num(%r15)\n"
	".endm\n"
	".macro each_loadk op, size, num\n"
	"kmovq 2048+8*\\num(%r15), %k\\num\n"
	".endm\n"
	".macro each_savek op, size, num\n"
	"kmovq %k\\num, 2048+8*\\num(%r15)\n"
	".endm\n"
	"run_native:\n"
	"push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rdi, %r15; mov %rsi, %r14\n"
	"cmpq $1, 2272(%r15); je 1f; ja 2f\n"
	"each load, movups, x, 0, 15\n jmp 3f\n"
	"1: each load, vmovups, y, 0, 15\n jmp 3f\n"
	"2: each load, vmovdqu64, z, 0, 31\n each loadk, 0, 0, 0, 7\n"
	"3: pushq 2264(%r15); popfq\n"
	"mov 2112(%r15), %rax; mov 2120(%r15), %rdx; mov 2128(%r15), %rcx; mov 2136(%r15), %rbx\n"
	"mov 2144(%r15), %rsi; mov 2152(%r15), %rdi; mov 2176(%r15), %r8; mov 2184(%r15), %r9\n"
	"mov 2192(%r15), %r10; mov 2200(%r15), %r11; mov 2208(%r15), %r12; mov 2216(%r15), %r13\n"
	"call *%r14\n"
	"mov %rax, 2112(%r15); mov %rdx, 2120(%r15); mov %rcx, 2128(%r15); mov %rbx, 2136(%r15)\n"
	"mov %rsi, 2144(%r15); mov %rdi, 2152(%r15); mov %r8, 2176(%r15); mov %r9, 2184(%r15)\n"
	"mov %r10, 2192(%r15); mov %r11, 2200(%r15); mov %r12, 2208(%r15); mov %r13, 2216(%r15)\n"
	"pushfq; popq 2264(%r15)\n"
	"cmpq $1, 2272(%r15); je 1f; ja 2f\n"
	"each save, movups, x, 0, 15\n jmp 3f\n"
	"1: each save, vmovups, y, 0, 15\n vzeroupper\n jmp 3f\n"
	"2: each save, vmovdqu64, z, 0, 31\n each savek, 0, 0, 0, 7\n vzeroupper\n"
	"3: pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"ret\n"
	".noaltmacro\n"
	".popsection\n");

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t rnd(void)
{
	return xorshift(&seed) * 0x2545f4914f6cdd1d;
}

static unsigned below(unsigned n)
{
	return (unsigned)(rnd() >> 33) % n;
}

/* ---- forms ---- */

enum part { NONE, X, Y, Z, K, R4, R8, M1, M2, M4, M8, M16, M32, M64, IMM, PARTS };

struct form {
	ZydisMnemonic mnemonic;
	uint8_t ops;
	enum part op[5];
	bool masked, zeroing, k0; /* k0: a mask register stands in the operands: 0 if not masked */
	ZydisBroadcastMode broadcast;
	ZydisEncodableEncoding encoding;
};

static bool is_memory(enum part p)
{
	return p >= M1 && p <= M64;
}

static ZydisRegister vector(enum part p, unsigned n)
{
	return (p == X ? ZYDIS_REGISTER_XMM0 : p == Y ? ZYDIS_REGISTER_YMM0 : ZYDIS_REGISTER_ZMM0) + n;
}

static size_t encode(const struct form *f, uint8_t *code)
{
	static const uint8_t gprs[] = { 0, 1, 2, 3, 8, 9, 10, 11, 12, 13 }, bytes[] = { 1, 2, 4, 8, 16, 32, 64 };
	unsigned registers = f->encoding == ZYDIS_ENCODABLE_ENCODING_EVEX && !below(3) ? 32 : 16,
		 last = below(registers);
	ZydisEncoderRequest req = { .machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
				    .mnemonic = f->mnemonic,
				    .allowed_encodings = f->encoding };
	ZyanUSize len = 15;
	unsigned n = 0;

	for (unsigned k = 0; k < f->ops; k++) {
		ZydisEncoderOperand *o = &req.operands[n++];
		unsigned gpr = gprs[below(10)];

		o->type = ZYDIS_OPERAND_TYPE_REGISTER;
		if (f->op[k] <= Z) {
			last = below(4) ? below(registers) : last;
			o->reg.value = vector(f->op[k], last);
			o->reg.is4 = k == 3;
		} else if (f->op[k] == K) {
			o->reg.value = ZYDIS_REGISTER_K0 + below(8);
		} else if (f->op[k] <= R8) {
			o->reg.value = (f->op[k] == R4 ? ZYDIS_REGISTER_EAX : ZYDIS_REGISTER_RAX) + gpr;
		} else if (f->op[k] == IMM) {
			o->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
			o->imm.u = below(3) ? below(16) : below(256);
		} else {
			o->type = ZYDIS_OPERAND_TYPE_MEMORY;
			o->mem.base = ZYDIS_REGISTER_RSI;
			o->mem.size = bytes[f->op[k] - M1];
		}
		if (!k && f->k0) {
			o = &req.operands[n++];
			o->type = ZYDIS_OPERAND_TYPE_REGISTER;
			o->reg.value = ZYDIS_REGISTER_K0 + (f->masked ? 1 + below(7) : 0);
		}
	}
	req.operand_count = (ZyanU8)n;
	req.evex.broadcast = f->broadcast;
	req.evex.zeroing_mask = f->zeroing;
	return ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&req, code, &len)) ? len : 0;
}

/* ---- one form, carried out by both ---- */

static uint8_t page[2 * EMU_PAGE] __attribute__((aligned(EMU_PAGE)));
static uint8_t *code_page;
static struct emu_memory *memory;
static unsigned level;
static sigjmp_buf no_such;

static void on_illegal(int sig)
{
	siglongjmp(no_such, sig);
}

static bool read_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	if (addr != (uint64_t)(uintptr_t)page)
		return false;
	memcpy(buf, page, EMU_PAGE);
	return true;
}

/* Values that something depends on: small ones, equal ones, all kinds of floating point. */
static void fill(uint8_t *b, unsigned len)
{
	static const uint64_t doubles[] = { 0,
					    0x8000000000000000,
					    0x3ff0000000000000,
					    0xc004000000000000,
					    0x7ff0000000000000,
					    0x7ff4000000000123,
					    0xfff8000000000456,
					    1,
					    0x43e0000000000000,
					    0xc1e0000000200000,
					    0x3fe0000000000000,
					    0x47f0000000000000,
					    0x3690000000000001,
					    0x7fefffffffffffff };
	static const uint32_t floats[] = { 0, 0x80000000, 0x3f800000, 0xc0200000, 0x7f800000, 0x7fa00123, 0xffc00456,
					   1, 0x4f000000, 0xcf000000, 0x3f000000, 0x7f7fffff, 0x33800001, 0x5f000000 };
	unsigned how = below(8);

	for (unsigned at = 0; at < len; at += 8) {
		uint64_t x = rnd();
		float f[2] = { (float)(int)below(4000) / 8 - 250, (float)(int)below(1000) / 3 - 100 };
		double d = (double)(int64_t)rnd() / (double)(1ull << below(64));

		if (how == 7 || (how == 3 && below(3)))
			memcpy(&x, &d, 8);
		else if (how == 1)
			x = below(2) ? 0 : ~0ull;
		else if (how == 2)
			x &= 0x0303030303030303;
		else if (how == 3)
			x = doubles[below(14)];
		else if (how == 4)
			memcpy(&x, f, 8);
		else if (how == 5)
			x = floats[below(14)] | (uint64_t)floats[below(14)] << 32;
		else if (how == 6)
			x = below(70);
		memcpy(b + at, &x, 8);
	}
}

static void fill_state(struct native *n)
{
	for (unsigned k = 0; k < 32; k++) {
		fill(n->v[k], EMU_VEC_BYTES);
		if (k && !below(3))
			memcpy(n->v[k], n->v[below(k)], 8 * (1 + below(8)));
	}
	for (unsigned k = 0; k < 8; k++)
		n->k[k] = below(3) ? rnd() : below(2) ? ~0ull >> below(64) : 0;
	for (unsigned k = 0; k < WREG_MAX; k++)
		n->r[k] = below(3) ? below(2) ? rnd() : below(20) : (uint64_t)(int64_t)((int)below(2000) - 1000);
	fill(page + MEM_AT - 32, WINDOW);
	n->r[WREG_SI] = (uint64_t)(uintptr_t)(page + MEM_AT);
	n->flags = 0x202 | (rnd() & 0x8d5);
	n->level = level;
}

static uint8_t emu_flags_of(uint64_t f)
{
	return (uint8_t)((f & 1 ? EMU_CF : 0) | (f & 4 ? EMU_PF : 0) | (f & 16 ? EMU_AF : 0) | (f & 64 ? EMU_ZF : 0) |
			 (f & 128 ? EMU_SF : 0) | (f & 2048 ? EMU_OF : 0));
}

static uint64_t some_bits(void)
{
	static const uint64_t elements[] = { 0x0f0f0f0f0f0f0f0f, 0x00ff00ff00ff00ff, 0xffffffff00000000, 0xffff,
					     0x3333333333333333 };

	switch (below(4)) {
	case 0: return rnd() | rnd();
	case 1: return ~(1ull << below(64));
	case 2: return elements[below(5)];
	default: return below(4) ? ~0ull : 0;
	}
}

static void copy_state(struct emu_state *s, const struct native *n)
{
	memset(s, 0, sizeof(*s));
	memcpy(s->r, n->r, sizeof(s->r));
	memcpy(s->k, n->k, sizeof(s->k));
	for (unsigned k = 0; k < 32; k++) {
		memcpy(s->v[k].b, n->v[k], EMU_VEC_BYTES);
		s->v[k].known = ~0ull;
	}
	s->known = (1u << WREG_MAX) - 1;
	s->k_known = 0xff;
	s->flags = emu_flags_of(n->flags);
	s->flags_known = EMU_ARITH;
	s->r[WREG_IP] = (uint64_t)(uintptr_t)code_page;
}

/* What is not known is something else. */
static void forget_some(struct emu_state *s)
{
	uint8_t bytes[64];
	uint64_t known;

	for (unsigned k = 0; k < 32; k++) {
		s->v[k].known = some_bits();
		for (unsigned at = 0; at < EMU_VEC_BYTES; at++)
			if (!(s->v[k].known >> at & 1))
				s->v[k].b[at] = (uint8_t)rnd();
	}
	for (unsigned k = 0; k < 8; k++)
		if (!below(3)) {
			s->k_known &= (uint8_t) ~(1u << k);
			s->k[k] = rnd();
		}
	for (unsigned k = 0; k < WREG_IP; k++)
		if (k != WREG_SI && !below(3)) {
			s->known &= ~(1u << k);
			s->r[k] = rnd();
		}
	s->flags_known = (uint8_t)(rnd() & EMU_ARITH);
	s->flags ^= (uint8_t)(~s->flags_known & EMU_ARITH);
	memcpy(bytes, page + MEM_AT, 64);
	known = some_bits();
	for (unsigned at = 0; at < 64; at++)
		if (!(known >> at & 1))
			bytes[at] = (uint8_t)rnd();
	assert_true(emu_mem_write(memory, s->r[WREG_SI], bytes, 64, known));
}

static const char *differs(const struct emu_state *s, const struct native *n)
{
	static char text[80];
	unsigned bytes = level == 2 ? 64 : level ? 32 : 16, f = s->flags ^ emu_flags_of(n->flags);
	uint8_t buf[64];
	uint64_t known;

	for (unsigned k = 0; k < (level == 2 ? 32 : 16); k++)
		for (unsigned at = 0; at < bytes; at++)
			if (s->v[k].known >> at & 1 && s->v[k].b[at] != n->v[k][at]) {
				snprintf(text, sizeof(text), "byte %u of vector %u: %02x, not %02x", at, k,
					 s->v[k].b[at], n->v[k][at]);
				return text;
			}
	for (unsigned k = 0; level == 2 && k < 8; k++)
		if (s->k_known >> k & 1 && s->k[k] != n->k[k])
			return "a mask register";
	for (unsigned k = 0; k < WREG_R14; k++)
		if (s->known >> k & 1 && k != WREG_BP && k != WREG_SP && s->r[k] != n->r[k])
			return "a general register";
	if (f & s->flags_known & EMU_ARITH)
		return "flags";
	for (unsigned at = 0; at < WINDOW; at += 64) {
		assert_true(emu_mem_read(memory, (uint64_t)(uintptr_t)page + MEM_AT - 32 + at, buf, 64, &known));
		for (unsigned b = 0; b < 64; b++)
			if (known >> b & 1 && buf[b] != page[MEM_AT - 32 + at + b])
				return "memory";
	}
	return NULL;
}

static bool all_known(const struct emu_state *s)
{
	uint8_t buf[64];
	uint64_t known;

	for (unsigned k = 0; k < 32; k++)
		if (s->v[k].known != ~0ull)
			return false;
	assert_true(emu_mem_read(memory, (uint64_t)(uintptr_t)page + MEM_AT, buf, 64, &known));
	return known == ~0ull && s->k_known == 0xff && s->known == (1u << WREG_MAX) - 1 && s->flags_known == EMU_ARITH;
}

static const char *name_of(const struct form *f, const uint8_t *code, size_t len)
{
	static char text[200];
	ZydisFormatter fmt;
	ZydisDecoder z;
	ZydisDecodedInstruction i;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];

	ZydisFormatterInit(&fmt, ZYDIS_FORMATTER_STYLE_INTEL);
	ZydisDecoderInit(&z, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&z, code, len, &i, o)) ||
	    !ZYAN_SUCCESS(
		    ZydisFormatterFormatInstruction(&fmt, &i, o, i.operand_count_visible, text, sizeof(text), 0, NULL)))
		snprintf(text, sizeof(text), "%s", ZydisMnemonicGetString(f->mnemonic));
	return text;
}

enum tried { T_RIGHT, T_NO_RULE, T_LACKS, T_OTHER, T_WRONG };

static enum tried try(const struct form *f, bool partly)
{
	static struct native n;
	static struct emu_state s;
	const struct emu_start start = { .regs = n.r };
	volatile enum emu_outcome out;
	struct emu_insn i;
	size_t len = encode(f, code_page);
	const char *what;

	if (!len || emu_decode(code_page, len, &i) || i.op != EMU_OP_VECTOR)
		return T_OTHER;
	code_page[len] = 0xc3;
	fill_state(&n);
	copy_state(&s, &n);
	emu_mem_begin(memory, &start);
	if (partly)
		forget_some(&s);
	out = emu_vector(&s, memory, &i);
	if (out == EMU_O_NO_RULE)
		assert_int_equal(emu_forget_written(&s, memory, &i), EMU_OK);
	else
		assert_int_equal(out, EMU_OK);
	if (sigsetjmp(no_such, 1))
		return T_LACKS;
	run_native(&n, code_page);
	what = differs(&s, &n);
	if (!what && !partly && out == EMU_OK && !all_known(&s) &&
	    strncmp(ZydisMnemonicGetString(f->mnemonic), "vfm", 3) &&
	    strncmp(ZydisMnemonicGetString(f->mnemonic), "vfn", 3))
		what = "something that is not known";
	if (what) {
		print_message("%s%s: %s\n", name_of(f, code_page, len), partly ? " (in part unknown)" : "", what);
		return T_WRONG;
	}
	if (out == EMU_O_NO_RULE && getenv("U_EMUVEC_VERBOSE"))
		print_message("%s: no rule\n", name_of(f, code_page, len));
	return out == EMU_O_NO_RULE ? T_NO_RULE : T_RIGHT;
}

/* ---- all forms of a mnemonic ---- */

struct tally {
	unsigned forms, right, no_rule, lacks, wrong;
};

static bool encodes(const struct form *f)
{
	uint8_t code[16];

	return encode(f, code);
}

static void try_form(const struct form *f, struct tally *t)
{
	unsigned count[T_WRONG + 1] = { 0 };

	t->forms++;
	for (unsigned n = 0; n < 2 * TRIALS && !count[T_LACKS] && count[T_WRONG] < 2; n++)
		count[try(f, n % 2)]++;
	t->wrong += !!count[T_WRONG];
	t->lacks += !!count[T_LACKS];
	t->right += !count[T_WRONG] && !count[T_LACKS] && count[T_RIGHT];
	t->no_rule += !count[T_WRONG] && !count[T_LACKS] && count[T_NO_RULE] && !count[T_RIGHT];
}

static void try_masks(struct form *f, struct tally *t)
{
	f->masked = f->zeroing = false;
	if (!encodes(f))
		return;
	try_form(f, t);
	if (!f->k0)
		return;
	f->masked = true;
	if (encodes(f))
		try_form(f, t);
	f->zeroing = true;
	if (encodes(f))
		try_form(f, t);
}

static void try_operands(struct form *f, struct tally *t)
{
	static const ZydisBroadcastMode modes[] = { ZYDIS_BROADCAST_MODE_1_TO_2, ZYDIS_BROADCAST_MODE_1_TO_4,
						    ZYDIS_BROADCAST_MODE_1_TO_8, ZYDIS_BROADCAST_MODE_1_TO_16 };
	const char *name = ZydisMnemonicGetString(f->mnemonic);
	bool element = false;

	for (unsigned k = 0; k < f->ops; k++)
		element |= f->op[k] == M4 || f->op[k] == M8;
	f->broadcast = ZYDIS_BROADCAST_MODE_INVALID;
	f->k0 = false;
	f->encoding = ZYDIS_ENCODABLE_ENCODING_LEGACY;
	if (*name != 'v' && *name != 'k') {
		try_masks(f, t);
		return;
	}
	f->encoding = ZYDIS_ENCODABLE_ENCODING_VEX;
	try_masks(f, t);
	if (*name == 'k')
		return;
	f->encoding = ZYDIS_ENCODABLE_ENCODING_EVEX;
	try_masks(f, t);
	f->k0 = true;
	try_masks(f, t);
	for (unsigned k = 0; element && k < 4; k++) {
		f->broadcast = modes[k];
		try_masks(f, t);
	}
}

static struct tally try_mnemonic(ZydisMnemonic m)
{
	struct form f = { .mnemonic = m };
	struct tally t = { 0 };

	try_operands(&f, &t);
	for (enum part a = X; a <= M64; a++)
		for (enum part b = X; b <= IMM; b++) {
			if (is_memory(a) && is_memory(b))
				continue;
			f = (struct form){ .mnemonic = m, .ops = 2, .op = { a, b } };
			try_operands(&f, &t);
			f = (struct form){ .mnemonic = m, .ops = 3, .op = { a, b, IMM } };
			if (b != IMM)
				try_operands(&f, &t);
			for (enum part c = X; c <= M64 && b <= K; c++) {
				if (is_memory(a) && is_memory(c))
					continue;
				f = (struct form){ .mnemonic = m, .ops = 3, .op = { a, b, c } };
				try_operands(&f, &t);
				f = (struct form){ .mnemonic = m, .ops = 4, .op = { a, b, c, IMM } };
				if (a <= K)
					try_operands(&f, &t);
				f = (struct form){ .mnemonic = m, .ops = 4, .op = { a, b, c, a } };
				if (a <= Y && a == b)
					try_operands(&f, &t);
			}
		}
	return t;
}

TEST(t_forms)
{
	struct sigaction sa = { .sa_handler = on_illegal }, before;
	struct tally all = { 0 };
	unsigned known = 0, untried = 0, lacking = 0;

	assert_int_equal(sigaction(SIGILL, &sa, &before), 0);
	for (uint16_t m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++) {
		const char *only = getenv("U_EMUVEC"), *name = ZydisMnemonicGetString((ZydisMnemonic)m);
		struct tally t;

		if (!emu_vec_rule(m) || (only && strcmp(only, name)))
			continue;
		t = try_mnemonic((ZydisMnemonic)m);
		known++;
		all.forms += t.forms;
		all.right += t.right;
		all.no_rule += t.no_rule;
		all.lacks += t.lacks;
		all.wrong += t.wrong;
		lacking += t.lacks && t.lacks == t.forms;
		if (t.right)
			continue;
		if (t.lacks)
			continue;
		untried++;
		print_message("%s: no form of %u follows its rule\n", name, t.forms);
	}
	print_message(
		"%u mnemonics, %u forms: %u as the processor, %u without a rule; this processor lacks %u (%u mnemonics)\n",
		known, all.forms, all.right, all.no_rule, all.lacks, lacking);
	assert_int_equal(sigaction(SIGILL, &before, NULL), 0);
	assert_int_equal(all.wrong, 0);
	assert_int_equal(untried, 0);
	/* string instructions called movsd, cmpsd */
	assert_in_range(all.forms - all.right - all.no_rule - all.lacks, 0, 2);
	assert_true(all.right > 400 || getenv("U_EMUVEC"));
}

/* ---- what random operands do not show ---- */

/* Never run: only read. */
#define CODE(name, text)                                                                                               \
	__asm__(".pushsection .text\n" #name ":\n" text "\n" #name "_end:\n.popsection");                              \
	extern const uint8_t name[], name##_end[]

CODE(load_end, "vmovdqu8 (%rsi), %ymm3{%k1}{z}");
CODE(load_whole, "vmovdqu (%rsi), %ymm3");
CODE(compare_end, "vpcmpeqb (%rsi), %ymm4, %k2{%k1}");
CODE(scalar_end, "vaddss (%rsi), %xmm4, %xmm3{%k1}");
CODE(store_end, "vmovdqu8 %ymm4, (%rsi){%k1}");
CODE(store_whole, "movups %xmm4, (%rsi)");
CODE(clear, "pxor %xmm3, %xmm3");
CODE(ones, "vpcmpeqd %ymm3, %ymm3, %ymm3");
CODE(ternary_ones, "vpternlogd $0xff, %zmm3, %zmm3, %zmm3");
CODE(mask_ones, "kxnord %k1, %k1, %k1");
CODE(and, "vpand %xmm4, %xmm3, %xmm3");
CODE(signs, "pmovmskb %xmm3, %eax");
CODE(bits, "ptest %xmm4, %xmm3");

static struct emu_state idle;

static enum emu_outcome carry_out(const uint8_t *code, const uint8_t *end)
{
	struct emu_insn i;

	assert_int_equal(emu_decode(code, (size_t)(end - code), &i), 0);
	assert_int_equal(i.op, EMU_OP_VECTOR);
	return emu_vector(&idle, memory, &i);
}
#define DO(name) carry_out(name, name##_end)

static void begin_idle(uint64_t si)
{
	const struct emu_start start = { .regs = idle.r };

	memset(&idle, 0, sizeof(idle));
	emu_mem_begin(memory, &start);
	idle.r[WREG_SI] = si;
	idle.known = 1u << WREG_SI;
	for (unsigned k = 0; k < EMU_PAGE; k++)
		page[k] = (uint8_t)(k * 7);
	memset(idle.v[3].b, 0x55, EMU_VEC_BYTES);
	memset(idle.v[4].b, 0xaa, EMU_VEC_BYTES);
}

TEST(t_edges)
{
	uint64_t last = (uint64_t)(uintptr_t)page + EMU_PAGE - 4, known;
	uint8_t buf[4];

	begin_idle(last);
	idle.k_known = 2;
	idle.k[1] = 0x0f;
	idle.v[4].known = ~0ull;
	assert_int_equal(DO(load_end), EMU_OK);
	assert_true(idle.v[3].known == ~0ull);
	assert_memory_equal(idle.v[3].b, page + EMU_PAGE - 4, 4);
	assert_int_equal(idle.v[3].b[4], 0);
	assert_int_equal(DO(compare_end), EMU_OK);
	assert_true(idle.k_known & 4 && !idle.k[2]);
	assert_int_equal(DO(store_end), EMU_OK);
	assert_true(emu_mem_read(memory, last, buf, 4, &known) && known == 15);
	assert_memory_equal(buf, "\xaa\xaa\xaa\xaa", 4);

	assert_int_equal(DO(load_whole), EMU_O_FAULT);
	assert_int_equal(DO(store_whole), EMU_O_FAULT);
	idle.k[1] = 0x10;
	assert_int_equal(DO(load_end), EMU_O_FAULT);
	assert_int_equal(DO(store_end), EMU_O_FAULT);

	idle.k_known = 0; /* it may mean anything */
	assert_int_equal(DO(load_end), EMU_OK);
	assert_int_equal(idle.v[3].known & 0xffffffff, 0);
	assert_int_equal(DO(compare_end), EMU_OK);
	assert_false(idle.k_known & 4);
	assert_int_equal(DO(store_end), EMU_OK);
	assert_true(emu_mem_read(memory, last, buf, 4, &known) && !known);
	idle.r[WREG_SI] = last + 4;
	idle.v[3].known = ~0ull;
	assert_int_equal(DO(scalar_end), EMU_OK);
	assert_true(idle.v[3].known == ~0xfull);
}

TEST(t_unknown_address)
{
	uint64_t known;
	uint8_t buf[64];

	begin_idle((uint64_t)(uintptr_t)page);
	idle.known = 0;
	idle.v[3].known = idle.v[4].known = ~0ull;
	assert_int_equal(DO(load_whole), EMU_OK);
	assert_true(idle.v[3].known == ~0xffffffffull);
	assert_int_equal(DO(store_whole), EMU_OK);
	assert_true(emu_mem_read(memory, (uint64_t)(uintptr_t)page, buf, 64, &known) && known == ~0ull);
	assert_memory_equal(buf, page, 64);
}

TEST(t_known_of_unknown)
{
	begin_idle((uint64_t)(uintptr_t)page);
	assert_int_equal(DO(clear), EMU_OK);
	assert_true(idle.v[3].known == 0xffff && !idle.v[3].b[0] && !idle.v[3].b[15]);
	idle.v[3].known = 0;
	assert_int_equal(DO(ones), EMU_OK);
	assert_true(idle.v[3].known == ~0ull && idle.v[3].b[31] == 255 && !idle.v[3].b[32]);
	idle.v[3].known = 0;
	assert_int_equal(DO(ternary_ones), EMU_OK);
	assert_true(idle.v[3].known == ~0ull && idle.v[3].b[63] == 255);
	assert_int_equal(DO(mask_ones), EMU_OK);
	assert_true(idle.k_known == 2 && idle.k[1] == 0xffffffff);

	begin_idle((uint64_t)(uintptr_t)page);
	idle.v[3].known = 0xfffe;
	memset(idle.v[3].b, 0, EMU_VEC_BYTES);
	idle.v[4].known = 1;
	assert_int_equal(DO(signs), EMU_OK);
	assert_false(idle.known >> WREG_AX & 1);
	assert_int_equal(DO(and), EMU_OK); /* zeros decide, 0xaa does not */
	assert_true(idle.v[3].known == ~1ull);
	idle.v[4].b[0] = 0;
	assert_int_equal(DO(and), EMU_OK);
	assert_true(idle.v[3].known == ~0ull);

	idle.v[3].b[2] = idle.v[4].b[2] = 1;
	idle.v[3].known = 4;
	idle.v[4].known = 4;
	idle.flags_known = 0;
	assert_int_equal(DO(bits), EMU_OK); /* one bit in both: not zero, whatever the others are */
	assert_true(idle.flags_known == (EMU_ARITH & ~EMU_CF) && !(idle.flags & EMU_ZF));
}

/* ---- the string functions that this processor gets from libc ---- */

static const struct {
	const char *name;
	uint8_t what; /* the second argument; 0: the other text */
	bool writes;
} strings[] = {
	{ "strlen", 0, false },      { "strnlen", 0, false },  { "strchr", 'y', false },  { "strrchr", 'x', false },
	{ "strchrnul", 'q', false }, { "memchr", 'q', false }, { "memrchr", 'q', false }, { "rawmemchr", 1, false },
	{ "memcmp", 0, false },      { "strcmp", 0, false },   { "strncmp", 0, false },   { "strcasecmp", 0, false },
	{ "strspn", 0, false },      { "strcspn", 0, false },  { "strstr", 0, false },    { "memcpy", 0, true },
	{ "memmove", 0, true },      { "memset", 7, true },    { "stpcpy", 0, true },     { "strncpy", 0, true },
	{ "strcat", 0, true },
};

static size_t own_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	struct iovec here = { buf, len }, there = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	return n < 0 ? 0 : (size_t)n;
}

static bool own_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	return own_code(ctx, addr, buf, EMU_PAGE) == EMU_PAGE;
}

TEST(t_strings)
{
	typedef uint64_t function(void *a, uint64_t b, uint64_t n);
	enum { NOWHERE = 0x1000 };
	struct emu_env env = { .code = own_code, .page = own_page };
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD); /* not what a sanitizer puts before it */
	static uint64_t stack[1024], fs;
	struct emu *e = emu_new(&env);
	bool failed = false;

	assert_non_null(libc);
	assert_non_null(e);
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_GET_FS, &fs), 0);
	for (unsigned n = 0; n < 600 * sizeof(strings) / sizeof(*strings); n++) {
		unsigned k = n % (sizeof(strings) / sizeof(*strings)), len = n / 30, room = 1000;
		uint8_t *a = page + (n * 13) % 70, *b = page + 2 * room + (n * 5) % 40;
		function *f = (function *)dlsym(libc, strings[k].name);
		uint64_t regs[WREG_MAX] = { 0 }, second, known;
		struct emu_start start = { .regs = regs, .insns = 100000 };
		struct emu_result r;
		uint8_t buf[64];

		memset(page, 0, EMU_PAGE);
		memset(a, 'x', len);
		memset(b, 'x', n % 3 ? len : len / 2);
		a[len] = n % 5 ? 0 : 1;
		page[EMU_PAGE - 1] = 1; /* where rawmemchr stops */
		second = strings[k].what ? strings[k].what : (uint64_t)(uintptr_t)b;
		regs[WREG_IP] = (uint64_t)(uintptr_t)f;
		regs[WREG_DI] = (uint64_t)(uintptr_t)a;
		regs[WREG_SI] = second;
		regs[WREG_DX] = len;
		regs[WREG_SP] = (uint64_t)(uintptr_t)(stack + 900);
		regs[WREG_FLAGS] = 0x202;
		regs[WREG_FSBASE] = fs;
		stack[900] = NOWHERE;
		assert_non_null(f);
		assert_int_equal(emu_run(e, &start, &r), 0);
		second = f(a, second, len);
		if (r.end != EMU_CODE || r.end_ip != NOWHERE || r.unknown || !(emu_state(e)->known & 1u << WREG_AX) ||
		    (uint32_t)emu_state(e)->r[WREG_AX] != (uint32_t)second) {
			print_message("%s of %u bytes: %s after %llu instructions, %u without a rule\n",
				      strings[k].name, len, emu_end_str(r.end), (unsigned long long)r.insns, r.unknown);
			failed = true;
		}
		for (unsigned at = 0; strings[k].writes && at < EMU_PAGE; at += 64) {
			assert_true(emu_mem_read(emu_memory_of(e), (uint64_t)(uintptr_t)page + at, buf, 64, &known));
			assert_true(known == ~0ull);
			assert_memory_equal(buf, page + at, 64);
		}
	}
	emu_free(e);
	dlclose(libc);
	assert_false(failed);
}

/* ---- what the string functions need of the run ---- */

CODE(walk, "1: movdqu (%rsi), %xmm0\n add $4096, %rsi\n jmp 1b");

static bool any_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	memset(buf, 0, EMU_PAGE);
	return true;
}

/* A run that touches more pages than there is room for keeps what it has. */
TEST(t_many_pages)
{
	struct emu_env env = { .code = own_code, .page = any_page };
	uint64_t regs[WREG_MAX] = { [WREG_SI] = 1ull << 40, [WREG_IP] = (uint64_t)(uintptr_t)walk };
	struct emu_start start = { .regs = regs, .insns = 1000000 };
	struct emu *e = emu_new(&env);
	struct emu_result r;

	assert_non_null(e);
	assert_int_equal(emu_run(e, &start, &r), 0);
	assert_int_equal(r.end, EMU_FAULT);
	assert_in_range(r.insns, 3 * r.pages, 3 * r.pages + 2);
	assert_true(r.pages > 100 && r.end_ip == regs[WREG_IP]);
	assert_int_equal(emu_runs_of(e, regs[WREG_IP]), r.pages);
	emu_free(e);
}

static int setup(void **state)
{
	struct emu_env env = { .page = read_page };

	level = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") ? 2
		: __builtin_cpu_supports("avx2")                                         ? 1
											 : 0;
	code_page = mmap(NULL, EMU_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code_page == MAP_FAILED)
		return -1;
	memory = emu_mem_new(&env);
	return memory ? 0 : -1;
}

static int teardown(void **state)
{
	emu_mem_free(memory);
	return munmap(code_page, EMU_PAGE);
}

int main(void)
{
	return RUN_TESTS(setup, teardown);
}
