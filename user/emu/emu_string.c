// SPDX-License-Identifier: GPL-2.0-or-later
/* movs, stos, cmps, scas, alone and repeated. */
#include <string.h>

#include "emu/emu_ops.h"

#define MOST (1u << 18)     /* elements: more is no work for a copy */
#define RUN_MOST (1u << 20) /* of all of a run: each is about as much work as an instruction */

static bool register_known(const struct emu_state *s, unsigned reg)
{
	return s->known >> reg & 1;
}

/* Source and destination are where they are; what is there is not known. */
static enum emu_outcome element(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i, int64_t step)
{
	unsigned w = i->width;
	struct emu_value a = { s->r[WREG_AX] & (w >= 8 ? ~0ull : (1ull << 8 * w) - 1), register_known(s, WREG_AX) }, b;
	enum emu_outcome rc = EMU_OK;

	if (i->op == EMU_OP_MOVS || i->op == EMU_OP_CMPS)
		rc = emu_load_at(m, s->r[WREG_SI], w, &a);
	if (!rc && (i->op == EMU_OP_CMPS || i->op == EMU_OP_SCAS))
		rc = emu_load_at(m, s->r[WREG_DI], w, &b);
	else if (!rc)
		rc = emu_mem_write(m, s->r[WREG_DI], &a.v, w, a.known ? ~0ull : 0) ? EMU_OK : EMU_O_FAULT;
	if (rc)
		return rc;
	if (i->op == EMU_OP_CMPS || i->op == EMU_OP_SCAS)
		emu_compare(s, a, b, w);
	if (i->op == EMU_OP_MOVS || i->op == EMU_OP_CMPS)
		s->r[WREG_SI] += (uint64_t)step;
	s->r[WREG_DI] += (uint64_t)step;
	return EMU_OK;
}

/* Upwards, as many at once as memory takes: how many elements; 0: one at a time, or it ends there. */
static uint64_t many(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	uint8_t b[EMU_VEC_BYTES];
	uint64_t w = i->width, n = EMU_VEC_BYTES / w, bits = ~0ull;

	if (n > s->r[WREG_CX])
		n = s->r[WREG_CX];
	if (i->op == EMU_OP_MOVS) {
		/* what is written now may be read later on */
		if (s->r[WREG_DI] - s->r[WREG_SI] < n * w ||
		    !emu_mem_read(m, s->r[WREG_SI], b, (unsigned)(n * w), &bits))
			return 0;
	} else {
		for (uint64_t k = 0; k < n; k++)
			memcpy(b + k * w, &s->r[WREG_AX], w);
		bits = register_known(s, WREG_AX) ? ~0ull : 0;
	}
	if (!emu_mem_write(m, s->r[WREG_DI], b, (unsigned)(n * w), bits))
		return 0;
	if (i->op == EMU_OP_MOVS)
		s->r[WREG_SI] += n * w;
	s->r[WREG_DI] += n * w;
	return n;
}

enum emu_outcome emu_string(struct emu_state *s, struct emu_memory *m, const struct emu_insn *i)
{
	bool source = i->op == EMU_OP_MOVS || i->op == EMU_OP_CMPS,
	     compares = i->op == EMU_OP_CMPS || i->op == EMU_OP_SCAS;
	int64_t step = s->flags & EMU_DF ? -(int64_t)i->width : i->width;

	if (!i->width || i->width > 8)
		return EMU_O_NO_RULE;
	if (!register_known(s, WREG_DI) || (source && !register_known(s, WREG_SI)) || !(s->flags_known & EMU_DF) ||
	    (i->rep && !register_known(s, WREG_CX)))
		return EMU_O_NO_RULE;
	if (!i->rep)
		return element(s, m, i, step);
	if (s->r[WREG_CX] > MOST || s->elements + s->r[WREG_CX] > RUN_MOST)
		return EMU_O_FAULT;
	while (s->r[WREG_CX]) {
		uint64_t n = compares || step < 0 ? 0 : many(s, m, i);
		enum emu_outcome rc;

		if (n) {
			s->r[WREG_CX] -= n;
			s->elements += n;
			continue;
		}
		rc = element(s, m, i, step);
		if (rc)
			return rc;
		s->r[WREG_CX]--;
		s->elements++;
		if (!compares)
			continue;
		if (!(s->flags_known & EMU_ZF))
			return EMU_O_NO_RULE;
		if (!(s->flags & EMU_ZF) == (i->rep == 'z'))
			break;
	}
	return EMU_OK;
}
