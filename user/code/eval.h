/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Register states along a straight run of instructions: forward from a known state, and backward by
 * inverting what can be inverted. No I/O, no guessing: a value is known or it is not. Included by
 * this room alone.
 *
 * To add an effect: a case in apply() (forward), and in invert() if nothing is lost; u-truth.c checks
 * both against the processor.
 */
#ifndef ACCPERF_CODE_EVAL_H
#define ACCPERF_CODE_EVAL_H

#include "abi.h"
#include "code/decode.h"

#define EVAL_FLAG_DF (1u << 10) /* of WREG_FLAGS: instructions on strings go down */

/* Before an instruction. `low` says that the low 32 bits are known; `full` implies `low`. */
struct eval_state {
	uint32_t full, low;
	uint64_t r[WREG_MAX];
};

struct eval_run {
	const struct dec_insn *insn; /* count of them */
	const uint64_t *ip;          /* runtime address of each */
	unsigned count, at;          /* at: the one that was sampled */
	const uint8_t *stack;        /* memory at the sample, from sp upwards */
	uint32_t stack_bytes;
	uint64_t sp;
	struct eval_state *state; /* count + 1, filled by eval_run() */
};

/* Fills run->state from regs, the registers before instruction `at`. */
void eval_run(const struct eval_run *run, const uint64_t *regs);
/* Address of an operand in a state; false: unknown. next_ip: of the following instruction. */
bool eval_address(const struct eval_state *s, const struct dec_mem *m, uint64_t next_ip, uint64_t *addr);

#endif
