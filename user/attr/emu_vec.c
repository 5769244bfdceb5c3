// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/emu_priv.h"

enum emu_outcome emu_vector(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	(void)s, (void)m, (void)i;
	return EMU_O_NO_RULE;
}
