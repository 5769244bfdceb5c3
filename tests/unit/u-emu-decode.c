// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The two projections of a decoded instruction (decode.h, the emulator's) agree, and the emulator's addresses are the
 * library's own: over the code of system libraries and programs, and over noise.
 */
#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "code/decode.h"
#include "emu/emu_priv.h"
#include "unit/unit.h"

struct sweep {
	uint64_t insns, unknown, vectors, traps, addresses, wrong;
};

static uint64_t any_register(unsigned wreg)
{
	return (wreg + 3) * 0x9e3779b97f4a7c15ull;
}

/* 0: no general register */
static uint64_t any_of(ZydisRegister r)
{
	static const uint8_t order[16] = {
		WREG_AX, WREG_CX, WREG_DX,  WREG_BX,  WREG_SP,  WREG_BP,  WREG_SI,  WREG_DI,
		WREG_R8, WREG_R9, WREG_R10, WREG_R11, WREG_R12, WREG_R13, WREG_R14, WREG_R15
	};
	bool half = r >= ZYDIS_REGISTER_EAX && r <= ZYDIS_REGISTER_R15D;

	if (half || (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)) {
		uint64_t v = any_register(order[r - (half ? ZYDIS_REGISTER_EAX : ZYDIS_REGISTER_RAX)]);

		return half ? (uint32_t)v : v;
	}
	return 0;
}

static bool addresses_agree(const ZydisDecoder *z, const uint8_t *code, size_t len, const struct emu_insn *i,
			    struct sweep *w)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	static struct emu_state s;
	ZydisRegisterContext rc;
	ZydisDecodedInstruction d;
	uint64_t mine, theirs;
	unsigned k = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(z, code, len, &d, op)))
		return false;
	s.known = ~0u;
	memset(&rc, 0, sizeof(rc));
	for (unsigned r = 0; r < WREG_MAX; r++)
		s.r[r] = any_register(r);
	for (ZydisRegister r = ZYDIS_REGISTER_EAX; r <= ZYDIS_REGISTER_R15; r++)
		rc.values[r] = any_of(r);
	for (unsigned n = 0; n < d.operand_count_visible; n++) {
		if (op[n].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			continue;
		if (k >= i->ops)
			return i->op == EMU_OP_NOP || i->op == EMU_OP_PAUSE || k == EMU_OPERANDS;
		if ((op[n].type == ZYDIS_OPERAND_TYPE_MEMORY) != (i->o[k].kind == EMU_K_MEM))
			return false;
		if (op[n].type == ZYDIS_OPERAND_TYPE_MEMORY && !i->o[k].strange) {
			struct emu_operand o = i->o[k];

			/* the library's does not know segments */
			if ((op[n].mem.segment == ZYDIS_REGISTER_FS) != (o.segment == WREG_FSBASE) &&
			    i->op != EMU_OP_LEA)
				return false;
			o.segment = EMU_NOREG;
			if (!emu_address(&s, &o, s.r[WREG_IP] + i->len, &mine) ||
			    !ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&d, &op[n], s.r[WREG_IP], &rc, &theirs)) ||
			    mine != theirs)
				return false;
			w->addresses++;
		}
		k++;
	}
	return true;
}

static bool decoders_agree(const struct dec_insn *d, const struct emu_insn *i)
{
	uint32_t writes = d->writes | (d->flags & DEC_F_KNOWN_SP ? 1u << WREG_SP : 0);

	if (i->op == EMU_OP_TRAP)
		return d->len == i->len;
	if (d->len != i->len || (i->gpr_written & ~(1u << WREG_FSBASE)) != writes)
		return false;
	if (i->moves != (d->mem_cnt || (d->flags & DEC_F_BRANCH)))
		return false;
	if (d->flags & DEC_F_BRANCH)
		return i->op >= EMU_OP_JCC && i->op < EMU_OP_TRAP &&
		       (!(d->flags & DEC_F_DIRECT) || d->target == i->target);
	return i->op < EMU_OP_JCC || i->op == EMU_OP_VECTOR;
}

static void sweep_code(const uint8_t *code, size_t size, const char *name, struct sweep *w)
{
	ZydisDecoder z;
	struct dec_insn d;
	struct emu_insn i;

	ZydisDecoderInit(&z, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < size; at += i.len ? i.len : 1) {
		int mine = emu_decode(code + at, size - at, &i), theirs = dec_decode(code + at, size - at, &d);
		bool right = mine == theirs;

		if (!mine && !theirs)
			right = decoders_agree(&d, &i) && addresses_agree(&z, code + at, size - at, &i, w);
		if (!right && w->wrong++ < 10) {
			printf("# %s+%#zx: %d, %d bytes, op %u, writes %#x; %d, %d bytes, writes %#x:", name, at, mine,
			       i.len, i.op, i.gpr_written, theirs, d.len, d.writes);
			for (size_t k = 0; k < 15 && at + k < size; k++)
				printf(" %02x", code[at + k]);
			printf("\n");
		}
		w->insns += !mine;
		w->unknown += !mine && i.op == EMU_OP_UNKNOWN;
		w->vectors += i.op == EMU_OP_VECTOR;
		w->traps += i.op == EMU_OP_TRAP;
	}
}

static void sweep_file(const char *path, size_t most, struct sweep *w)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_EXECINSTR) || sh.sh_type != SHT_PROGBITS)
			continue;
		data = elf_getdata(scn, NULL);
		if (data && data->d_buf)
			sweep_code(data->d_buf, data->d_size < most ? data->d_size : most, path, w);
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
}

TEST(of_programs)
{
	static const char *const path[] = {
		"/proc/self/exe",
		"/bin/bash",
		"/bin/ls",
		"/bin/tar",
		"/bin/gzip",
		"/usr/bin/perl",
		"/usr/bin/python3",
		"/usr/bin/gdb",
		"/usr/bin/xz",
		"/usr/bin/find",
		"/usr/bin/awk",
		"/usr/bin/sort",
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/lib/x86_64-linux-gnu/libz.so.1",
	};
	struct sweep w = { 0 };

	elf_version(EV_CURRENT);
	sweep_file("/lib/x86_64-linux-gnu/libc.so.6", 1 << 21, &w);
	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		sweep_file(path[i], 1 << 16, &w);
	print_message("# %lu instructions, %lu without a rule, %lu of vectors, %lu traps, %lu addresses, %lu wrong\n",
		      w.insns, w.unknown, w.vectors, w.traps, w.addresses, w.wrong);
	assert_true(w.insns > 100000);
	assert_true(w.addresses > 30000);
	assert_int_equal(w.wrong, 0);
}

/* Whatever else can be encoded: with the prefixes of vectors among it. */
TEST(of_noise)
{
	static uint8_t noise[1 << 17];
	struct sweep w = { 0 };
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(noise); i++) {
		x = x * 1664525 + 1013904223;
		noise[i] = (uint8_t)(x >> 24);
		if (i % 8 == 7)
			noise[i] = "\x62\xc4\xc5\xf0\x67\x66\x0f\x64"[x >> 13 & 7];
	}
	sweep_code(noise, sizeof(noise), "noise", &w);
	print_message("# %lu instructions of noise, %lu without a rule, %lu of vectors, %lu traps, %lu wrong\n",
		      w.insns, w.unknown, w.vectors, w.traps, w.wrong);
	assert_int_equal(w.wrong, 0);
}
