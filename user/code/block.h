/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The basic block around a sampled instruction, and the addresses that its operands have or had,
 * computed from the registers (and the piece of stack) seen at the sample. An address is exact or
 * unknown: nothing is guessed. Exact means: follows from the sampled state if the block was entered
 * at its start, which is assumed only where all starts of the function are known.
 *
 * Owns the cache of decoded blocks. Included by flow, record and tests. Code comes through a callback, so that files,
 * JIT memory and tests look alike; its bytes are untrusted.
 *
 * To follow another register effect: see decode.h.
 */
#ifndef ACCPERF_CODE_BLOCK_H
#define ACCPERF_CODE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/decode.h"

struct map;

#define BLOCK_MAX_INSNS 256    /* of one block; what is longer is cut; by hand */
#define BLOCK_MAX_ACCESSES 320 /* of one block; others are counted, not kept; by hand */
#define CODE_TABLE_MAX 4096    /* entries of a jump table whose length no code tells; by hand */

/* One body of code: a module (addresses = its ELF virtual addresses) or a process's JIT memory. */
struct block_code {
	uint64_t id;         /* below 2^20, never reused: the key of the cache */
	bool volatile_bytes; /* may be rewritten: bytes are read again and compared on every use */
	/* Up to len bytes at addr; returns how many could be read. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t len);
	/* Function around addr; NULL or false: unknown, so nothing before the sample is evaluated. */
	bool (*bounds)(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end);
	void *ctx;
	/* Address of a function -> registers it may change, as cfg_build() found: many call the same few. NULL: every
	 * graph looks for itself. Its owner's, of this code alone. */
	struct map *spoils;
};

/* What the sample saw. */
struct block_state {
	const uint64_t *regs; /* WREG_MAX, regs[WREG_IP] = runtime address of the instruction */
	uint64_t code_ip;     /* the same instruction in the address space of block_code */
	const uint8_t *stack; /* bytes from regs[WREG_SP] on; may be NULL */
	uint32_t stack_bytes;
	uint64_t stack_end; /* base of the thread's stack, 0 = unknown: nothing is marked as stack */
	uint32_t code_hash; /* wire_code_hash() of what stood at code_ip when the registers were taken; 0: unknown */
};

struct block_access {
	uint64_t ip;    /* in the address space of block_code */
	uint64_t addr;  /* valid if known */
	uint64_t size;  /* 0 = unknown (masked, or depends on data) */
	int16_t step;   /* instructions after (before: negative) the sampled one */
	uint16_t flags; /* enum fmt_access_flags: LOAD STORE ATOMIC REP STACK */
	uint8_t lanes;  /* accesses this stands for: > 1 for gather and scatter */
	bool known;
	bool in_block; /* in the sampled basic block; else reached by going on from its end */
};

/* What one pass through the block does: independent of any sample. */
struct block_work {
	uint32_t insns;
	uint32_t compute;                 /* arithmetic and logical instructions */
	uint32_t loads, stores;           /* operands; rep counts once */
	uint32_t load_bytes, store_bytes; /* without rep and masked operands */
	uint32_t variable;                /* operands whose size is not fixed: in none of the bytes above */
};

/* One more instruction in it. */
void block_work_add(struct block_work *w, const struct dec_insn *d);

struct block_result {
	uint64_t start; /* of the block, or the sampled instruction when starts are unknown */
	bool start_known;
	struct block_work work;
	unsigned known, unknown;             /* operands (lanes for gather and scatter), block and what follows */
	unsigned block_known, block_unknown; /* of the block alone */
	unsigned count;
	struct block_access access[BLOCK_MAX_ACCESSES];
};

struct block_stats {
	uint64_t hits, misses; /* of the cache */
	uint64_t undecodable;  /* samples whose instruction could not be read or decoded */
	uint64_t rewritten;    /* samples whose code changed between two readings */
	uint64_t functions, blocks, bytes;
	uint64_t flushes; /* the cache outgrew its limit and began anew */
};

struct block_cache;

struct block_cache *block_cache_new(size_t max_bytes); /* 0: 16 MiB */
void block_cache_free(struct block_cache *c);
/* Ids of code may stand for other code from now on. */
void block_cache_forget(struct block_cache *c);
const struct block_stats *block_cache_stats(const struct block_cache *c);

/* follow: how many instructions to go on behind the block's end, through direct jumps and calls.
 * 0, or -ENODATA: code unreadable or no instruction; -ESTALE: the code changed meanwhile. */
int block_sample(struct block_cache *c, const struct block_code *code, const struct block_state *s, unsigned follow,
		 struct block_result *out);

/* The instruction that ends at code_ip, for watchpoint hits, which report the next one. Certain only
 * where the function is known and a straight decode of it passes through code_ip; 0, -ENODATA. */
int block_previous(struct block_cache *c, const struct block_code *code, uint64_t code_ip, struct dec_insn *insn,
		   uint64_t *addr);

#endif
