/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One x86-64 instruction in our own terms: which memory it touches, what it does to the registers,
 * and what kind of work it is. A projection of the decoded instruction (insn.h), as is what the emulator carries
 * out (emu/emu_decode.c). Included by all that ask what an instruction does (emu, offload, record, exact and tests).
 * Input bytes are untrusted.
 *
 * Registers are numbered as in abi.h (WREG_*). An address is given only as far as general registers
 * determine it: vector-indexed operands (gather, scatter) are marked, not evaluated.
 *
 * To teach it another register effect: a case in effect_of() of decode.c, and apply() and
 * invert() of block.c; tests/unit/u-truth.c compares the outcome with the processor.
 */
#ifndef ACCPERF_CODE_DECODE_H
#define ACCPERF_CODE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEC_NOREG 0xff     /* no such part in the address */
#define DEC_BADREG 0xfe    /* a part that general registers do not give: vector index, gs base */
#define DEC_MAX_BYTES 15   /* of an instruction; x86-64 knows no longer one */
#define DEC_MAX_MEM 3      /* operands of an instruction in memory: push and pop of one have two; lea's is the last */
#define DEC_SIZE_UNKNOWN 0 /* masked, or depending on data */

enum dec_mem_flags {
	DEC_M_LOAD = 1,
	DEC_M_STORE = 2,
	DEC_M_VECTOR = 4, /* one access per lane, at addresses that are unknown here */
	DEC_M_REP = 8,    /* repeated rcx times, size bytes each, in the direction of DF */
	DEC_M_STOP = 16,  /* rep that may stop early (scas, cmps): the length is unknown */
	DEC_M_ADDR32 = 64,
	DEC_M_MASKED = 128, /* the lanes touched depend on a mask */
};

struct dec_mem {
	uint8_t base, index, scale, segment; /* segment: WREG_FSBASE, DEC_BADREG or DEC_NOREG */
	uint16_t size;                       /* of one element for vector operands; DEC_SIZE_UNKNOWN */
	uint8_t flags;
	uint8_t lanes; /* of DEC_M_VECTOR */
	int64_t disp;
};

enum dec_op {
	DEC_OP_NONE, /* only what `writes` says */
	DEC_OP_MOV,
	DEC_OP_LEA,
	DEC_OP_ADD,
	DEC_OP_SUB,
	DEC_OP_AND,
	DEC_OP_OR,
	DEC_OP_XOR,
	DEC_OP_SHL,
	DEC_OP_SHR,
	DEC_OP_SAR,
	DEC_OP_IMUL,
	DEC_OP_NEG,
	DEC_OP_NOT,
	DEC_OP_BSWAP,
	DEC_OP_XCHG,
	DEC_OP_LEAVE,
	DEC_OP_STRING,
};

enum dec_src { DEC_SRC_NONE, DEC_SRC_IMM, DEC_SRC_REG, DEC_SRC_MEM /* mem[0] */ };

/* dst = dst op src; MOV and LEA do not read dst. Results of 4 bytes are extended with zeros. */
struct dec_effect {
	uint8_t op, dst, src_kind, src;
	uint8_t width;     /* of the result: 4 or 8 */
	uint8_t src_width; /* bytes taken from src: 1, 2, 4, 8 */
	bool sign;         /* extended with its sign */
	bool mul3;         /* dst = src * imm: dst is not read */
	int64_t imm;
};

enum dec_flags {
	DEC_F_BRANCH = 1u << 0, /* any change of control flow; ends a basic block */
	DEC_F_COND = 1u << 1,
	DEC_F_DIRECT = 1u << 2, /* target is valid */
	DEC_F_CALL = 1u << 3,
	DEC_F_RET = 1u << 4,
	DEC_F_SYSCALL = 1u << 5,
	DEC_F_TRAP = 1u << 6, /* int3, ud2, hlt: nothing follows */
	DEC_F_REP = 1u << 7,
	DEC_F_ATOMIC = 1u << 8,
	DEC_F_COMPUTE = 1u << 9, /* arithmetic or logical: neither moves data nor control */
	DEC_F_FP = 1u << 10,     /* the computation is floating point */
	DEC_F_SIMD = 1u << 11,
	DEC_F_KNOWN_SP = 1u << 13,  /* sp changes by sp_delta and nothing else */
	DEC_F_MEM_OTHER = 1u << 14, /* touches memory in ways mem[] does not tell (xsave, enter) */
	DEC_F_STORES = 1u << 15,
	DEC_F_SLOW = 1u << 16, /* divides, takes a root: takes as long as dozens of others */
	DEC_F_IDLE = 1u << 17, /* neither computes, moves data nor changes the flow: nop, endbr, fences, cpuid */
};

struct dec_insn {
	uint32_t flags;
	uint8_t len;
	uint8_t mem_cnt;
	uint8_t lanes; /* elements computed at once, 1 for scalars */
	uint8_t element_bits;
	uint8_t store_src; /* register that mem[0] receives unchanged, else DEC_NOREG */
	uint32_t writes;   /* bit per WREG: general registers changed, sp excepted if DEC_F_KNOWN_SP */
	uint8_t compared;  /* general register compared with the constant compared_to, else DEC_NOREG */
	int64_t compared_to;
	int32_t sp_delta;
	int64_t target; /* relative to the end of the instruction */
	struct dec_mem mem[DEC_MAX_MEM];
	struct dec_effect effect;
};

/* Usual instructions (a third of a nanosecond and less) that take as long, on processors of the last ten
 * years. Of a rep: without its operand. */
static inline unsigned dec_cost(const struct dec_insn *d)
{
	return d->flags & DEC_F_SLOW ? 21 : d->flags & DEC_F_ATOMIC ? 41 : 1;
}

/* 0, or -EINVAL for bytes that are no instruction (or too few). */
int dec_decode(const uint8_t *bytes, size_t len, struct dec_insn *out);
/* Only flags, len and target: enough to find block starts, twice as fast. */
int dec_decode_flow(const uint8_t *bytes, size_t len, struct dec_insn *out);

#endif
