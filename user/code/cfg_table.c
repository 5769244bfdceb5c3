// SPDX-License-Identifier: GPL-2.0-or-later
/* Which table an indirect jump goes through: the sequences that gcc and clang emit for switch. */
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "code/cfg_priv.h"

#define LOAD_BACK 8   /* the entry is loaded at most so far before the jump */
#define CHECK_BACK 32 /* and its index compared with the table's length */

/* The entry's load in `m`; false if there is none. */
static bool find_load(const struct cfg *c, uint32_t jump, struct dec_mem *m, uint32_t *at)
{
	struct dec_insn d;

	for (uint32_t i = 0; i <= LOAD_BACK && i <= jump; i++) {
		if (cfg_decode(c, jump - i, &d))
			return false;
		if (i && (d.flags & DEC_F_BRANCH))
			return false;
		if (d.mem_cnt == 1 && (d.mem[0].flags & DEC_M_LOAD) && d.mem[0].index < WREG_IP &&
		    ((d.mem[0].scale == 8 && d.mem[0].size == 8) || (d.mem[0].scale == 4 && d.mem[0].size == 4 && i))) {
			*m = d.mem[0];
			*at = jump - i;
			return true;
		}
	}
	return false;
}

/* Value of the nearest `lea table(%rip), reg` before: it may have been moved out of loops. */
static bool find_base(const struct cfg *c, uint32_t before, uint8_t reg, uint64_t *table)
{
	uint32_t tries = 4096;

	for (uint32_t i = before; i-- && tries--;) {
		struct dec_insn d;
		const struct dec_mem *m = &d.mem[DEC_MAX_MEM - 1];

		if (cfg_decode(c, i, &d))
			return false;
		if (d.effect.op == DEC_OP_LEA && d.effect.dst == reg && m->base == WREG_IP && m->index == DEC_NOREG) {
			*table = cfg_insn_addr(c, i) + d.len + (uint64_t)m->disp;
			return true;
		}
	}
	return false;
}

/* Entries as the comparison before tells, CODE_TABLE_MAX where none is found. The comparison may
 * name a register that was copied into the index since. */
static uint32_t find_length(const struct cfg *c, uint32_t load, uint8_t index)
{
	for (uint32_t i = 1; i <= CHECK_BACK && i <= load; i++) {
		struct dec_insn d;

		if (cfg_decode(c, load - i, &d))
			break;
		if (d.compared == index)
			return d.compared_to >= 0 && d.compared_to < CODE_TABLE_MAX ? (uint32_t)d.compared_to + 1
										    : CODE_TABLE_MAX;
		if (!(d.writes >> index & 1))
			continue;
		if (d.effect.op == DEC_OP_AND && d.effect.dst == index && d.effect.src_kind == DEC_SRC_IMM &&
		    d.effect.imm >= 0 && d.effect.imm < CODE_TABLE_MAX)
			return (uint32_t)d.effect.imm + 1;
		if (d.effect.op != DEC_OP_MOV || d.effect.src_kind != DEC_SRC_REG)
			break;
		index = d.effect.src;
	}
	return CODE_TABLE_MAX;
}

uint32_t cfg_table_find(const struct cfg *c, const struct block_code *code, uint32_t insn, uint32_t *target)
{
	struct dec_mem m = { 0 };
	uint64_t table = 0;
	uint32_t load, length, n = 0;
	bool absolute;

	if (!find_load(c, insn, &m, &load) || m.base == DEC_BADREG || m.segment != DEC_NOREG)
		return 0;
	absolute = m.scale == 8;
	if (m.base == WREG_IP || (m.base == DEC_NOREG && m.disp <= 0))
		return 0;
	if (m.base != DEC_NOREG && !find_base(c, load, m.base, &table))
		return 0;
	if (m.base == DEC_NOREG && !absolute)
		return 0;
	table += (uint64_t)m.disp;
	length = find_length(c, load, m.index);
	for (; n < length; n++) {
		uint64_t to = 0;
		int32_t rel;

		if (absolute) {
			if (code->read(code->ctx, table + 8ull * n, &to, 8) != 8)
				break;
		} else {
			if (code->read(code->ctx, table + 4ull * n, &rel, 4) != 4)
				break;
			to = table - (uint64_t)m.disp + (uint64_t)(int64_t)rel;
		}
		target[n] = cfg_insn_at(c, to);
		if (target[n] == CFG_NONE)
			break;
	}
	/* an entry that leads elsewhere belongs to the table where its length is known: not understood */
	if (n < length && length < CODE_TABLE_MAX && n + 1 < length)
		return 0;
	return n > 1 ? n : 0;
}
