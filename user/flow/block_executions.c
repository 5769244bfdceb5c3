// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Weights of accesses that were drawn by time: instead of the time of their own block, how often it
 * ran as the control flow of all sampled functions, and of the calls between them, makes likely
 * (flow_balance.h). Needs the code: a module whose file is not here, or is another build, keeps the weights
 * of the recording.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "flow/input_priv.h"
#include "util/normal.h"
#include "volume/balance_kept.h"
#include "volume/block_balance.h"

#define LOW_LEAST 1e-3  /* of a figure: an interval down to nothing says no more than one down to there */
#define STUB_INSNS 3    /* a stub of the linkage table: endbr64, bnd, jmp */
#define PROLOGUE 8      /* instructions in which a frame pointer is set up */
#define STRING_BURSTS 3 /* that met a `rep` instruction, for its bytes a run to be theirs; by hand */

struct weighing {
	struct block_balance b;
	struct raw *r;
	struct map site_sum;   /* module, address, kind -> index into sum: of weights */
	struct map string_sum; /* the same of bytes, of repeated instructions */
	double *sum;
	size_t sums, sum_cap;
	struct map burst_at; /* module, address -> index into raw_bursts.site */
};

/* ---- weights ---- */

static uint64_t sum_key(uint64_t ip, uint32_t module, bool store)
{
	return input_code_key(module, ip) ^ (uint64_t)store << 63;
}

static double *sum_in(struct weighing *rs, struct map *m, uint64_t ip, uint32_t module, bool store)
{
	bool added;
	uint64_t *at = map_put(m, sum_key(ip, module, store), &added);

	if (!at) {
		rs->b.failed = true;
		return NULL;
	}
	if (added) {
		*at = rs->sums;
		BLOCKS_ADD(&rs->b, rs->sum, rs->sums, rs->sum_cap, 0.0);
	}
	return rs->b.failed ? NULL : &rs->sum[*at];
}

static bool is_timed(const struct in_access *a)
{
	return (a->flags & FMT_A_TIME) && (a->flags & FMT_A_DERIVED) && !(a->flags & (FMT_A_REP | FMT_A_CENSUS));
}

/* A repeated one: the tick that meets it finds what is left of its bytes, in a time that says little of how many. */
static bool is_string(const struct in_access *a)
{
	return (a->flags & FMT_A_TIME) && (a->flags & FMT_A_DERIVED) && (a->flags & FMT_A_REP) &&
	       !(a->flags & (FMT_A_CENSUS | FMT_A_STACK));
}

static void find_burst_sites(struct weighing *rs)
{
	const struct raw_bursts *b = &rs->r->bursts;
	bool added;

	for (size_t i = 0; i < b->sites && !rs->b.failed; i++) {
		uint64_t *at = map_put(&rs->burst_at, input_code_key(b->site[i].module, b->site[i].ip), &added);

		rs->b.failed |= !at;
		if (at)
			*at = i;
	}
}

/* Of a repeated instruction, off the stack; NaN: too few bursts met it. */
static double bytes_of_run(const struct weighing *rs, uint64_t ip, uint32_t module, bool store)
{
	const uint64_t *at = map_get(&rs->burst_at, input_code_key(module, ip));
	const struct fmt_burst_site *s = at ? &rs->r->bursts.site[*at] : NULL;
	double bytes;

	if (!s || s->bursts < STRING_BURSTS || !(s->runs > 0))
		return NAN;
	bytes = store ? s->store_bytes - s->store_stack : s->load_bytes - s->load_stack;
	return bytes >= 0 ? bytes / s->runs : NAN;
}

/* Of its instruction; NULL: it is not weighed anew. */
static double *sum_of_site(struct weighing *rs, const struct in_access *a)
{
	const struct site_key *k = intern_get(&rs->r->site_keys, a->site + 1, NULL);
	struct map *m = is_timed(a) ? &rs->site_sum : is_string(a) ? &rs->string_sum : NULL;

	return m ? sum_in(rs, m, k->ip, k->module, !(a->flags & FMT_A_LOAD)) : NULL;
}

/* Sums of the recorded weights by instruction; operands of one kind at one instruction share theirs. */
static void add_weights(struct weighing *rs, const struct in_access *a, size_t n)
{
	for (size_t i = 0; i < n && !rs->b.failed; i++) {
		double *sum = sum_of_site(rs, &a[i]);

		if (sum)
			*sum += is_string(&a[i]) ? a[i].weight * a[i].size : a[i].weight;
	}
}

/* Executions of an instruction as solved; NaN where its code is not known. */
static double solved(struct weighing *rs, uint64_t ip, uint32_t module)
{
	uint32_t fi = blocks_function_around(&rs->b, module, ip), block, insn;

	if (fi == FLOW_NONE)
		return NAN;
	block = blocks_block_around(&rs->b.function[fi].cfg, ip, &insn);
	return block == CFG_NONE ? NAN : rs->b.s.node[rs->b.function[fi].first_node + block].runs;
}

