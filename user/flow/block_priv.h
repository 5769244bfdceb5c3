/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between block_executions.c (how often blocks ran, and so what sampled accesses stand for) and block_unsampled.c (what
 * ran too, and no sample met). Included by these.
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
	bool called; /* somebody was seen to call it */
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

/* Of an instruction, by what kind of access. */
static inline uint64_t sum_key(uint64_t ip, uint32_t module, bool store)
{
	return input_code_key(module, ip) ^ (uint64_t)store << 63;
}

/* Bytes of one run of a `rep` instruction, as bursts saw them; NaN: too few did. */
double blocks_bytes_of_run(const struct runs *rs, uint64_t ip, uint32_t module, bool store);
/* What bursts say of this instruction's block is drawn anew in each resampling (flow_input.parts). */
void blocks_keep(struct runs *rs, uint64_t ip, uint32_t module);
/* Accesses of code that must have run although no sample met it. unit: runs of one in the solution. */
void blocks_add_unsampled(struct runs *rs, const struct function *f, double unit);

#endif
