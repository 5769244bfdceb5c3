// SPDX-License-Identifier: GPL-2.0-or-later
/* How often blocks ran: the balance of control flow over sampled functions, then what bursts and counts say of it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "volume/block_balance.h"
#include "util/bisect.h"

#define MAX_FUNCTIONS 4096   /* whose graphs are drawn; by hand */
#define MAX_NODES (1u << 16) /* blocks solved together; by hand */
#define MAX_EDGES (1u << 18) /* four a block */
/* Against flow from where nothing is known: a caller that no stack shows calls rarely. */
#define UNLIKELY 0.02
#define NEVER_SEEN 100.0 /* weight against flow from outside; by hand */
#define BURSTS_MIN 5     /* that met a function, for its blocks to be weighed by them */

/* ---- functions ---- */

static struct balanced_module *code_module_of(struct block_balance *rs, uint32_t id)
{
	for (uint32_t i = 0; i < rs->modules; i++)
		if (rs->module[i].id == id)
			return &rs->module[i];
	if (rs->modules == rs->from.profile->module_count)
		return NULL;
	rs->module[rs->modules] = (struct balanced_module){ .id = id, .m = rs->from.open(rs->from.ctx, id) };
	return &rs->module[rs->modules++];
}

/* What an execution takes, in usual instructions. */
static double block_cost(const struct balanced_function *f, const struct cfg_block *b)
{
	const struct cfg *c = &f->cfg;
	bool repeats = false;
	double cost = 0;

	for (uint32_t i = 0; i < b->insns; i++) {
		struct dec_insn d;

		if (cfg_decode(c, b->insn + i, &d)) {
			f->touches[b->insn + i] = true;
			cost++;
			continue;
		}
		f->touches[b->insn + i] = d.mem_cnt;
		repeats |= d.flags & DEC_F_REP;
		cost += dec_cost(&d);
	}
	return repeats ? 0 : cost; /* then it takes as long as its operand */
}

static void add_nodes(struct block_balance *rs, struct balanced_function *f)
{
	f->first_node = rs->s.nodes;
	f->touches = calloc(f->cfg.insns + 1, sizeof(*f->touches));
	rs->failed |= !f->touches;
	for (uint32_t b = 0; b < f->cfg.blocks && f->touches; b++)
		BLOCKS_ADD(rs, rs->s.node, rs->s.nodes, rs->node_cap,
			   ((struct flow_balance_node){ .cost = block_cost(f, &f->cfg.block[b]) }));
}

/* Index of the function around an address, BLOCKS_NONE if its code is not known. */
uint32_t blocks_function_around(struct block_balance *rs, uint32_t module, uint64_t addr)
{
	struct balanced_module *m = code_module_of(rs, module);
	struct block_code code = { .read = module_code_read, .bounds = module_code_bounds };
	struct balanced_function f = { 0 };
	uint64_t start, end, *at;
	bool added;

	if (!m || !m->m || !module_code_bounds(m->m, addr, &start, &end))
		return BLOCKS_NONE;
	at = map_put(&rs->function_at, (uint64_t)(m - rs->module) << 48 ^ start, &added);
	if (!at) {
		rs->failed = true;
		return BLOCKS_NONE;
	}
	if (!added)
		return (uint32_t)*at;
	*at = BLOCKS_NONE;
	if (rs->functions == MAX_FUNCTIONS)
		return BLOCKS_NONE;
	code.id = (uint64_t)(m - rs->module) + 1;
	code.ctx = m->m;
	code.spoils = &m->spoils;
	f.module = (uint32_t)(m - rs->module);
	if (cfg_build(&code, start, end, &f.cfg))
		return BLOCKS_NONE;
	f.usable = f.cfg.blocks && rs->s.nodes + f.cfg.blocks <= MAX_NODES && rs->s.edges + f.cfg.edges <= MAX_EDGES;
	if (!f.usable) {
		cfg_release(&f.cfg);
		return BLOCKS_NONE;
	}
	add_nodes(rs, &f);
	*at = rs->functions;
	BLOCKS_ADD(rs, rs->function, rs->functions, rs->function_cap, f);
	return (uint32_t)*at;
}

/* The block that holds the instruction around addr. */
uint32_t blocks_block_around(const struct cfg *c, uint64_t addr, uint32_t *insn)
{
	uint32_t behind = (uint32_t)BISECT(i, c->insns, cfg_insn_addr(c, (uint32_t)i) <= addr), block;

	if (!behind)
		return CFG_NONE;
	*insn = behind - 1;
	block = cfg_block_at(c, cfg_insn_addr(c, behind - 1));
	return block < c->blocks ? block : CFG_NONE;
}

