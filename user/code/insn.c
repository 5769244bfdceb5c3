// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "code/insn.h"

static ZydisDecoder decoder;

/* Before main(), so that no call has to ask whether it is done. */
__attribute__((constructor)) static void decoder_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static ZydisFormatter formatter[2]; /* by `intel` */

__attribute__((constructor)) static void formatter_init(void)
{
	for (int intel = 0; intel < 2; intel++) {
		ZydisFormatterInit(&formatter[intel], intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT);
		ZydisFormatterSetProperty(&formatter[intel], ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
		ZydisFormatterSetProperty(&formatter[intel], ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, 0);
		ZydisFormatterSetProperty(&formatter[intel], ZYDIS_FORMATTER_PROP_DISP_PADDING, 0);
		ZydisFormatterSetProperty(&formatter[intel], ZYDIS_FORMATTER_PROP_IMM_PADDING, 0);
	}
}

void insn_text(const struct insn *i, uint64_t at, bool intel, char *out, size_t size)
{
	if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter[intel], &i->z, i->op, i->z.operand_count_visible,
							  out, size, at, NULL)))
		snprintf(out, size, "(bad)");
}

static int decode_bytes(const uint8_t *bytes, size_t len, ZydisDecoderContext *ctx, ZydisDecodedInstruction *z)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, ctx, bytes, len, z)) ? 0 : -EINVAL;
}

int insn_decode_head(const uint8_t *bytes, size_t len, ZydisDecodedInstruction *out)
{
	ZydisDecoderContext ctx;

	return decode_bytes(bytes, len, &ctx, out);
}

int insn_decode(const uint8_t *bytes, size_t len, struct insn *out)
{
	ZydisDecodedInstruction *z = &out->z;
	ZydisDecoderContext ctx;
	int err = decode_bytes(bytes, len, &ctx, z);

	if (err)
		return err;
	memset(out->op, 0, sizeof(out->op[0]) * 2);
	return ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &ctx, z, out->op, z->operand_count)) ? 0 : -EINVAL;
}

static bool is_trap(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_UD2 || m == ZYDIS_MNEMONIC_HLT || m == ZYDIS_MNEMONIC_UD1 || m == ZYDIS_MNEMONIC_UD0;
}

uint32_t insn_flow(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COND_BR: return DEC_F_BRANCH | DEC_F_COND; /* xbegin too */
	case ZYDIS_CATEGORY_UNCOND_BR:                                 /* xabort does nothing outside a transaction */
		return DEC_F_BRANCH | (z->mnemonic == ZYDIS_MNEMONIC_XABORT ? DEC_F_COND : 0u);
	case ZYDIS_CATEGORY_CALL: return DEC_F_BRANCH | DEC_F_CALL;
	case ZYDIS_CATEGORY_RET: return DEC_F_BRANCH | DEC_F_RET;
	case ZYDIS_CATEGORY_SYSCALL: return DEC_F_BRANCH | DEC_F_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_INTERRUPT: return DEC_F_BRANCH | DEC_F_TRAP;
	default: return is_trap(z->mnemonic) ? DEC_F_BRANCH | DEC_F_TRAP : 0;
	}
}

bool insn_target(const ZydisDecodedInstruction *z, int64_t *target)
{
	if (!(z->attributes & ZYDIS_ATTRIB_IS_RELATIVE) || !z->raw.imm[0].size)
		return false;
	*target = z->raw.imm[0].value.s;
	return true;
}

uint32_t insn_writes(const struct insn *i)
{
	uint32_t written = 0;

	for (unsigned k = 0; k < i->z.operand_count; k++) {
		uint8_t r;

		if (i->op[k].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(i->op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		r = gpr_of(i->op[k].reg.value);
		if (r < WREG_IP)
			written |= 1u << r;
	}
	return written;
}

bool insn_is_hint(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_MPX: return true;
	default: return false;
	}
}

bool insn_touches_no_memory(const ZydisDecodedInstruction *z)
{
	return insn_is_hint(z) || z->meta.category == ZYDIS_CATEGORY_CET || z->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
	       z->mnemonic == ZYDIS_MNEMONIC_INVLPG;
}

bool insn_is_access(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
	       op->mem.type != ZYDIS_MEMOP_TYPE_MIB && !insn_touches_no_memory(z) &&
	       (op->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE));
}

bool insn_moves(const struct insn *i)
{
	bool moves = insn_flow(&i->z) & DEC_F_BRANCH;

	/* what enter touches is not told */
	for (unsigned k = 0; k < i->z.operand_count && i->z.mnemonic != ZYDIS_MNEMONIC_ENTER; k++)
		moves |= insn_is_access(&i->z, &i->op[k]);
	return moves;
}

bool insn_is_xsave(const ZydisDecodedInstruction *z)
{
	return z->meta.category == ZYDIS_CATEGORY_XSAVE || z->meta.category == ZYDIS_CATEGORY_XSAVEOPT;
}

static uint8_t part_of(ZydisRegister r)
{
	uint8_t gpr = gpr_of(r);

	return gpr == DEC_NOREG && r != ZYDIS_REGISTER_NONE ? DEC_BADREG : gpr;
}

void insn_address(const ZydisDecodedInstruction *z, const ZydisDecodedOperandMem *m, struct insn_address *out)
{
	out->base = part_of(m->base);
	out->index = part_of(m->index);
	if (m->type == ZYDIS_MEMOP_TYPE_VSIB || z->mnemonic == ZYDIS_MNEMONIC_XLAT) /* index is al alone */
		out->index = DEC_BADREG;
	out->segment = DEC_NOREG;
	if (m->type != ZYDIS_MEMOP_TYPE_AGEN && m->segment == ZYDIS_REGISTER_FS)
		out->segment = WREG_FSBASE;
	if (m->type != ZYDIS_MEMOP_TYPE_AGEN && m->segment == ZYDIS_REGISTER_GS)
		out->segment = DEC_BADREG;
	out->scale = m->scale;
	out->narrow = z->address_width == 32;
	out->disp = m->disp.has_displacement ? m->disp.value : 0;
}
