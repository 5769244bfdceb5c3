/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the basic blocks of one function begin: a straight decode of its bytes that collects the
 * targets of direct jumps, of jump tables, and what follows every branch. Included by this room alone.
 */
#ifndef ACCPERF_CODE_BLOCK_STARTS_H
#define ACCPERF_CODE_BLOCK_STARTS_H

#include "code/block.h"

#define STARTS_MAX_FUNCTION (1u << 20) /* bytes: more is a section without symbols and no function; by hand */

struct block_starts {
	uint64_t start, end;
	uint32_t *insn; /* offsets of all instructions, ascending, with marks */
	uint32_t count;
	bool decoded;  /* the decode went through to the end */
	bool complete; /* and every way into a block is known: no indirect jump without a table */
};

#define STARTS_MARK 0x80000000u   /* a block begins there */
#define STARTS_BRANCH 0x40000000u /* DEC_F_BRANCH: others need not be decoded again for the flow */
#define STARTS_OFFSET 0x3fffffffu /* the rest: bytes from the function's start */

/* 0; -ENODATA: the bytes cannot be read; -ENOMEM. A function that does not decode is no error. */
int block_starts_find(const struct block_code *code, uint64_t start, uint64_t end, struct block_starts *out);
void block_starts_release(struct block_starts *l);
/* Index of the instruction at addr, -1 if none starts there. */
int block_starts_index(const struct block_starts *l, uint64_t addr);

#endif