/* ---- the flow ---- */

static uint32_t add_balance_group(struct block_balance *rs, uint32_t from)
{
	BLOCKS_ADD(rs, rs->s.group, rs->s.groups, rs->group_cap, ((struct flow_balance_group){ from }));
	return rs->s.groups - 1;
}

static void add_balance_edge(struct block_balance *rs, uint32_t to, uint32_t group, double against)
{
	BLOCKS_ADD(rs, rs->s.edge, rs->s.edges, rs->edge_cap, ((struct flow_balance_edge){ to, group, against }));
}

static void add_function_flow(struct block_balance *rs, const struct balanced_function *f)
{
	for (uint32_t b = 0; b < f->cfg.blocks && !rs->failed; b++) {
		const struct cfg_block *k = &f->cfg.block[b];
		uint32_t g = k->succs ? add_balance_group(rs, f->first_node + b) : 0;

		for (uint32_t i = 0; i < k->succs; i++)
			add_balance_edge(rs, f->first_node + f->cfg.succ[k->succ + i], g, 0);
		/* not all ways on are known: mostly a cold half, or the end of the program */
		if (k->succs && (k->flags & (CFG_RETURNS | CFG_LEAVES | CFG_STOPS | CFG_UNRESOLVED | CFG_VIA_COLD)))
			add_balance_edge(rs, rs->elsewhere, g, UNLIKELY);
		if (b == 0)
			add_balance_edge(rs, f->first_node, add_balance_group(rs, SMOOTH_NONE),
					 f->called ? NEVER_SEEN : 0);
		else if (!k->preds && !f->cfg.complete)
			add_balance_edge(rs, f->first_node + b, add_balance_group(rs, SMOOTH_NONE), 0);
	}
}

/* Calls whose callee is known before anything was seen. */
static void add_direct_calls(struct block_balance *rs, uint32_t fi)
{
	for (uint32_t i = 0; i < rs->function[fi].cfg.calls && !rs->failed; i++) {
		const struct cfg_call *c = &rs->function[fi].cfg.call[i];
		const uint64_t *at =
			c->target ? map_get(&rs->function_at, (uint64_t)rs->function[fi].module << 48 ^ c->target)
				  : NULL;
		struct balanced_function *callee = at && *at != BLOCKS_NONE ? &rs->function[*at] : NULL;
		uint64_t *call;

		if (!callee || c->tail || c->target != callee->cfg.start)
			continue;
		call = map_put(&rs->call_at, (uint64_t)fi << 32 | i, NULL);
		if (!call) {
			rs->failed = true;
			return;
		}
		*call = UINT64_MAX; /* settled */
		callee->called = true;
		add_balance_edge(rs, callee->first_node, add_balance_group(rs, rs->function[fi].first_node + c->block),
				 0);
	}
}

static uint32_t call_before(const struct cfg *c, uint64_t in_call)
{
	uint32_t insn;

	if (blocks_block_around(c, in_call, &insn) == CFG_NONE)
		return CFG_NONE;
	for (uint32_t i = 0; i < c->calls; i++)
		if (c->call[i].insn == insn && !c->call[i].tail)
			return i;
	return CFG_NONE;
}

/* A caller and a callee that stood next to each other on a stack. */
static void add_pair(struct block_balance *rs, const struct fmt_frame *caller, uint32_t callee)
{
	uint32_t fi = blocks_function_around(rs, caller->module, caller->addr), call;
	uint64_t *group, *pair;
	bool added;

	if (fi == BLOCKS_NONE || callee == BLOCKS_NONE || rs->failed)
		return;
	call = call_before(&rs->function[fi].cfg, caller->addr);
	if (call == CFG_NONE)
		return;
	group = map_put(&rs->call_at, (uint64_t)fi << 32 | call, &added);
	if (!group) {
		rs->failed = true;
		return;
	}
	if (*group == UINT64_MAX)
		return;
	if (added)
		*group = add_balance_group(rs, rs->function[fi].first_node + rs->function[fi].cfg.call[call].block);
	pair = map_put(&rs->pair_at, *group << 32 | callee, &added);
	if (!pair) {
		rs->failed = true;
	} else if (added) {
		rs->function[callee].called = true;
		add_balance_edge(rs, rs->function[callee].first_node, (uint32_t)*group, 0);
	}
}

