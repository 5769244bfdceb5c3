/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control-flow graph of one function, from its bytes alone: blocks, edges (jump tables where the
 * compilers' pattern allows), dominators, natural loops with their entries and exits, call sites.
 * Calls do not end a block. Time and memory are bounded by the function's size: near-linear
 * algorithms, and limits that are reported, never a hang. Bytes are untrusted. Included by emu, volume, flow, offload
 * and tests. Function bounds come from elsewhere (ehframe.h).
 *
 * A graph may be incomplete (an indirect jump whose targets are unknown): then blocks may run that
 * look unreachable, and nothing follows from dominance. Ask `complete` first.
 *
 * To teach it another form of jump table: one more case in cfg_table_find() of cfg_table.c, and a
 * fixture in tests/unit/u-cfg.c.
 */
#ifndef ACCPERF_CODE_CFG_H
#define ACCPERF_CODE_CFG_H

#include "code/block.h"

#define CFG_NONE UINT32_MAX
#define CFG_MAX_BLOCKS (1u << 17) /* of a function: one of a hundred thousand is looked at, more is refused */
#define CFG_MAX_EDGES (1u << 20)  /* eight of each block: code that names one table everywhere ends, too */
#define CFG_CALLER_SAVED 0x0f37u  /* WREG bits: ax dx cx si di r8-r11; ABI of calls */

enum cfg_block_flags {
	CFG_RETURNS = 1,
	CFG_LEAVES = 2,     /* jumps out of the function: a tail call, or its .cold half */
	CFG_STOPS = 4,      /* trap, or runs into the function's end */
	CFG_UNRESOLVED = 8, /* an indirect jump that may go anywhere */
	CFG_TABLE = 16,     /* an indirect jump whose table was read */
	CFG_VIA_COLD = 32,  /* its successors include where the code that it jumps to comes back */
	CFG_REACHED = 64,   /* from the entry, along known edges */
	CFG_KNOT = 128,     /* in the cycle around the anchor of its loop, or of the function: see cfg_loop.anchor */
};

struct cfg_block {
	uint32_t insn, insns;     /* its first instruction's index, how many */
	uint32_t succ, succs;     /* in cfg.succ */
	uint32_t pred, preds;     /* in cfg.pred */
	uint32_t idom;            /* CFG_NONE for the entry and what is not reached */
	uint32_t loop;            /* innermost, or CFG_NONE */
	uint32_t dom_in, dom_out; /* interval in the dominator tree */
	uint32_t flags;
};

struct cfg_edge {
	uint32_t from, to;
};

/* Loops are numbered so that those inside loop l are l+1 .. last. */
struct cfg_loop {
	uint32_t header, parent, depth, last;
	uint32_t member, members; /* in cfg.member: the blocks, of inner loops too */
	uint32_t latch, latches;  /* in cfg.latch */
	uint32_t exit, exits;     /* in cfg.exit: edges that leave the loop */
	uint32_t entries;         /* edges into the header from outside */
	uint32_t preheader;       /* the source of the only such edge, else CFG_NONE */
	uint32_t bottleneck;      /* every iteration, the last one too, passes it and what dominates it */
	bool preheader_may_skip;  /* it has other successors too */
	/* Blocks of this loop, but of no inner one, may form a cycle of their own, which can be entered at
	 * several places: a knot, no loop. The first such place met; CFG_NONE: no knot here. */
	uint32_t anchor;
};

struct cfg_call {
	uint32_t insn, block;
	uint64_t target; /* 0: indirect */
	uint32_t spoils; /* bit per WREG: general registers that the callee may change */
	bool tail;
};

struct cfg {
	uint64_t start, end;
	uint8_t *bytes;
	uint32_t *insn; /* offsets from start, ascending */
	uint32_t insns;
	struct cfg_block *block;
	uint32_t blocks;
	uint32_t *succ, *pred;
	uint32_t edges;
	struct cfg_loop *loop;
	uint32_t loops;
	uint32_t *member, *latch;
	uint32_t latches, members;
	struct cfg_edge *exit;
	uint32_t exits;
	struct cfg_call *call;
	uint32_t calls;
	uint32_t bottleneck; /* of the function: every run passes it */
	uint32_t unresolved; /* indirect jumps without a table */
	uint32_t tables;
	uint32_t irreducible; /* edges that close cycles which can be entered at several places: no loops */
	uint32_t anchor;      /* of a knot that is in no loop; CFG_NONE */
	bool complete;        /* every edge is known */
};

/* 0; -ENODATA: the bytes cannot be read or are no code; -E2BIG: more blocks or edges than the
 * limits above; -ENOMEM. `out` needs no release after an error. */
int cfg_build(const struct block_code *code, uint64_t start, uint64_t end, struct cfg *out);
void cfg_release(struct cfg *c);

/* Block around an address, CFG_NONE if no instruction begins there. */
uint32_t cfg_block_at(const struct cfg *c, uint64_t addr);
/* The call that the instruction is, NULL if it is none: calls are in the order of instructions. */
const struct cfg_call *cfg_call_at(const struct cfg *c, uint32_t insn);
static inline uint64_t cfg_insn_addr(const struct cfg *c, uint32_t insn)
{
	return c->start + c->insn[insn];
}
static inline uint64_t cfg_block_addr(const struct cfg *c, uint32_t block)
{
	return cfg_insn_addr(c, c->block[block].insn);
}
/* Decodes instruction `insn` again: graphs stay small. */
static inline int cfg_decode(const struct cfg *c, uint32_t insn, struct dec_insn *out)
{
	return dec_decode(c->bytes + c->insn[insn], (size_t)(c->end - c->start) - c->insn[insn], out);
}

/* Every way from the entry to b leads through a. False where one of them is not reached. */
bool cfg_dominates(const struct cfg *c, uint32_t a, uint32_t b);
static inline bool cfg_in_loop(const struct cfg *c, uint32_t block, uint32_t loop)
{
	uint32_t inner = c->block[block].loop;

	return inner != CFG_NONE && inner >= loop && inner <= c->loop[loop].last;
}
/* Whether the block runs exactly once per run of its anchor: the header of its innermost loop, or
 * the function's entry (calls that do not return and exceptions apart). */
bool cfg_once(const struct cfg *c, uint32_t block);

#endif