/* An instruction whose accesses were weighed by its block. */
static void keep_block_of(struct weighing *rs, uint64_t ip, uint32_t module)
{
	uint32_t fi = rs->b.block ? blocks_function_around(&rs->b, module, ip) : FLOW_NONE, insn;
	uint32_t block = fi == FLOW_NONE ? CFG_NONE : blocks_block_around(&rs->b.function[fi].cfg, ip, &insn);
	uint32_t node = block == CFG_NONE ? rs->b.blocks : rs->b.function[fi].first_node + block;
	uint64_t *at;
	bool added;

	if (node >= rs->b.blocks || rs->b.block[node] == FLOW_NONE)
		return;
	at = map_put(&rs->r->bursts.block_at, input_code_key(module, ip), &added);
	rs->b.failed |= !at;
	if (at)
		*at = rs->b.block[node];
}

/* Of one repetition; 0: its code is not known. */
static uint32_t string_width(struct weighing *rs, uint64_t ip, uint32_t module)
{
	uint32_t fi = blocks_function_around(&rs->b, module, ip), insn,
		 block = fi == FLOW_NONE ? CFG_NONE : blocks_block_around(&rs->b.function[fi].cfg, ip, &insn);
	struct dec_insn d;

	return block == CFG_NONE || cfg_decode(&rs->b.function[fi].cfg, insn, &d) || !d.mem_cnt ? 0 : d.mem[0].size;
}

static void weigh_accesses(struct weighing *rs, struct in_access *a, size_t n, double unit)
{
	for (size_t i = 0; i < n && !rs->b.failed; i++) {
		const struct site_key *k = intern_get(&rs->r->site_keys, a[i].site + 1, NULL);
		const double *sum = sum_of_site(rs, &a[i]);
		double runs = sum && *sum > 0 ? solved(rs, k->ip, k->module) * unit : NAN,
		       wanted = is_string(&a[i]) ? runs * bytes_of_run(rs, k->ip, k->module, !(a[i].flags & FMT_A_LOAD))
						 : runs;

		if (!(wanted >= 0 && wanted < MOST_RUNS))
			continue;
		a[i].weight *= wanted / *sum;
		a[i].width = is_string(&a[i]) ? string_width(rs, k->ip, k->module) : 0;
		keep_block_of(rs, k->ip, k->module);
	}
}

/* The unit of the solution: such that its instructions take, at the nominal speed, the time that was sampled in its
 * code. (Not such that the weights of what was sampled stay what they were: what no sample met would come on top.) */
static double unit_of(const struct weighing *rs)
{
	double work = 0;

	for (uint32_t i = 0; i < rs->b.functions; i++) {
		const struct balanced_function *f = &rs->b.function[i];

		for (uint32_t b = 0; b < f->cfg.blocks; b++)
			work += rs->b.s.node[f->first_node + b].runs * f->cfg.block[b].insns;
	}
	return work > 0 && work < MOST_RUNS ? rs->b.timed_ns / input_nominal_ns(rs->r) / work : NAN;
}

static bool keeps_frame_pointer(const struct cfg *c)
{
	for (uint32_t i = 0; i < PROLOGUE && i < c->insns; i++) {
		struct dec_insn d;

		if (!cfg_decode(c, i, &d) && d.effect.op == DEC_OP_MOV && d.effect.dst == WREG_BP &&
		    d.effect.src_kind == DEC_SRC_REG && d.effect.src == WREG_SP)
			return true;
	}
	return false;
}

/* Where a module lies in the only process that has it. */
static bool place_of_module(const struct weighing *rs, const struct balanced_module *m, uint64_t *bias, uint32_t *pid)
{
	bool found = false;

	for (size_t i = 0; i < rs->r->mapping_count; i++) {
		const struct fmt_mapping *k = &rs->r->mapping[i];
		uint64_t vaddr;

		if (k->module != m->id || !(k->prot & 1) || !module_offset_to_vaddr(m->m, k->pgoff, &vaddr))
			continue;
		if (found && (k->pid != *pid || k->start - vaddr != *bias))
			return false;
		found = true;
		*bias = k->start - vaddr;
		*pid = k->pid;
	}
	return found;
}

/* Of what an instruction moved in bursts: the part that was on the stack. 0: none met it. */
static double stack_in_bursts(const struct weighing *rs, uint64_t ip, uint32_t module, bool store)
{
	const uint64_t *at = map_get(&rs->burst_at, input_code_key(module, ip));
	const struct fmt_burst_site *s = at ? &rs->r->bursts.site[*at] : NULL;
	double all = !s      ? 0
		     : store ? s->store_bytes
			     : s->load_bytes,
	       stack = !s      ? 0
		       : store ? s->store_stack
			       : s->load_stack;

	return all > 0 && stack >= 0 ? fmin(1, stack / all) : 0;
}

