// SPDX-License-Identifier: GPL-2.0-or-later
/* The emulator's projection of a decoded instruction (code/insn.h): operands, widths, flags, what it must not do. */
#include <string.h>

#include "emu/emu_priv.h"
#include "code/insn.h"

/* What xsave and its kin may write, tiles excepted: nobody saves those with them outside the kernel. */
#define XSAVE_BYTES 2816

#define M(m) [ZYDIS_MNEMONIC_##m]
static const uint8_t op_of[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
	M(NOP) = EMU_OP_NOP,
	M(PAUSE) = EMU_OP_PAUSE,
	M(ENDBR64) = EMU_OP_NOP,
	M(ENDBR32) = EMU_OP_NOP,
	M(LFENCE) = EMU_OP_NOP,
	M(MFENCE) = EMU_OP_NOP,
	M(SFENCE) = EMU_OP_NOP,
	M(CLFLUSH) = EMU_OP_NOP,
	M(MOV) = EMU_OP_MOV,
	M(MOVZX) = EMU_OP_MOV,
	M(MOVNTI) = EMU_OP_MOV,
	M(MOVSX) = EMU_OP_MOVSX,
	M(MOVSXD) = EMU_OP_MOVSX,
	M(LEA) = EMU_OP_LEA,
	M(ADD) = EMU_OP_ADD,
	M(ADC) = EMU_OP_ADC,
	M(SUB) = EMU_OP_SUB,
	M(SBB) = EMU_OP_SBB,
	M(CMP) = EMU_OP_CMP,
	M(AND) = EMU_OP_AND,
	M(TEST) = EMU_OP_TEST,
	M(OR) = EMU_OP_OR,
	M(XOR) = EMU_OP_XOR,
	M(NOT) = EMU_OP_NOT,
	M(NEG) = EMU_OP_NEG,
	M(INC) = EMU_OP_INC,
	M(DEC) = EMU_OP_DEC,
	M(SHL) = EMU_OP_SHL,
	M(SHR) = EMU_OP_SHR,
	M(SAR) = EMU_OP_SAR,
	M(ROL) = EMU_OP_ROL,
	M(ROR) = EMU_OP_ROR,
	M(SHLD) = EMU_OP_SHLD,
	M(SHRD) = EMU_OP_SHRD,
	M(IMUL) = EMU_OP_IMUL,
	M(MUL) = EMU_OP_MUL,
	M(DIV) = EMU_OP_DIV,
	M(IDIV) = EMU_OP_IDIV,
	M(CBW) = EMU_OP_CBW,
	M(CWDE) = EMU_OP_CBW,
	M(CDQE) = EMU_OP_CBW,
	M(CWD) = EMU_OP_CWD,
	M(CDQ) = EMU_OP_CWD,
	M(CQO) = EMU_OP_CWD,
	M(BSWAP) = EMU_OP_BSWAP,
	M(XCHG) = EMU_OP_XCHG,
	M(XADD) = EMU_OP_XADD,
	M(CMPXCHG) = EMU_OP_CMPXCHG,
	M(BT) = EMU_OP_BT,
	M(BTS) = EMU_OP_BTS,
	M(BTR) = EMU_OP_BTR,
	M(BTC) = EMU_OP_BTC,
	M(BSF) = EMU_OP_BSF,
	M(BSR) = EMU_OP_BSR,
	M(TZCNT) = EMU_OP_TZCNT,
	M(LZCNT) = EMU_OP_LZCNT,
	M(POPCNT) = EMU_OP_POPCNT,
	M(ANDN) = EMU_OP_ANDN,
	M(BLSR) = EMU_OP_BLSR,
	M(BLSI) = EMU_OP_BLSI,
	M(BLSMSK) = EMU_OP_BLSMSK,
	M(BZHI) = EMU_OP_BZHI,
	M(SHLX) = EMU_OP_SHLX,
	M(SHRX) = EMU_OP_SHRX,
	M(SARX) = EMU_OP_SARX,
	M(RORX) = EMU_OP_RORX,
	M(MULX) = EMU_OP_MULX,
	M(SETB) = EMU_OP_SETCC,
	M(SETBE) = EMU_OP_SETCC,
	M(SETL) = EMU_OP_SETCC,
	M(SETLE) = EMU_OP_SETCC,
	M(SETNB) = EMU_OP_SETCC,
	M(SETNBE) = EMU_OP_SETCC,
	M(SETNL) = EMU_OP_SETCC,
	M(SETNLE) = EMU_OP_SETCC,
	M(SETNO) = EMU_OP_SETCC,
	M(SETNP) = EMU_OP_SETCC,
	M(SETNS) = EMU_OP_SETCC,
	M(SETNZ) = EMU_OP_SETCC,
	M(SETO) = EMU_OP_SETCC,
	M(SETP) = EMU_OP_SETCC,
	M(SETS) = EMU_OP_SETCC,
	M(SETZ) = EMU_OP_SETCC,
	M(MOVBE) = EMU_OP_MOVBE,
	M(CMOVB) = EMU_OP_CMOV,
	M(CMOVBE) = EMU_OP_CMOV,
	M(CMOVL) = EMU_OP_CMOV,
	M(CMOVLE) = EMU_OP_CMOV,
	M(CMOVNB) = EMU_OP_CMOV,
	M(CMOVNBE) = EMU_OP_CMOV,
	M(CMOVNL) = EMU_OP_CMOV,
	M(CMOVNLE) = EMU_OP_CMOV,
	M(CMOVNO) = EMU_OP_CMOV,
	M(CMOVNP) = EMU_OP_CMOV,
	M(CMOVNS) = EMU_OP_CMOV,
	M(CMOVNZ) = EMU_OP_CMOV,
	M(CMOVO) = EMU_OP_CMOV,
	M(CMOVP) = EMU_OP_CMOV,
	M(CMOVS) = EMU_OP_CMOV,
	M(CMOVZ) = EMU_OP_CMOV,
	M(PUSH) = EMU_OP_PUSH,
	M(POP) = EMU_OP_POP,
	M(LEAVE) = EMU_OP_LEAVE,
	M(STC) = EMU_OP_STC,
	M(CLC) = EMU_OP_CLC,
	M(CMC) = EMU_OP_CMC,
	M(STD) = EMU_OP_STD,
	M(CLD) = EMU_OP_CLD,
	/* movsd and cmpsd are names of vector instructions too: string_op() */
	M(MOVSB) = EMU_OP_MOVS,
	M(MOVSW) = EMU_OP_MOVS,
	M(MOVSQ) = EMU_OP_MOVS,
	M(STOSB) = EMU_OP_STOS,
	M(STOSW) = EMU_OP_STOS,
	M(STOSD) = EMU_OP_STOS,
	M(STOSQ) = EMU_OP_STOS,
	M(CMPSB) = EMU_OP_CMPS,
	M(CMPSW) = EMU_OP_CMPS,
	M(CMPSQ) = EMU_OP_CMPS,
	M(SCASB) = EMU_OP_SCAS,
	M(SCASW) = EMU_OP_SCAS,
	M(SCASD) = EMU_OP_SCAS,
	M(SCASQ) = EMU_OP_SCAS,
	M(FNSTCW) = EMU_OP_FNSTCW,
	M(XSAVE) = EMU_OP_XSAVE,
	M(XSAVE64) = EMU_OP_XSAVE,
	M(XSAVEOPT) = EMU_OP_XSAVE,
	M(XSAVEOPT64) = EMU_OP_XSAVE,
	M(XSAVEC) = EMU_OP_XSAVEC,
	M(XSAVEC64) = EMU_OP_XSAVEC,
	M(JB) = EMU_OP_JCC,
	M(JBE) = EMU_OP_JCC,
	M(JL) = EMU_OP_JCC,
	M(JLE) = EMU_OP_JCC,
	M(JNB) = EMU_OP_JCC,
	M(JNBE) = EMU_OP_JCC,
	M(JNL) = EMU_OP_JCC,
	M(JNLE) = EMU_OP_JCC,
	M(JNO) = EMU_OP_JCC,
	M(JNP) = EMU_OP_JCC,
	M(JNS) = EMU_OP_JCC,
	M(JNZ) = EMU_OP_JCC,
	M(JO) = EMU_OP_JCC,
	M(JP) = EMU_OP_JCC,
	M(JS) = EMU_OP_JCC,
	M(JZ) = EMU_OP_JCC,
	M(JMP) = EMU_OP_JMP,
	M(CALL) = EMU_OP_CALL,
	M(RET) = EMU_OP_RET,
	M(JRCXZ) = EMU_OP_JRCXZ,
	M(JECXZ) = EMU_OP_JRCXZ,
	M(SYSCALL) = EMU_OP_SYSCALL,
	/* what writes memory at places not told; branches without a rule: choose_op() */
	M(ENTER) = EMU_OP_TRAP,
	M(MOVDIR64B) = EMU_OP_TRAP,
	M(CLZERO) = EMU_OP_TRAP,
};
#undef M

