/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The common cases of common instructions, each as a function of its own that is chosen once, when the instruction is
 * decoded: all that it needs is known, and the memory it touches is at hand. Otherwise it changes nothing and says so:
 * the rule (emu_int.c) carries it out. So rules alone say what instructions do, and this file may be left out.
 *
 * Flags are worked out when an instruction reads them: emu_state.lazy says of what.
 * Included by emu.c and emu_quick.c only.
 */
#ifndef ACCPERF_EMU_EMU_QUICK_H
#define ACCPERF_EMU_EMU_QUICK_H

#include "emu/emu_ops.h"

struct emu_quick;
/* 0: it goes on behind it; 1: it jumps; -1: by its rule. */
typedef int emu_quick_fn(struct emu_state *s, struct emu_memory *m, const struct emu_quick *q);

struct emu_quick {
	emu_quick_fn *run;   /* NULL: by its rule always */
	uint32_t need;       /* bit per register that must be known */
	uint8_t dst, src;    /* WREG_* */
	uint8_t base, index; /* of an address; base is one, index may be EMU_NOREG */
	uint8_t scale;
	uint8_t len;          /* bytes; of those by rule, too */
	bool memory, branch;  /* it touches some; is one */
	int64_t displacement; /* of an address, or from behind a branch to its target */
	uint64_t value;       /* of an operand in the code, as wide as the operation */
};

/* rule: by its rule always. */
void emu_quick_of(const struct emu_insn *i, bool rule, struct emu_quick *out);

#endif
