/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of emu.h: what a decoded instruction (code/insn.h) is here (emu_decode.c), memory (emu_mem.c), what
 * instructions do (emu_int.c for general registers, emu_vec*.c for vectors and masks), what vectors hold when it
 * begins (emu_before.c), and the run itself (emu.c). Included by these and by tests only.
 *
 * To teach it an instruction: a value of enum emu_op, its mnemonic in emu_decode.c, a case in emu_int.c; of
 * vectors: see emu_vec_priv.h. tests/unit/u-emu.c and u-emuvec.c compare each with the processor. What has no rule is
 * EMU_OP_UNKNOWN: all that it writes becomes unknown, so rules may be missing, but must not be wrong.
 */
#ifndef ACCPERF_EMU_EMU_PRIV_H
#define ACCPERF_EMU_EMU_PRIV_H

#include "abi.h"
#include "emu/emu.h"

#define EMU_OPERANDS 4   /* that an instruction names; one with more is not carried out */
#define EMU_VEC_BYTES 64 /* of a vector register: AVX-512 */
#define EMU_NOREG 0xff   /* DEC_NOREG, as emu_decode.c holds */

/* Flags, as bits of their own: known one by one. */
enum emu_flag {
	EMU_CF = 1,
	EMU_PF = 2,
	EMU_AF = 4,
	EMU_ZF = 8,
	EMU_SF = 16,
	EMU_OF = 32,
	EMU_DF = 64,
	EMU_ARITH = EMU_CF | EMU_PF | EMU_AF | EMU_ZF | EMU_SF | EMU_OF,
};

enum emu_kind { EMU_K_NONE, EMU_K_REG, EMU_K_HIGH /* ah bh ch dh */, EMU_K_MEM, EMU_K_IMM, EMU_K_VEC, EMU_K_MASK };

struct emu_operand {
	uint8_t kind;
	uint8_t reg;                   /* WREG_*; number of the vector or mask register; MEM: base */
	uint8_t index, scale, segment; /* MEM: WREG_* or EMU_NOREG; segment: WREG_FSBASE, EMU_NOREG */
	bool written, read;
	bool narrow;  /* MEM: addresses of 32 bits */
	bool strange; /* MEM: an address that general registers do not give (gather, gs) */
	/* bytes. VEC: of the register (16, 32, 64), also of scalars; MEM: that are touched, of one element when it is
	 * spread over all (EVEX {1toN}) */
	uint16_t size;
	int64_t value; /* IMM; MEM: displacement */
};

struct emu_insn {
	uint16_t op;       /* enum emu_op */
	uint16_t mnemonic; /* the decoder's, for emu_vec.c's own table */
	uint8_t len, ops;
	uint8_t cond;         /* JCC, SETCC, CMOV: the low four bits of its opcode */
	uint8_t rep;          /* 0, 'z' (rep, repe), 'n' (repne) */
	uint8_t width;        /* bytes of the operation */
	uint8_t mask;         /* EVEX: number of the mask register, 0: none */
	bool fpu_changed;     /* the control word of x87 is written */
	bool moves;           /* names memory that it touches, or is a branch */
	bool zeroing, vex;    /* vex: bytes above the result become zero */
	uint8_t vector;       /* bytes of the vectors at work, VEX and EVEX */
	uint8_t element;      /* bytes of an element of vector instructions, as far as the decoder tells; 0: unknown */
	uint32_t gpr_written; /* bit per WREG, hidden ones too; what EMU_OP_UNKNOWN forgets */
	uint64_t vec_written;
	uint8_t mask_written, flags_written; /* flags: enum emu_flag */
	int64_t target;                      /* direct branches: from the end of the instruction */
	/* Visible ones, as in Intel's syntax: the destination first; without the EVEX mask register, k0 included. */
	struct emu_operand o[EMU_OPERANDS];
};