_Static_assert(DEC_NOREG == EMU_NOREG, "insn.h");

static bool is_vector(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_XMM0 && r <= ZYDIS_REGISTER_ZMM31;
}

static bool is_mask_register(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_K0 && r <= ZYDIS_REGISTER_K7;
}

static void add_written(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct emu_insn *i)
{
	ZydisRegister r = op->reg.value;

	if (op->type != ZYDIS_OPERAND_TYPE_REGISTER || !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return;
	if (is_vector(r)) {
		i->vec_written |= 1ull << ZydisRegisterGetId(r);
	} else if (is_mask_register(r)) {
		i->mask_written |= (uint8_t)(1u << ZydisRegisterGetId(r));
		/* a pair of them, of which one is named */
		if (z->mnemonic == ZYDIS_MNEMONIC_VP2INTERSECTD || z->mnemonic == ZYDIS_MNEMONIC_VP2INTERSECTQ)
			i->mask_written |= (uint8_t)(3u << (ZydisRegisterGetId(r) & 6));
	} else if (r == ZYDIS_REGISTER_FS) {
		i->gpr_written |= 1u << WREG_FSBASE;
	}
}

static uint8_t flags_of(const ZydisAccessedFlags *f)
{
	static const struct {
		uint32_t z;
		uint8_t flag;
	} map[] = {
		{ ZYDIS_CPUFLAG_CF, EMU_CF }, { ZYDIS_CPUFLAG_PF, EMU_PF }, { ZYDIS_CPUFLAG_AF, EMU_AF },
		{ ZYDIS_CPUFLAG_ZF, EMU_ZF }, { ZYDIS_CPUFLAG_SF, EMU_SF }, { ZYDIS_CPUFLAG_OF, EMU_OF },
		{ ZYDIS_CPUFLAG_DF, EMU_DF },
	};
	uint32_t written = f ? f->modified | f->set_0 | f->set_1 | f->undefined : 0;
	uint8_t flags = 0;

	for (size_t k = 0; written && k < sizeof(map) / sizeof(map[0]); k++)
		if (written & map[k].z)
			flags |= map[k].flag;
	return flags;
}

static uint8_t known_part(uint8_t part, struct emu_operand *o)
{
	if (part != DEC_BADREG)
		return part;
	o->strange = true;
	return EMU_NOREG;
}

static void set_memory(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct emu_operand *o)
{
	struct insn_address a;

	insn_address(z, &op->mem, &a);
	o->kind = EMU_K_MEM;
	o->strange = z->address_width == 16;
	o->reg = known_part(a.base, o);
	o->index = known_part(a.index, o);
	o->segment = known_part(a.segment, o);
	o->scale = a.scale ? a.scale : 1;
	o->narrow = a.narrow;
	o->value = a.disp;
}

static void set_operand(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct emu_operand *o)
{
	ZydisRegister r = op->reg.value;

	memset(o, 0, sizeof(*o));
	o->reg = o->index = o->segment = EMU_NOREG;
	o->size = op->size / 8;
	o->read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	o->written = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		o->kind = EMU_K_IMM;
		o->value = op->imm.value.s;
		return;
	case ZYDIS_OPERAND_TYPE_MEMORY: set_memory(z, op, o); return;
	case ZYDIS_OPERAND_TYPE_REGISTER: break;
	default: return;
	}
	if (is_vector(r) || is_mask_register(r)) {
		o->kind = is_vector(r) ? EMU_K_VEC : EMU_K_MASK;
		o->reg = (uint8_t)ZydisRegisterGetId(r);
		if (is_vector(r))
			o->size = r < ZYDIS_REGISTER_YMM0 ? 16 : r < ZYDIS_REGISTER_ZMM0 ? 32 : 64;
	} else {
		o->reg = gpr_of(r);
		if (o->reg < WREG_IP)
			o->kind = is_high_byte(r) ? EMU_K_HIGH : EMU_K_REG;
	}
}