/* An access that must have happened although no sample met it. Relative to the instruction its address
 * is known all the same. */
static void add_unsampled_access(struct weighing *rs, const struct balanced_function *f, uint64_t ip,
				 const struct dec_insn *d, const struct dec_mem *o, uint32_t size, double runs)
{
	const struct balanced_module *m = &rs->b.module[f->module];
	struct flow_input *in = rs->r->in;
	struct site_key k = { .ip = ip, .module = m->id, .function = f->name };
	struct in_access a = { .time = rs->r->last_time,
			       .weight = runs * (o->flags & DEC_M_VECTOR ? o->lanes : 1),
			       .size = size,
			       .width = o->flags & DEC_M_REP ? o->size : 0,
			       .flags = FMT_A_TIME | FMT_A_DERIVED | IN_A_UNSAMPLED };
	uint32_t site = intern_add(&rs->r->site_keys, &k, sizeof(k), NULL);
	double stack = stack_in_bursts(rs, ip, m->id, !(o->flags & DEC_M_LOAD)), all = a.weight;
	uint64_t bias;

	a.site = site - 1;
	keep_block_of(rs, ip, m->id);
	a.flags |= (o->flags & DEC_M_LOAD ? FMT_A_LOAD : 0u) | (o->flags & DEC_M_STORE ? FMT_A_STORE : 0u);
	if (!site) {
		rs->b.failed = true;
	} else if (o->base == WREG_IP && o->index == DEC_NOREG && o->segment == DEC_NOREG &&
		   place_of_module(rs, m, &bias, &a.pid)) {
		a.addr = bias + ip + d->len + (uint64_t)o->disp;
		a.tid = a.pid;
		BLOCKS_ADD(&rs->b, in->access, in->access_count, in->access_cap, a);
	} else {
		a.flags |= FMT_A_NO_ADDR;
		a.weight = all * (1 - stack);
		if (stack < 1)
			BLOCKS_ADD(&rs->b, in->blind, in->blind_count, in->blind_cap, a);
		a.flags |= FMT_A_STACK;
		a.weight = all * stack;
		if (stack > 0)
			BLOCKS_ADD(&rs->b, in->blind, in->blind_count, in->blind_cap, a);
	}
}

/* A call through a linkage stub reads its table once: on behalf of the caller, as in the exact engine. */
static void add_stub_loads(struct weighing *rs, const struct balanced_function *f, double unit)
{
	struct module *m = rs->b.module[f->module].m;

	for (uint32_t i = 0; i < f->cfg.calls && !rs->b.failed; i++) {
		double runs = rs->b.s.node[f->first_node + f->cfg.call[i].block].runs * unit;
		uint64_t at = f->cfg.call[i].target;

		for (int n = 0; n < STUB_INSNS && at && runs > 0 && runs < MOST_RUNS; n++) {
			uint8_t bytes[15];
			struct dec_insn d;

			if (dec_decode(bytes, module_read(m, at, bytes, sizeof(bytes)), &d))
				break;
			if ((d.flags & DEC_F_BRANCH) && !(d.flags & (DEC_F_DIRECT | DEC_F_CALL)) && d.mem_cnt == 1 &&
			    d.mem[0].base == WREG_IP)
				add_unsampled_access(rs, f, at, &d, &d.mem[0], d.mem[0].size, runs);
			if ((d.flags & DEC_F_BRANCH) || d.mem_cnt)
				break;
			at += d.len;
		}
	}
}

/* Code that must have run although no sample met it: its loads count, too. */
static void add_unsampled(struct weighing *rs, const struct balanced_function *f, double unit)
{
	bool frame = keeps_frame_pointer(&f->cfg);
	uint32_t module = rs->b.module[f->module].id;

	for (uint32_t b = 0; b < f->cfg.blocks; b++) {
		double runs = rs->b.s.node[f->first_node + b].runs * unit;

		for (uint32_t i = 0; runs > 0 && runs < MOST_RUNS && i < f->cfg.block[b].insns && !rs->b.failed; i++) {
			uint64_t ip = cfg_insn_addr(&f->cfg, f->cfg.block[b].insn + i);
			struct dec_insn d;

			if (!f->touches[f->cfg.block[b].insn + i])
				continue;
			if (cfg_decode(&f->cfg, f->cfg.block[b].insn + i, &d))
				break;
			for (unsigned m = 0; m < d.mem_cnt; m++) {
				const struct dec_mem *o = &d.mem[m];
				bool stack = o->base == WREG_SP || (frame && o->base == WREG_BP),
				     store = !(o->flags & DEC_M_LOAD), string = o->flags & DEC_M_REP;
				double size = string ? bytes_of_run(rs, ip, module, store) : o->size;

				if (!stack && size >= 1 && size < UINT32_MAX &&
				    !map_get(string ? &rs->string_sum : &rs->site_sum, sum_key(ip, module, store)))
					add_unsampled_access(rs, f, ip, &d, o, (uint32_t)lround(size), runs);
			}
		}
	}
	add_stub_loads(rs, f, unit);
}