static bool in_function(struct block_balance *rs, const struct fmt_frame *f)
{
	return rs->from.is_code(rs->from.ctx, f);
}

/* Time into blocks, functions of all frames. */
static void spread_time(struct block_balance *rs, uint32_t stack, double ns)
{
	for (uint32_t i = 0; i < profile_stack_frames(rs->from.profile, stack) && !rs->failed; i++) {
		const struct fmt_frame f = profile_stack_frame(rs->from.profile, stack, i);
		uint32_t fi = in_function(rs, &f) ? blocks_function_around(rs, f.module, f.addr) : BLOCKS_NONE, block,
			 insn;

		if (fi == BLOCKS_NONE)
			continue;
		if (!rs->function[fi].name)
			rs->function[fi].name = profile_symbol_of(rs->from.profile, f.module, f.addr);
		if (i)
			continue;
		block = blocks_block_around(&rs->function[fi].cfg, f.addr, &insn);
		if (block == CFG_NONE)
			continue;
		rs->s.node[rs->function[fi].first_node + block].time += ns;
		rs->timed_ns += ns;
	}
}

static void count_calls_of_stack(struct block_balance *rs, uint32_t stack)
{
	for (uint32_t i = 0; i + 1 < profile_stack_frames(rs->from.profile, stack) && !rs->failed; i++) {
		const struct fmt_frame f = profile_stack_frame(rs->from.profile, stack, i),
				       caller = profile_stack_frame(rs->from.profile, stack, i + 1);

		if ((caller.flags & FMT_FRAME_RETURN) && !(f.flags & FMT_FRAME_SIGNAL) && in_function(rs, &f) &&
		    in_function(rs, &caller))
			add_pair(rs, &caller, blocks_function_around(rs, f.module, f.addr));
	}
}

/* What one of a function's instructions takes by the costs of its blocks, where its time was sampled. */
static double cost_per_insn(const struct block_balance *rs, const struct balanced_function *f)
{
	double time = 0, instructions = 0;

	for (uint32_t b = 0; b < f->cfg.blocks; b++) {
		const struct flow_balance_node *n = &rs->s.node[f->first_node + b];

		if (!(n->cost > 0))
			continue;
		time += n->time;
		instructions += n->time / n->cost * f->cfg.block[b].insns;
	}
	return instructions > 0 ? time / instructions : 1;
}

/* What took a function's time, where execution counts know better than its samples (counts.h): what its
 * instructions would take at the pace of their costs, in all functions. */
static void take_counts(struct block_balance *rs, const struct counts_record *c, const struct counts_tree *t)
{
	double *time = calloc(t->groups + 1, sizeof(*time)), all = 0, instructions = 0;
	uint32_t *at = malloc((t->groups + 1) * sizeof(*at));

	for (size_t i = 0; time && at && i < t->groups; i++) {
		const struct balanced_module *m = code_module_of(rs, c->func[i].module);
		const uint64_t *fi =
			m ? map_get(&rs->function_at, (uint64_t)(m - rs->module) << 48 ^ c->func[i].start) : NULL;
		double n = t->group[i].instructions;

		at[i] = fi ? (uint32_t)*fi : BLOCKS_NONE;
		if (at[i] != BLOCKS_NONE && n > 0 && n < MOST_RUNS) {
			rs->function[at[i]].counted = n;
			rs->function[at[i]].by_segments = t->group[i].by_segments;
		}
		for (uint32_t b = 0; at[i] != BLOCKS_NONE && b < rs->function[at[i]].cfg.blocks; b++)
			time[i] += rs->s.node[rs->function[at[i]].first_node + b].time;
		if (!(n > 0 && n < MOST_RUNS) || !(time[i] > 0)) {
			time[i] = 0;
			continue;
		}
		all += time[i];
		instructions += n;
	}
	for (size_t i = 0; time && at && i < t->groups && instructions > 0; i++) {
		const struct counts_group *g = &t->group[i];
		double factor;

		if (!(time[i] > 0))
			continue;
		factor = g->instructions / instructions * all / time[i];
		factor *= cost_per_insn(rs, &rs->function[at[i]]);
		for (uint32_t b = 0; b < rs->function[at[i]].cfg.blocks; b++)
			rs->s.node[rs->function[at[i]].first_node + b].time *= factor;
	}
	rs->failed |= !time || !at;
	free(time);
	free(at);
}

/* ---- bursts ---- */

