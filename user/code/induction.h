/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Induction registers: registers that advance by the same constant in every iteration of a loop, so
 * that two looks at them, before the loop and behind it, give the number of iterations. Found by a
 * forward data flow "register = what a register held at the header + constant" through the loop's
 * body: moves, lea, add, sub, inc, dec; copies are followed; calls spoil what the ABI lets them.
 * Inductions in memory are not found. Where none does but one is loaded anew from where it points to (a list:
 * p = p->next), the way from its first value to its last can be walked afterwards, as long as it is still there.
 * Included by record and tests.
 *
 * How to read a trip count, with breakpoints on the instruction `entry_insn` and on the exit's
 * target, which both fire before their instruction runs:
 *	first = entry constant, or register entry_reg at entry_insn + entry_add
 *	last  = register exit_reg at the exit's target - exit_add
 *	the header ran (last - first) / stride + 1 times, if the division leaves no remainder;
 * all modulo 2^bits. induction_trips() does it, and induction_walk() for lists.
 *
 * To follow another instruction: a case in step() of induction.c and a fixture in u-cfg.c.
 */
#ifndef ACCPERF_CODE_INDUCTION_H
#define ACCPERF_CODE_INDUCTION_H

#include "code/cfg.h"

struct induction_exit {
	uint32_t from, to; /* blocks */
	uint8_t reg;       /* DEC_NOREG: no register tells at this exit */
	bool next;         /* of a list: of the element behind it */
	int64_t add;       /* reg there = the induction's value at the header + add */
};

#define INDUCTION_EXITS 8 /* of one loop; others are not told of; by hand */

struct induction {
	uint8_t reg;    /* at the header */
	uint8_t bits;   /* 32 or 64 that count */
	int64_t stride; /* 0: a list, the next value is the 8 bytes at value + at, + then */
	int64_t at, then;
	uint32_t entry_insn; /* where to break: the last instruction before the loop; CFG_NONE: nowhere */
	bool entry_known;    /* a constant at every entry: entry_value */
	uint8_t entry_reg;   /* DEC_NOREG: unknown before that instruction */
	int64_t entry_add, entry_value;
	struct induction_exit exit[INDUCTION_EXITS];
	uint32_t exits;
	bool exits_all; /* each exit of the loop is listed and tells */
};

/* The loop's induction that tells most: all exits before some, constants before lists, 64 bits before 32. 0; -ENOENT:
 * none;
 * -E2BIG: the budget (instructions: hostile nests must end) is spent, so nobody knows; -ENOMEM. */
int induction_find(const struct cfg *c, uint32_t loop, uint32_t *budget, struct induction *out);

/* How often the header ran; false if these values cannot be of one activation. */
bool induction_trips(const struct induction *in, const struct induction_exit *e, uint64_t entry_reg_value,
		     uint64_t exit_reg_value, uint64_t *trips);

#define INDUCTION_WALK_MOST 100000 /* elements: a longer list, or one that runs in a circle, is not known */

/* Reads 8 bytes of the process; false: it cannot. */
typedef bool (*induction_peek_fn)(void *ctx, uint64_t addr, uint64_t *value);
/* The same for a list. False also if the last value is not come by: the list is another one by now. */
bool induction_walk(const struct induction *in, const struct induction_exit *e, uint64_t entry_reg_value,
		    uint64_t exit_reg_value, induction_peek_fn peek, void *ctx, uint64_t *trips);

#endif
