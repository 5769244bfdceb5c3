/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Induction registers: registers that advance by the same constant in every iteration of a loop, so
 * that two looks at them, before the loop and behind it, give the number of iterations. Found by a
 * forward data flow "register = what a register held at the header + constant" through the loop's
 * body: moves, lea, add, sub, inc, dec; copies are followed; calls spoil what the ABI lets them.
 * Inductions in memory are not found. Included by user/attr's users, cli and tests.
 *
 * How to read a trip count, with breakpoints on the instruction `entry_insn` and on the exit's
 * target, which both fire before their instruction runs:
 *	first = entry constant, or register entry_reg at entry_insn + entry_add
 *	last  = register exit_reg at the exit's target - exit_add
 *	the header ran (last - first) / stride + 1 times, if the division leaves no remainder;
 * all modulo 2^bits. induct_trips() does it.
 *
 * To follow another instruction: a case in step() of induct.c and a fixture in u-cfg.c.
 */
#ifndef ACCPERF_ATTR_INDUCT_H
#define ACCPERF_ATTR_INDUCT_H

#include "attr/cfg.h"

struct induct_exit {
	uint32_t from, to; /* blocks */
	uint8_t reg;	   /* DEC_NOREG: no register tells at this exit */
	int64_t add;	   /* reg there = the induction's value at the header + add */
};

#define INDUCT_EXITS 8

struct induct {
	uint8_t reg;  /* at the header */
	uint8_t bits; /* 32 or 64 that count */
	int64_t stride;
	uint32_t entry_insn; /* where to break: the last instruction before the loop; CFG_NONE: nowhere */
	bool entry_known; /* a constant at every entry: entry_value */
	uint8_t entry_reg; /* DEC_NOREG: unknown before that instruction */
	int64_t entry_add, entry_value;
	struct induct_exit exit[INDUCT_EXITS];
	uint32_t exits;
	bool exits_all; /* each exit of the loop is listed and tells */
};

/* Work left for one function, in instructions: hostile nests must end. */
#define INDUCT_BUDGET (8u << 20)

/* The loop's induction that tells most: all exits before some, 64 bits before 32. 0; -ENOENT: none;
 * -E2BIG: the budget is spent, so nobody knows; -ENOMEM. */
int induct_find(const struct cfg *c, uint32_t loop, uint32_t *budget, struct induct *out);

/* How often the header ran; false if these values cannot be of one activation. */
bool induct_trips(const struct induct *in, const struct induct_exit *e, uint64_t entry_reg_value,
		  uint64_t exit_reg_value, uint64_t *trips);

#endif