/* The function of a site; BLOCKS_NONE: none, or one without a usable graph. */
static uint32_t burst_function(struct block_balance *rs, const struct fmt_burst_site *s)
{
	const struct fmt_frame at = { .addr = s->ip, .module = s->module };

	return s->runs > 0 && in_function(rs, &at) ? blocks_function_around(rs, s->module, s->ip) : BLOCKS_NONE;
}

/* Functions that bursts met, but no sample. */
static void add_burst_functions(struct block_balance *rs)
{
	const struct block_evidence *b = &rs->from;

	for (size_t i = 0; i < b->sites && !rs->failed; i++) {
		uint32_t fi = burst_function(rs, &b->site[i]);

		if (fi != BLOCKS_NONE && !rs->function[fi].name)
			rs->function[fi].name = profile_symbol_of(rs->from.profile, b->site[i].module, b->site[i].ip);
	}
}

/* Executions of a function's blocks, times their instructions. */
static double work_of_blocks(const struct balanced_function *f, const double *runs)
{
	double sum = 0;

	for (uint32_t k = 0; k < f->cfg.blocks; k++)
		sum += runs[k] * f->cfg.block[k].insns;
	return sum;
}

/* How a function's work is parted among its blocks bursts tell; how much work it is they do not: they begin by time,
 * and those that lose their way end early. */
static void part_by_bursts(struct block_balance *rs, const struct balanced_function *f, const double *seen,
			   double *runs)
{
	double by_bursts = work_of_blocks(f, seen), work;

	for (uint32_t k = 0; k < f->cfg.blocks; k++)
		runs[k] = rs->s.node[f->first_node + k].runs;
	work = work_of_blocks(f, runs);
	for (uint32_t k = 0; k < f->cfg.blocks && by_bursts > 0 && work < MOST_RUNS; k++)
		rs->s.node[f->first_node + k].runs = seen[k] * work / by_bursts;
}

/* Which site tells how often a block ran: so that can be asked of parts of the bursts, too. */
static void keep_blocks(struct block_balance *rs, const struct balanced_function *f, const double *seen,
			const uint32_t *told_by)
{
	uint32_t first = (uint32_t)rs->burst_blocks;

	for (uint32_t k = 0; k < f->cfg.blocks && !rs->failed; k++) {
		uint32_t node = f->first_node + k;

		if (told_by[node] != BLOCKS_NONE)
			rs->site_tells[told_by[node]] = (uint32_t)rs->burst_blocks;
		rs->block[node] = (uint32_t)rs->burst_blocks;
		BLOCKS_ADD(rs, rs->burst_block, rs->burst_blocks, rs->burst_block_cap,
			   ((struct burst_block){
				   .function = first, .instructions = f->cfg.block[k].insns, .runs = seen[node] }));
	}
}

void blocks_use_bursts(struct block_balance *rs)
{
	const struct block_evidence *b = &rs->from;
	double *seen = calloc(rs->s.nodes + 1, sizeof(*seen)), *runs = calloc(rs->s.nodes + 1, sizeof(*runs));
	uint32_t *met = calloc(rs->functions + 1, sizeof(*met)), functions = rs->functions;
	uint32_t *told_by = malloc((rs->s.nodes + 1) * sizeof(*told_by));

	rs->site_tells = malloc((b->sites + 1) * sizeof(*rs->site_tells));
	rs->block = malloc((rs->s.nodes + 1) * sizeof(*rs->block));
	rs->blocks = rs->s.nodes;
	rs->failed |= !seen || !runs || !met || !told_by || !rs->site_tells || !rs->block;
	if (!rs->failed) {
		memset(rs->site_tells, 0xff, (b->sites + 1) * sizeof(*rs->site_tells));
		memset(rs->block, 0xff, (rs->s.nodes + 1) * sizeof(*rs->block));
		memset(told_by, 0xff, (rs->s.nodes + 1) * sizeof(*told_by));
	}
	for (size_t i = 0; i < b->sites && !rs->failed; i++) {
		const struct fmt_burst_site *s = &b->site[i];
		uint32_t fi = burst_function(rs, s), insn,
			 block = fi < functions ? blocks_block_around(&rs->function[fi].cfg, s->ip, &insn) : CFG_NONE;

		if (block == CFG_NONE)
			continue;
		block += rs->function[fi].first_node;
		if (s->runs > seen[block]) { /* one that a burst began or ended in ran in part */
			seen[block] = s->runs;
			told_by[block] = (uint32_t)i;
		}
		met[fi] = s->bursts > met[fi] ? s->bursts : met[fi];
	}
	for (uint32_t f = 0; f < functions && !rs->failed; f++) {
		if (met[f] < BURSTS_MIN)
			continue;
		part_by_bursts(rs, &rs->function[f], seen + rs->function[f].first_node, runs);
		keep_blocks(rs, &rs->function[f], seen, told_by);
	}
	free(seen);
	free(runs);
	free(met);
	free(told_by);
}

