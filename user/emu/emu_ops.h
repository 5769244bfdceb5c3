/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operands and flags (emu_operand.c), for those files that say what instructions do: emu_int.c, emu_string.c,
 * emu_xsave.c, emu.c. Included by these only.
 */
#ifndef ACCPERF_EMU_EMU_OPS_H
#define ACCPERF_EMU_EMU_OPS_H

#include "emu/emu_priv.h"

struct emu_value {
	uint64_t v;
	bool known;
};

static inline uint64_t width_mask(unsigned width)
{
	return width >= 8 ? ~0ull : (1ull << 8 * width) - 1;
}

static inline uint64_t sign_of(unsigned width)
{
	return 1ull << (8 * width - 1);
}

static inline int64_t extended(uint64_t v, unsigned width)
{
	unsigned shift = 64 - 8 * (width > 8 ? 8 : width);

	return (int64_t)(v << shift) >> shift;
}

enum emu_outcome emu_load_at(struct emu_memory *m, uint64_t addr, unsigned size, struct emu_value *out);
enum emu_outcome emu_load(const struct emu_state *s, struct emu_memory *m, const struct emu_insn *i,
			  const struct emu_operand *o, struct emu_value *out);
void emu_set(struct emu_state *s, unsigned reg, unsigned size, struct emu_value v);
enum emu_outcome emu_store(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i,
			   const struct emu_operand *o, struct emu_value v);
/* Those of `which` become as in `value`, or unknown. */
void emu_flags(struct emu_state *s, uint8_t which, uint8_t value, bool known);
/* Zero, sign and parity. */
uint8_t emu_result_flags(uint64_t r, unsigned width);
/* The flags become the result's, or unknown. */
uint64_t emu_add(struct emu_state *s, struct emu_value a, struct emu_value b, bool carry, unsigned w, bool known);
uint64_t emu_subtract(struct emu_state *s, struct emu_value a, struct emu_value b, bool borrow, unsigned w, bool known);
/* What was left for later (emu_quick.c) is worked out: before a rule reads or writes flags. */
void emu_settle_flags(struct emu_state *s);
void emu_compare(struct emu_state *s, struct emu_value a, struct emu_value b, unsigned width);
enum emu_outcome emu_push(struct emu_state *s, struct emu_memory *m, struct emu_value v, unsigned w);
enum emu_outcome emu_pop(struct emu_state *s, struct emu_memory *m, struct emu_value *v, unsigned w);
enum emu_outcome emu_string(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);
enum emu_outcome emu_xsave(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i);

#endif