enum emu_op {
	EMU_OP_UNKNOWN,
	EMU_OP_NOP,
	EMU_OP_PAUSE,
	EMU_OP_MOV,
	EMU_OP_MOVBE,
	EMU_OP_MOVSX,
	EMU_OP_LEA,
	EMU_OP_ADD,
	EMU_OP_ADC,
	EMU_OP_SUB,
	EMU_OP_SBB,
	EMU_OP_CMP,
	EMU_OP_AND,
	EMU_OP_TEST,
	EMU_OP_OR,
	EMU_OP_XOR,
	EMU_OP_NOT,
	EMU_OP_NEG,
	EMU_OP_INC,
	EMU_OP_DEC,
	EMU_OP_SHL,
	EMU_OP_SHR,
	EMU_OP_SAR,
	EMU_OP_ROL,
	EMU_OP_ROR,
	EMU_OP_SHLD,
	EMU_OP_SHRD,
	EMU_OP_IMUL,
	EMU_OP_IMUL_WIDE,
	EMU_OP_MUL,
	EMU_OP_DIV,
	EMU_OP_IDIV,
	EMU_OP_CBW,
	EMU_OP_CWD,
	EMU_OP_BSWAP,
	EMU_OP_XCHG,
	EMU_OP_XADD,
	EMU_OP_CMPXCHG,
	EMU_OP_BT,
	EMU_OP_BTS,
	EMU_OP_BTR,
	EMU_OP_BTC,
	EMU_OP_BSF,
	EMU_OP_BSR,
	EMU_OP_TZCNT,
	EMU_OP_LZCNT,
	EMU_OP_POPCNT,
	EMU_OP_ANDN,
	EMU_OP_BLSR,
	EMU_OP_BLSI,
	EMU_OP_BLSMSK,
	EMU_OP_BZHI,
	EMU_OP_SHLX,
	EMU_OP_SHRX,
	EMU_OP_SARX,
	EMU_OP_RORX,
	EMU_OP_MULX,
	EMU_OP_SETCC,
	EMU_OP_CMOV,
	EMU_OP_PUSH,
	EMU_OP_POP,
	EMU_OP_LEAVE,
	EMU_OP_STC,
	EMU_OP_CLC,
	EMU_OP_CMC,
	EMU_OP_STD,
	EMU_OP_CLD,
	EMU_OP_MOVS,
	EMU_OP_STOS,
	EMU_OP_CMPS,
	EMU_OP_SCAS,
	EMU_OP_FNSTCW,
	EMU_OP_XSAVE,
	EMU_OP_XSAVEC,
	/* control */
	EMU_OP_JCC,
	EMU_OP_JMP,
	EMU_OP_CALL,
	EMU_OP_RET,
	EMU_OP_JRCXZ,
	EMU_OP_SYSCALL,
	EMU_OP_TRAP,
	EMU_OP_VECTOR, /* anything that emu_vector() may know; none with a rounding mode in its encoding, none of MMX */
};

/* Bit b of `known`: byte b is known. */
struct emu_vec {
	uint8_t b[EMU_VEC_BYTES];
	uint64_t known;
};

/* Flags that were not worked out: of what, see emu_quick.c. */
enum emu_lazy {
	EMU_LAZY_NONE,
	EMU_LAZY_ADD,
	EMU_LAZY_SUB,
	EMU_LAZY_LOGIC,
	EMU_LAZY_SHL, /* by a number, not 0 */
	EMU_LAZY_SHR,
	EMU_LAZY_SAR
};

struct emu_state {
	uint64_t r[WREG_MAX];       /* WREG_IP: of the instruction being carried out */
	uint32_t known;             /* bit per WREG: all 64 bits, or nothing */
	uint8_t flags, flags_known; /* enum emu_flag; of EMU_ARITH nothing while there is one in `lazy` */
	uint8_t k_known;
	uint8_t lazy, lazy_width;        /* enum emu_lazy; bytes */
	uint64_t lazy_a, lazy_b, lazy_r; /* operands and result, in the highest bytes; of shifts the result alone */
	uint64_t k[8];
	struct emu_vec v[32];
	bool fpu_changed;  /* the control word of x87 is not as it was when the run began */
	uint64_t elements; /* that repeated instructions carried out */
};