/* ---- counts ---- */

static void scale_blocks(struct block_balance *rs, const struct balanced_function *f, double by)
{
	for (uint32_t k = 0; k < f->cfg.blocks; k++)
		rs->s.node[f->first_node + k].runs *= by;
}

/* The part of a function's time that says nothing of how often it ran: of blocks that repeat something. */
static double silent_part(const struct block_balance *rs, const struct balanced_function *f)
{
	double silent = 0, all = 0;

	for (uint32_t k = 0; k < f->cfg.blocks; k++) {
		const struct flow_balance_node *n = &rs->s.node[f->first_node + k];

		all += n->time;
		silent += n->cost > 0 ? 0 : n->time;
	}
	return all > 0 ? silent / all : 0;
}

/* How much work a function had segments tell without time, and of what repeats time tells nothing at all: the balance
 * may part it among blocks, as bursts may, but has no more to say of how much it is. */
void blocks_hold_to_counts(struct block_balance *rs)
{
	double counted = 0, all = 0;
	double *work = calloc(rs->functions + 1, sizeof(*work)), *runs = malloc((rs->s.nodes + 1) * sizeof(*runs));

	rs->failed |= !work || !runs;
	for (uint32_t k = 0; k < rs->s.nodes && !rs->failed; k++)
		runs[k] = rs->s.node[k].runs;
	for (uint32_t i = 0; i < rs->functions && !rs->failed; i++) {
		const struct balanced_function *f = &rs->function[i];

		work[i] = f->usable ? work_of_blocks(f, runs + f->first_node) : 0;
		if (!(work[i] > 0 && work[i] < MOST_RUNS) || !(f->counted > 0))
			continue;
		all += work[i];
		counted += f->counted;
	}
	for (uint32_t i = 0; i < rs->functions && !rs->failed && counted > 0; i++) {
		const struct balanced_function *f = &rs->function[i];
		double part = f->counted > 0 ? fmax(f->by_segments, silent_part(rs, f)) : 0;

		if (work[i] > 0 && work[i] < MOST_RUNS && part > 0)
			scale_blocks(rs, f, 1 - part + part * f->counted / counted * all / work[i]);
	}
	free(work);
	free(runs);
}

void blocks_build(struct block_balance *rs)
{
	const struct block_evidence *r = &rs->from;
	double ns = 0, samples = 0;

	rs->module = calloc(r->profile->module_count + 1, sizeof(*rs->module));
	rs->failed |= !rs->module;
	BLOCKS_ADD(rs, rs->s.node, rs->s.nodes, rs->node_cap, ((struct flow_balance_node){ 0 }));

	for (size_t i = 0; i < r->cells && !rs->failed; i++) {
		if (!profile_stack_frames(rs->from.profile, r->cell[i].stack) || !(r->cell[i].ns > 0))
			continue;
		spread_time(rs, r->cell[i].stack, r->cell[i].ns);
		ns += r->cell[i].ns;
		samples += (double)r->cell[i].samples;
	}
	add_burst_functions(rs);
	if (rs->from.tree)
		take_counts(rs, rs->from.counts, rs->from.tree);
	for (uint32_t i = 0; i < rs->functions && !rs->failed; i++)
		add_direct_calls(rs, i);
	for (size_t i = 0; i < r->cells && !rs->failed; i++)
		if (r->cell[i].ns > 0)
			count_calls_of_stack(rs, r->cell[i].stack);
	for (uint32_t i = 0; i < rs->functions && !rs->failed; i++)
		add_function_flow(rs, &rs->function[i]);
	rs->s.period = samples > 0 ? ns / samples : 0;
}

void blocks_release(struct block_balance *rs)
{
	for (uint32_t i = 0; i < rs->functions; i++) {
		cfg_release(&rs->function[i].cfg);
		free(rs->function[i].touches);
	}
	for (uint32_t i = 0; i < rs->modules; i++)
		map_release(&rs->module[i].spoils);
	free(rs->module);
	free(rs->function);
	free(rs->s.node);
	free(rs->s.edge);
	free(rs->s.group);
	free(rs->burst_block);
	free(rs->site_tells);
	free(rs->block);
	map_release(&rs->function_at);
	map_release(&rs->call_at);
	map_release(&rs->pair_at);
}