/* A memory operand that is written but not named, for the benefit of EMU_OP_UNKNOWN. */
static void set_hidden_store(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct emu_insn *i)
{
	struct emu_operand *o;

	if (i->ops == EMU_OPERANDS) {
		i->op = EMU_OP_TRAP;
		return;
	}
	o = &i->o[i->ops++];
	set_operand(z, op, o);
	if (o->reg == WREG_SP && i->op == EMU_OP_UNKNOWN) /* pushes: below what sp is before */
		o->value -= o->size;
}

static bool may_not_be_followed(const ZydisDecodedInstruction *z)
{
	if (z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return true;
	if (z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return true;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_KNC:
	case ZYDIS_CATEGORY_KNCMASK:
	case ZYDIS_CATEGORY_KNCSCALAR: return true;
	default: return false;
	}
}

/* 16 bits wide: processors do not agree what becomes of branches then. */
static bool has_short_operands(const ZydisDecodedInstruction *z)
{
	bool prefix = false;

	for (unsigned k = 0; k < z->raw.prefix_count; k++)
		prefix |= z->raw.prefixes[k].value == 0x66;
	return prefix && !z->raw.rex.W;
}

static uint16_t string_op(const ZydisDecodedInstruction *z, struct emu_insn *i)
{
	uint16_t op = op_of[z->mnemonic];

	if (z->mnemonic == ZYDIS_MNEMONIC_MOVSD)
		op = EMU_OP_MOVS;
	if (z->mnemonic == ZYDIS_MNEMONIC_CMPSD)
		op = EMU_OP_CMPS;
	for (unsigned k = 0; k < z->raw.prefix_count; k++)
		if (z->raw.prefixes[k].value == 0xf2 || z->raw.prefixes[k].value == 0xf3)
			i->rep = z->raw.prefixes[k].value == 0xf2 && (op == EMU_OP_CMPS || op == EMU_OP_SCAS) ? 'n'
													      : 'z';
	if (op != EMU_OP_UNKNOWN &&
	    (z->address_width != 64 || (z->attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS))))
		return EMU_OP_TRAP;
	return op;
}