/* ---- what the balance rests on ---- */

static struct module *open_for_blocks(void *ctx, uint32_t id)
{
	return raw_open_module(ctx, id);
}

/* Samples of a stub belong nowhere. */
static bool is_code_of_file(void *ctx, const struct fmt_frame *f)
{
	struct raw *r = ctx;
	const struct profile_module *m = raw_module(r, f->module);
	uint32_t id = m && m->kind == FMT_MOD_FILE ? func_of_code(r, f->addr, f->module, 0) : FLOW_NONE;

	return m && m->kind == FMT_MOD_FILE && (id == FLOW_NONE || !r->in->funcs[id].stub);
}

static int block_evidence_of(struct raw *r, struct block_evidence *out)
{
	const struct counts_built *built = NULL;
	int err = r->counts.funcs ? input_counts_solved(r, &built) : 0;

	*out = (struct block_evidence){ .profile = r->p,
					.cell = r->cell,
					.cells = r->cell_count,
					.site = r->bursts.site,
					.sites = r->bursts.sites,
					.counts = &r->counts,
					.tree = built ? &built->tree : NULL,
					.open = open_for_blocks,
					.is_code = is_code_of_file,
					.ctx = r };
	return err == -ENOMEM ? err : 0;
}

/* How far off a function's part of all that ran may be. */
static void keep_errors(struct raw *r, const struct counts_tree *t)
{
	for (size_t i = 0; i < t->groups; i++) {
		const struct counts_group *g = &t->group[i];
		double sd = log(g->high / fmax(g->low, g->instructions * LOW_LEAST)) / (2 * Z95);
		uint32_t id = g->instructions > 0
				      ? func_of_code(r, r->counts.func[i].start, r->counts.func[i].module, 0)
				      : FLOW_NONE;

		if (id != FLOW_NONE && isfinite(sd))
			r->in->funcs[id].executed_sd = fmax(r->in->funcs[id].executed_sd, sd);
	}
}

/* Blocks and the sites that tell of them: so that can be asked of parts of the bursts, too. */
static void take_burst_blocks(struct raw *r, struct block_balance *b)
{
	r->in->parts.block = b->burst_block;
	r->in->parts.blocks = b->burst_blocks;
	r->bursts.block = b->site_tells;
	b->burst_block = NULL;
	b->site_tells = NULL;
}

static void weigh_by(struct weighing *rs)
{
	struct flow_input *in = rs->r->in;
	double unit;

	find_burst_sites(rs);
	add_weights(rs, in->access, in->access_count);
	add_weights(rs, in->blind, in->blind_count);
	unit = unit_of(rs);
	if (!(unit > 0))
		return;
	weigh_accesses(rs, in->access, in->access_count, unit);
	weigh_accesses(rs, in->blind, in->blind_count, unit);
	for (uint32_t i = 0; i < rs->b.functions; i++)
		add_unsampled(rs, &rs->b.function[i], unit);
}

static void release_weighing(struct weighing *rs)
{
	free(rs->sum);
	map_release(&rs->site_sum);
	map_release(&rs->string_sum);
	map_release(&rs->burst_at);
	blocks_release(&rs->b);
}

int input_runs(struct raw *r)
{
	struct flow_input *in = r->in;
	struct weighing rs = { .r = r };
	struct block_balance *b = &rs.b;
	bool timed = false;
	int err;

	for (size_t i = 0; i < in->access_count && !timed; i++)
		timed = is_timed(&in->access[i]);
	if (!timed || !r->cell_count)
		return 0;
	err = block_evidence_of(r, &b->from);
	if (!err)
		blocks_build(b);
	if (!err && b->from.tree)
		keep_errors(r, b->from.tree);
	if (!err && !b->failed && b->s.nodes && b->s.edges)
		err = balance_solve_kept(&b->s);
	if (!err && !b->failed && r->bursts.sites) {
		blocks_use_bursts(b);
		take_burst_blocks(r, b);
	}
	if (!err && !b->failed)
		blocks_hold_to_counts(b);
	if (!err && !b->failed)
		weigh_by(&rs);
	err = b->failed ? -ENOMEM : err == -EINVAL ? 0 : err;
	release_weighing(&rs);
	return err ? err_set(r->e, err, "out of memory") : 0;
}
