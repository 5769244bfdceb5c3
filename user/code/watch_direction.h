/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a watchpoint hit was: read or write, and by which instruction. The processor reports the state
 * after the access, with the instruction pointer on the next instruction (repeated string
 * instructions: on themselves; calls, returns and jumps: on their target). Undecided is an answer.
 * Included by record and tests.
 *
 * To add an instruction form: a case here, and one in the list of tests/unit/u-watch.c.
 */
#ifndef ACCPERF_CODE_WATCH_DIRECTION_H
#define ACCPERF_CODE_WATCH_DIRECTION_H

#include "code/block.h"

struct watch_direction_env {
	/* Code at a runtime address of the target, and the address in the code's own space; NULL: none. */
	const struct block_code *(*code_at)(void *ctx, uint64_t runtime_ip, uint64_t *code_ip);
	/* The target's memory now; may be NULL. Bytes read. */
	size_t (*memory)(void *ctx, uint64_t addr, void *buf, size_t len);
	void *ctx;
};

struct hit {
	uint64_t addr;
	uint32_t len;
	const uint64_t *regs; /* WREG_MAX, after the access */
	uint64_t on_stack;    /* the eight bytes at the stack pointer */
	/* out */
	uint32_t flags; /* FMT_A_LOAD, _STORE, _ATOMIC, _REP; no direction: undecided */
	uint64_t ip;    /* runtime address of the accessing instruction; a return: the place returned to */
};

void watch_direction_of(struct block_cache *c, const struct watch_direction_env *env, struct hit *h);

#endif