struct emu_memory;

struct emu_memory *emu_mem_new(const struct emu_env *env);
void emu_mem_free(struct emu_memory *m);
/* What `start` points to must stay until the run is over. */
void emu_mem_begin(struct emu_memory *m, const struct emu_start *start);
/* Accesses from now on are told of; before, nobody is. */
void emu_mem_tell(struct emu_memory *m, emu_access_fn *tell, void *ctx);
/* Who reads and writes from now on; sp 0: unknown. Only where the run tells of accesses. */
void emu_mem_by(struct emu_memory *m, uint64_t ip, uint32_t at, uint64_t sp);
/* What an instruction read and wrote, the first of it. */
#define EMU_PLACES 4 /* more than an instruction has, but for those that repeat themselves */
struct emu_place {
	uint64_t addr;
	bool store;
};
void emu_mem_written(const struct emu_memory *m, emu_access_fn *tell, void *ctx);
uint32_t emu_mem_pages(const struct emu_memory *m);
/* Of words that were read of pages which are not as old as the sample, before the run wrote there: the first that is
 * no longer what it was, UINT32_MAX: all are. What changed since is likely to have changed
 * between the sample and when it was read, too. */
uint32_t emu_mem_changed(const struct emu_memory *m);
/* Words that were too many to be looked at again. */
uint32_t emu_mem_unlisted(const struct emu_memory *m);
/* A page was wanted that there was no room for. */
bool emu_mem_full(const struct emu_memory *m);
bool emu_mem_touched(const struct emu_memory *m, uint32_t i, struct emu_touched *out);
/* False: not mapped. Up to 64 bytes; *known: bit per byte. */
bool emu_mem_read(struct emu_memory *m, uint64_t addr, void *buf, unsigned len, uint64_t *known);
bool emu_mem_write(struct emu_memory *m, uint64_t addr, const void *buf, unsigned len, uint64_t known);
/* As many bytes as wanted become unknown. */
bool emu_mem_forget(struct emu_memory *m, uint64_t addr, uint64_t len);

/* 0; -EINVAL: no instruction. Never leaves anything of *out undefined. */
int emu_decode(const uint8_t *bytes, size_t len, struct emu_insn *out);

enum emu_outcome { EMU_OK, EMU_O_FAULT, EMU_O_TRAP, EMU_O_NO_RULE /* the caller forgets what it writes */ };

/* False: unknown. next: address of the following instruction. */
bool emu_address(const struct emu_state *s, const struct emu_operand *o, uint64_t next, uint64_t *addr);
/* Everything but control flow. */
enum emu_outcome emu_integer(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);
enum emu_outcome emu_vector(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);
/* What an instruction without a rule may have changed becomes unknown. */
enum emu_outcome emu_forget_written(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);
struct emu_before;

struct emu_before *emu_before_new(const struct emu_env *env);
void emu_before_free(struct emu_before *b);
void emu_before_forget(struct emu_before *b);
/* Vector registers, as far as the code of the function around s->r[WREG_IP] tells what they hold. */
void emu_before(struct emu_before *b, struct emu_memory *m, struct emu_state *s);
/* 0, 1; -1: unknown */
int emu_condition(const struct emu_state *s, uint8_t cond);
/* After a run: for tests. */
const struct emu_state *emu_state(const struct emu *e);
struct emu_memory *emu_memory_of(const struct emu *e); /* for tests */
/* For tests: told of the state after each instruction, and after each call that was left early. */
typedef void emu_watcher(void *ctx, const struct emu_state *s, bool skipped);
/* For tests: every instruction by its rule, none by emu_quick.c. */
void emu_by_rules(struct emu *e);
void emu_watch(struct emu *e, emu_watcher *watcher, void *ctx);

#endif