static uint16_t choose_op(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct emu_insn *i)
{
	uint16_t found = op_of[z->mnemonic];
	uint32_t flow = insn_flow(z);
	/* those of them whose operands do not tell: cvttsd2si of memory, say */
	bool vector = z->mnemonic == ZYDIS_MNEMONIC_VZEROUPPER || z->mnemonic == ZYDIS_MNEMONIC_VZEROALL ||
		      z->mnemonic == ZYDIS_MNEMONIC_CRC32 || z->mnemonic == ZYDIS_MNEMONIC_XTEST ||
		      (z->meta.category == ZYDIS_CATEGORY_CONVERT && found == EMU_OP_UNKNOWN);

	if (may_not_be_followed(z) || (flow & DEC_F_TRAP) || ((flow & DEC_F_BRANCH) && found == EMU_OP_UNKNOWN))
		return EMU_OP_TRAP;
	if (insn_is_hint(z) && z->meta.isa_ext != ZYDIS_ISA_EXT_X87 && found != EMU_OP_PAUSE)
		return EMU_OP_NOP;
	if (z->meta.category == ZYDIS_CATEGORY_STRINGOP)
		return string_op(z, i);
	for (unsigned k = 0; k < z->operand_count; k++) {
		ZydisRegister r = op[k].reg.value;

		if (op[k].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		vector |= is_vector(r) || is_mask_register(r);
		if (r >= ZYDIS_REGISTER_MM0 && r <= ZYDIS_REGISTER_MM7)
			return EMU_OP_UNKNOWN;
		if (k < z->operand_count_visible && !is_vector(r) && !is_mask_register(r) && gpr_of(r) >= WREG_IP)
			return EMU_OP_UNKNOWN; /* a segment register, say */
	}
	if (insn_is_xsave(z))
		return found;
	if (z->meta.isa_ext == ZYDIS_ISA_EXT_X87 && found != EMU_OP_FNSTCW)
		return EMU_OP_UNKNOWN;
	/* how to round is part of its encoding: none of these has a rule */
	if (z->avx.has_sae || z->avx.rounding.mode != ZYDIS_ROUNDING_MODE_INVALID)
		return EMU_OP_UNKNOWN;
	if (vector)
		return i->ops <= EMU_OPERANDS ? EMU_OP_VECTOR : EMU_OP_UNKNOWN;
	switch (found) {
	case EMU_OP_IMUL: return z->operand_count_visible == 1 ? EMU_OP_IMUL_WIDE : EMU_OP_IMUL;
	case EMU_OP_PUSH:
	case EMU_OP_POP:
	case EMU_OP_LEAVE: return z->operand_width == 64 ? found : EMU_OP_UNKNOWN;
	case EMU_OP_JCC:
	case EMU_OP_JMP:
	case EMU_OP_CALL:
	case EMU_OP_RET:
	case EMU_OP_JRCXZ: return has_short_operands(z) ? EMU_OP_TRAP : found;
	default: return found;
	}
}

static void set_width(const ZydisDecodedInstruction *z, struct emu_insn *i)
{
	switch (i->op) {
	case EMU_OP_PUSH:
	case EMU_OP_POP:
	case EMU_OP_LEAVE:
	case EMU_OP_CALL:
	case EMU_OP_RET:
	case EMU_OP_JMP:
	case EMU_OP_JCC: i->width = 8; break;
	case EMU_OP_JRCXZ: i->width = z->mnemonic == ZYDIS_MNEMONIC_JECXZ ? 4 : 8; break;
	default:
		i->width = (uint8_t)(z->operand_width / 8);
		if (i->ops && i->o[0].kind != EMU_K_NONE && i->o[0].size && i->o[0].size <= EMU_VEC_BYTES)
			i->width = (uint8_t)i->o[0].size;
	}
}

static void set_vector_form(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct emu_insn *i)
{
	i->vex = z->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX || z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
		 z->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP;
	i->vector = i->vex ? (uint8_t)(z->avx.vector_length / 8) : 0;
	if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		if (is_mask_register(z->avx.mask.reg))
			i->mask = (uint8_t)ZydisRegisterGetId(z->avx.mask.reg);
		i->zeroing = z->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING ||
			     z->avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING;
	}
	for (unsigned k = 0; k < z->operand_count_visible; k++) {
		if (op[k].encoding == ZYDIS_OPERAND_ENCODING_MASK || !op[k].element_size || op[k].element_size > 512)
			continue;
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY ||
		    (op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(op[k].reg.value))) {
			i->element = (uint8_t)(op[k].element_size / 8);
			return;
		}
	}
}

