// SPDX-License-Identifier: GPL-2.0-or-later
/* All rules of vector instructions by mnemonic, and carrying one out. */
#include <pthread.h>

#include "emu/emu_vec_priv.h"

static const struct vec_rule *by_mnemonic[ZYDIS_MNEMONIC_MAX_VALUE + 1];
static pthread_once_t index_once = PTHREAD_ONCE_INIT;

static void index_rules(void)
{
	static const struct vec_rules *const all[] = { &vec_moves,    &vec_shuffles, &vec_integers, &vec_floats,
						       &vec_converts, &vec_masks,    &vec_texts };

	for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++)
		for (size_t n = 0; n < all[t]->count; n++)
			by_mnemonic[all[t]->row[n].mnemonic] = &all[t]->row[n];
}

const struct vec_rule *emu_vec_rule(uint16_t mnemonic)
{
	pthread_once(&index_once, index_rules);
	return mnemonic <= ZYDIS_MNEMONIC_MAX_VALUE ? by_mnemonic[mnemonic] : NULL;
}

enum emu_outcome emu_vector(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	struct vec_ctx c = { s, m, i, emu_vec_rule(i->mnemonic), EMU_O_NO_RULE };

	return c.rule ? c.rule->shape(&c) : EMU_O_NO_RULE;
}
