/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes become one decoded instruction here, and nowhere else. What it does to registers and memory (decode.h) and
 * what the emulator carries out (emu/emu_decode.c) are two projections of it; the questions that both ask are
 * answered here. Included by the files that make projections (emu and flow). Input bytes are untrusted.
 */
#ifndef ACCPERF_CODE_INSN_H
#define ACCPERF_CODE_INSN_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "code/decode.h"

struct insn {
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT]; /* z.operand_count of them, and two at least: then empty */
};

/* 0, or -EINVAL for bytes that are no instruction (or too few). */
int insn_decode(const uint8_t *bytes, size_t len, struct insn *out);
/* Without operands, twice as fast. */
int insn_decode_head(const uint8_t *bytes, size_t len, ZydisDecodedInstruction *out);

/* enum dec_flags, those about control flow; 0: the next instruction follows. */
uint32_t insn_flow(const ZydisDecodedInstruction *z);
/* Of what says it relative to its own end. False: it does not. */
bool insn_target(const ZydisDecodedInstruction *z, int64_t *target);
/* Bit per WREG: general registers it writes, hidden operands too. */
uint32_t insn_writes(const struct insn *i);
/* Hints and others that name memory, but do not touch it. */
bool insn_is_hint(const ZydisDecodedInstruction *z);
/* These, caches and what keeps calls in order. */
bool insn_touches_no_memory(const ZydisDecodedInstruction *z);
/* An operand is memory that is read or written. */
bool insn_is_access(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op);
/* It has such an operand, or is a branch. */
bool insn_moves(const struct insn *i);
/* xsave, xrstor and their kin: the size of what they touch depends on data. */
bool insn_is_xsave(const ZydisDecodedInstruction *z);

/* An address as general registers give it. */
struct insn_address {
	uint8_t base, index, segment; /* WREG_*; DEC_NOREG; DEC_BADREG */
	uint8_t scale;
	bool narrow; /* of 32 bits */
	int64_t disp;
};
/* For people, as AT&T or Intel write it; `at`: where it stands, for what is relative to it. */
void insn_text(const struct insn *i, uint64_t at, bool intel, char *out, size_t size);
void insn_address(const ZydisDecodedInstruction *z, const ZydisDecodedOperandMem *m, struct insn_address *out);

/* WREG of the 64-bit register around r, DEC_NOREG if it is no general register. */
static inline uint8_t gpr_of(ZydisRegister r)
{
	/* Zydis: rax rcx rdx rbx rsp rbp rsi rdi r8... */
	static const uint8_t order[16] = {
		WREG_AX, WREG_CX, WREG_DX,  WREG_BX,  WREG_SP,  WREG_BP,  WREG_SI,  WREG_DI,
		WREG_R8, WREG_R9, WREG_R10, WREG_R11, WREG_R12, WREG_R13, WREG_R14, WREG_R15
	};

	unsigned n;

	_Static_assert(ZYDIS_REGISTER_R15 == ZYDIS_REGISTER_AX + 47 && ZYDIS_REGISTER_R15B == ZYDIS_REGISTER_AL + 19,
		       "registers of one width follow each other, and so do the widths");
	if (r >= ZYDIS_REGISTER_AX && r <= ZYDIS_REGISTER_R15)
		return order[(r - ZYDIS_REGISTER_AX) % 16];
	if (r >= ZYDIS_REGISTER_AL && r <= ZYDIS_REGISTER_R15B) { /* al cl dl bl ah ch dh bh spl bpl... */
		n = r - ZYDIS_REGISTER_AL;
		return order[n < 4 ? n : n - 4];
	}
	return r == ZYDIS_REGISTER_RIP || r == ZYDIS_REGISTER_EIP ? WREG_IP : DEC_NOREG;
}

/* ah, bh, ch, dh */
static inline bool is_high_byte(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH;
}

#endif
