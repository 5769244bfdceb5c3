/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between block_balance.c (how often blocks ran) and block_executions.c (what accesses stand for by that, sampled ones
 * and those that no sample met). Included by these.
 */
#ifndef ACCPERF_FLOW_BLOCK_PRIV_H
#define ACCPERF_FLOW_BLOCK_PRIV_H

#include "code/cfg.h"
#include "flow/input_priv.h"
#include "proc/module.h"
#include "volume/flow_balance.h"

#define MOST_RUNS 1e18 /* more is the outcome of a damaged file */

struct function {
	uint32_t module; /* index into runs.module */
	uint32_t name;   /* fmt_function.id, 0 unknown */
	uint32_t first_node;
	bool called; /* a caller of it was seen */
	bool usable;
	struct cfg cfg;
	bool *touches;               /* by instruction: it has operands in memory, or cannot be decoded */
	double counted, by_segments; /* counts_group's instructions, and the part of them that segments told */
};

struct code_module {
	uint32_t id;
	struct module *m; /* NULL: cannot be read */
	struct map spoils;
};

struct runs {
	struct raw *r;
	struct code_module *module;
	uint32_t modules;
	struct function *function;
	uint32_t functions;
	size_t function_cap;
	struct map function_at; /* module index << 48 ^ start -> function */
	struct map call_at;     /* function << 32 | call -> group + 1 */
	struct map pair_at;     /* group << 32 | callee */
	struct flow_balance s;
	double timed_ns;    /* sampled in blocks that are known */
	uint32_t elsewhere; /* node of what leaves the known code */
	size_t node_cap, edge_cap, group_cap;
	struct map site_sum;   /* module, address, kind -> index into sum: of weights */
	struct map string_sum; /* the same of bytes, of repeated instructions */
	double *sum;
	size_t sums, sum_cap;
	struct map burst_at; /* module, address -> index into raw_bursts.site */
	uint32_t *block;     /* by node: flow_input.parts.block; FLOW_NONE; NULL: none at all */
	uint32_t blocks;     /* nodes that there were then */
	bool failed;
};

#define ADD(rs, array, count, cap, ...) ((rs)->failed |= !PUSH(array, count, cap, 256, __VA_ARGS__))

/* The control flow of all sampled functions and the calls between them, as flow_balance.h solves it. */
void blocks_build_balance(struct runs *rs);
/* Of a solution: within functions that bursts met, blocks as often as they ran in those. */
void blocks_use_bursts(struct runs *rs);
/* ... and functions as often as execution counts have them. */
void blocks_hold_to_counts(struct runs *rs);
/* FLOW_NONE: none is known there. module: the file's id. */
uint32_t blocks_function_around(struct runs *rs, uint32_t module, uint64_t addr);
/* CFG_NONE: none; *insn: the instruction's number. */
uint32_t blocks_block_around(const struct cfg *c, uint64_t addr, uint32_t *insn);

#endif
