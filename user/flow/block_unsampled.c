// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads and stores of blocks that ran, by the balance of control flow, and that no sample met. */
#include <math.h>
#include <stdlib.h>

#include "abi.h"
#include "flow/block_priv.h"

#define STUB_INSNS 3 /* a stub of the linkage table: endbr64, bnd, jmp */
#define PROLOGUE 8   /* instructions in which a frame pointer is set up */

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
static bool place_of_module(const struct runs *rs, const struct code_module *m, uint64_t *bias, uint32_t *pid)
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

/* An access that must have happened although no sample met it. Relative to the instruction its address
 * is known all the same. */
static void add_unsampled_access(struct runs *rs, const struct function *f, uint64_t ip, const struct dec_insn *d,
				 const struct dec_mem *o, uint32_t size, double runs)
{
	const struct code_module *m = &rs->module[f->module];
	struct flow_input *in = rs->r->in;
	struct site_key k = { .ip = ip, .module = m->id, .function = f->name };
	struct in_access a = { .time = rs->r->last_time,
			       .weight = runs * (o->flags & DEC_M_VECTOR ? o->lanes : 1),
			       .size = size,
			       .width = o->flags & DEC_M_REP ? o->size : 0,
			       .flags = FMT_A_TIME | FMT_A_DERIVED | IN_A_UNSAMPLED };
	uint32_t site = intern_add(&rs->r->site_keys, &k, sizeof(k), NULL);
	uint64_t bias;

	a.site = site - 1;
	blocks_keep(rs, ip, m->id);
	a.flags |= (o->flags & DEC_M_LOAD ? FMT_A_LOAD : 0u) | (o->flags & DEC_M_STORE ? FMT_A_STORE : 0u);
	if (!site) {
		rs->failed = true;
	} else if (o->base == WREG_IP && o->index == DEC_NOREG && o->segment == DEC_NOREG &&
		   place_of_module(rs, m, &bias, &a.pid)) {
		a.addr = bias + ip + d->len + (uint64_t)o->disp;
		a.tid = a.pid;
		ADD(rs, in->access, in->access_count, in->access_cap, a);
	} else {
		a.flags |= FMT_A_NO_ADDR;
		ADD(rs, in->blind, in->blind_count, in->blind_cap, a);
	}
}

/* A call through a linkage stub reads its table once: on behalf of the caller, as in the exact engine. */
static void add_stub_loads(struct runs *rs, const struct function *f, double unit)
{
	struct module *m = rs->module[f->module].m;

	for (uint32_t i = 0; i < f->cfg.calls && !rs->failed; i++) {
		double runs = rs->s.node[f->first_node + f->cfg.call[i].block].runs * unit;
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
void blocks_add_unsampled(struct runs *rs, const struct function *f, double unit)
{
	bool frame = keeps_frame_pointer(&f->cfg);
	uint32_t module = rs->module[f->module].id;

	for (uint32_t b = 0; b < f->cfg.blocks; b++) {
		double runs = rs->s.node[f->first_node + b].runs * unit;

		for (uint32_t i = 0; runs > 0 && runs < MOST_RUNS && i < f->cfg.block[b].insns && !rs->failed; i++) {
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
				double size = string ? blocks_bytes_of_run(rs, ip, module, store) : o->size;

				if (!stack && size >= 1 && size < UINT32_MAX &&
				    !map_get(string ? &rs->string_sum : &rs->site_sum, sum_key(ip, module, store)))
					add_unsampled_access(rs, f, ip, &d, o, (uint32_t)lround(size), runs);
			}
		}
	}
	add_stub_loads(rs, f, unit);
}
