// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/field.h"

#include <stdbool.h>

#include "abi.h"
#include "format.h"

#define FARTHEST (1 << 24) /* bytes: no structure is as large */

int32_t field_of(const struct dec_insn *d)
{
	for (unsigned k = 0; k < d->mem_cnt && k < DEC_MAX_MEM; k++) {
		const struct dec_mem *m = &d->mem[k];
		bool indexed = m->index != DEC_NOREG;

		if (!(m->flags & (DEC_M_LOAD | DEC_M_STORE)) || m->flags & DEC_M_VECTOR || m->base >= WREG_IP ||
		    m->base == WREG_SP || m->disp > FARTHEST || m->disp < -FARTHEST)
			continue;
		return (int32_t)m->disp * FMT_FIELD_BYTE + (indexed ? FMT_FIELD_INDEXED : 0) + FMT_FIELD_KNOWN;
	}
	return 0;
}
