/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands and flags, for those files that say what instructions do: emu_int.c, emu_string.c, emu_xsave.c, emu.c.
 * Included by these only.
 */
#ifndef ACCPERF_EMU_EMU_OPS_H
#define ACCPERF_EMU_EMU_OPS_H

#include "emu/emu_priv.h"

struct emu_value {
	uint64_t v;
	bool known;
};

enum emu_outcome emu_load_at(struct emu_memory *m, uint64_t addr, unsigned size, struct emu_value *out);
enum emu_outcome emu_load(const struct emu_state *s, struct emu_memory *m, const struct emu_insn *i,
			  const struct emu_operand *o, struct emu_value *out);
void emu_set(struct emu_state *s, unsigned reg, unsigned size, struct emu_value v);
void emu_compare(struct emu_state *s, struct emu_value a, struct emu_value b, unsigned width);
enum emu_outcome emu_push(struct emu_state *s, struct emu_memory *m, struct emu_value v, unsigned w);
enum emu_outcome emu_pop(struct emu_state *s, struct emu_memory *m, struct emu_value *v, unsigned w);
enum emu_outcome emu_string(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);
enum emu_outcome emu_xsave(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);

#endif
