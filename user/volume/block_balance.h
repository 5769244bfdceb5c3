/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the blocks of sampled functions ran: their control flow and the calls between them, as flow_balance.h
 * solves it, then what bursts and execution counts say of it. What that means for accesses is flow's
 * (flow/block_executions.c).
 * A module whose file is not here, or is another build, has no blocks. Included by user/flow.
 *
 *     blocks_build(&b);
 *     balance_solve_kept(&b.s);
 *     blocks_use_bursts(&b);
 *     blocks_hold_to_counts(&b);
 *     blocks_release(&b);
 *
 * To tell it of another kind of evidence: a member of block_evidence, and a step behind these.
 */
#ifndef ACCPERF_VOLUME_BLOCK_BALANCE_H
#define ACCPERF_VOLUME_BLOCK_BALANCE_H

#include "code/cfg.h"
#include "counts/counts_windows.h"
#include "proc/module.h"
#include "profile/profile.h"
#include "util/grow.h"
#include "volume/flow_balance.h"

#define BLOCKS_NONE UINT32_MAX /* no such function or block */
#define MOST_RUNS 1e18         /* more is the outcome of a damaged file */

/* Time samples of one stack. */
struct sampled_stack {
	uint32_t stack; /* the profile's; 0 unknown */
	double ns, instructions;
	uint64_t samples;
};

/* Borrowed. */
struct block_evidence {
	const struct profile *profile;
	const struct sampled_stack *cell;
	size_t cells;
	const struct fmt_burst_site *site; /* sums over bursts */
	size_t sites;
	const struct counts_record *counts;             /* NULL: nothing was counted */
	const struct counts_tree *tree;                 /* its solution */
	struct module *(*open)(void *ctx, uint32_t id); /* NULL: cannot be read */
	bool (*is_code)(void *ctx,
			const struct fmt_frame *f); /* of a file, and no stub, which stands for what it jumps to */
	void *ctx;
};

struct balanced_function {
	uint32_t module; /* index into block_balance.module */
	uint32_t name;   /* fmt_function.id, 0 unknown */
	uint32_t first_node;
	bool called; /* a caller of it was seen */
	bool usable;
	struct cfg cfg;
	bool *touches;               /* by instruction: it has operands in memory, or cannot be decoded */
	double counted, by_segments; /* counts_group's instructions, and the part of them that segments told */
};

struct balanced_module {
	uint32_t id;
	struct module *m; /* NULL: cannot be read */
	struct map spoils;
};

/* A block of which bursts told how often it ran. */
struct burst_block {
	uint32_t function;         /* a number that blocks of one have in common: below blocks */
	double instructions, runs; /* of one execution; in all bursts */
};

struct block_balance {
	struct block_evidence from;
	struct balanced_module *module;
	uint32_t modules;
	struct balanced_function *function;
	uint32_t functions;
	size_t function_cap;
	struct map function_at; /* module index << 48 ^ start -> function */
	struct map call_at;     /* function << 32 | call -> group + 1 */
	struct map pair_at;     /* group << 32 | callee */
	struct flow_balance s;
	double timed_ns;    /* sampled in blocks that are known */
	uint32_t elsewhere; /* node of what leaves the known code */
	size_t node_cap, edge_cap, group_cap;
	/* blocks_use_bursts(); the caller may take the first two, and sets them to NULL then */
	struct burst_block *burst_block;
	uint32_t *site_tells; /* by site: the burst_block of which it tells how often that ran; BLOCKS_NONE */
	size_t burst_blocks, burst_block_cap;
	uint32_t *block; /* by node: its burst_block; BLOCKS_NONE; NULL: none at all */
	uint32_t blocks; /* nodes that there were then */
	bool failed;     /* no memory */
};

#define BLOCKS_ADD(rs, array, count, cap, ...) ((rs)->failed |= !PUSH(array, count, cap, 256, __VA_ARGS__))

/* The control flow of all sampled functions and the calls between them, from b->from. */
void blocks_build(struct block_balance *b);
/* Of a solution: within functions that bursts met, blocks as often as they ran in those. */
void blocks_use_bursts(struct block_balance *b);
/* ... and functions as often as execution counts have them. */
void blocks_hold_to_counts(struct block_balance *b);
/* BLOCKS_NONE: none is known there. module: the file's id. */
uint32_t blocks_function_around(struct block_balance *b, uint32_t module, uint64_t addr);
/* CFG_NONE: none; *insn: the instruction's number. */
uint32_t blocks_block_around(const struct cfg *c, uint64_t addr, uint32_t *insn);
void blocks_release(struct block_balance *b);

#endif