/* Loads of its control word; fnsave and fnstenv set it, too. */
static bool changes_fpu(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FNINIT:
	case ZYDIS_MNEMONIC_FNSAVE:
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
	case ZYDIS_MNEMONIC_XRSTORS:
	case ZYDIS_MNEMONIC_XRSTORS64: return true;
	default: return false;
	}
}

static void forget_all_vectors(const ZydisDecodedInstruction *z, struct emu_insn *i)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_VZEROUPPER:
	case ZYDIS_MNEMONIC_VZEROALL: i->vec_written |= 0xffff; break;
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
	case ZYDIS_MNEMONIC_XRSTORS:
	case ZYDIS_MNEMONIC_XRSTORS64:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
		i->vec_written |= 0xffffffff;
		i->mask_written = 0xff;
		break;
	default: break;
	}
}

/* What an instruction without a rule writes to memory must be told, in full. */
static void check_stores(const ZydisDecodedInstruction *z, struct emu_insn *i)
{
	for (unsigned k = 0; k < i->ops; k++) {
		struct emu_operand *o = &i->o[k];

		if (o->kind != EMU_K_MEM)
			continue;
		if (insn_is_xsave(z))
			o->size = XSAVE_BYTES;
		if (i->op == EMU_OP_VECTOR && o->size > EMU_VEC_BYTES)
			i->op = EMU_OP_UNKNOWN;
		if (o->written && !o->size)
			i->op = EMU_OP_TRAP;
	}
}

