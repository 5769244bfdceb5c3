/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What cfg.c, cfg_table.c and cfg_loops.c share. Included by these three only. */
#ifndef ACCPERF_CODE_CFG_PRIV_H
#define ACCPERF_CODE_CFG_PRIV_H

#include "code/cfg.h"
#include "util/bisect.h"

/* Targets of the indirect jump at instruction `insn`, as instruction indices, at most
 * CODE_TABLE_MAX; 0: no table was recognised. */
uint32_t cfg_table_find(const struct cfg *c, const struct block_code *code, uint32_t insn, uint32_t *target);
/* Index of the instruction at addr, CFG_NONE if none starts there. */
static inline uint32_t cfg_insn_at(const struct cfg *c, uint64_t addr)
{
	uint32_t want = (uint32_t)(addr - c->start), at;

	if (addr < c->start || addr >= c->end)
		return CFG_NONE;
	at = (uint32_t)BISECT(i, c->insns, c->insn[i] < want);
	return at < c->insns && c->insn[at] == want ? at : CFG_NONE;
}
/* Dominators, loops, exits: everything after the edges. */
int cfg_loops_find(struct cfg *c);

#endif