static void set_branch(const ZydisDecodedInstruction *z, struct emu_insn *i)
{
	switch (i->op) {
	case EMU_OP_JCC:
	case EMU_OP_SETCC:
	case EMU_OP_CMOV: i->cond = z->opcode & 15; break;
	default: break;
	}
	if (i->op >= EMU_OP_JCC)
		insn_target(z, &i->target);
	if (i->op == EMU_OP_RET && i->ops)
		i->o[0].value &= 0xffff;
}

static void project_operands(const struct insn *decoded, struct emu_insn *i)
{
	const ZydisDecodedInstruction *z = &decoded->z;
	const ZydisDecodedOperand *op = decoded->op;
	struct emu_operand surplus;
	unsigned visible = 0;

	i->len = z->length;
	i->mnemonic = (uint16_t)z->mnemonic;
	i->flags_written = flags_of(z->cpu_flags);
	i->fpu_changed = changes_fpu(z->mnemonic);
	i->moves = insn_moves(decoded);
	i->gpr_written = insn_writes(decoded);
	for (unsigned k = 0; k < z->operand_count; k++)
		add_written(z, &op[k], i);
	if (z->mnemonic == ZYDIS_MNEMONIC_WRFSBASE)
		i->gpr_written |= 1u << WREG_FSBASE;
	if (z->mnemonic == ZYDIS_MNEMONIC_SYSCALL)
		i->gpr_written |= 1u << WREG_AX;
	for (unsigned k = 0; k < z->operand_count_visible; k++)
		if (op[k].encoding != ZYDIS_OPERAND_ENCODING_MASK) {
			set_operand(z, &op[k], visible < EMU_OPERANDS ? &i->o[visible] : &surplus);
			visible++;
		}
	i->ops = (uint8_t)visible;
	i->op = choose_op(z, op, i);
	if (i->ops > EMU_OPERANDS)
		i->ops = EMU_OPERANDS;
	set_vector_form(z, op, i);
	forget_all_vectors(z, i);
	if (i->op == EMU_OP_NOP || i->op == EMU_OP_PAUSE) {
		i->ops = 0;
		memset(i->o, 0, sizeof(i->o));
	}
	set_width(z, i);
	set_branch(z, i);
	for (unsigned k = 0; k < i->ops; k++)
		if (i->o[k].kind == EMU_K_IMM)
			i->o[k].size = i->width;
	if (i->op == EMU_OP_UNKNOWN || i->op == EMU_OP_VECTOR)
		for (unsigned k = z->operand_count_visible; k < z->operand_count; k++)
			if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    (op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
				set_hidden_store(z, &op[k], i);
	check_stores(z, i);
}

int emu_decode(const uint8_t *bytes, size_t len, struct emu_insn *out)
{
	struct insn decoded;
	int err = insn_decode(bytes, len, &decoded);

	memset(out, 0, sizeof(*out));
	if (!err)
		project_operands(&decoded, out);
	return err;
}
