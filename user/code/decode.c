// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "code/insn.h"

static bool in_category(ZydisInstructionCategory c, const ZydisInstructionCategory *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == c)
			return true;
	return false;
}

/* Categories in which everything computes. */
static const ZydisInstructionCategory computing[] = {
	ZYDIS_CATEGORY_ADOX_ADCX,     ZYDIS_CATEGORY_AES,           ZYDIS_CATEGORY_AMD3DNOW,
	ZYDIS_CATEGORY_AVX512_4FMAPS, ZYDIS_CATEGORY_AVX512_4VNNIW, ZYDIS_CATEGORY_AVX512_BITALG,
	ZYDIS_CATEGORY_BINARY,        ZYDIS_CATEGORY_BITBYTE,       ZYDIS_CATEGORY_BMI1,
	ZYDIS_CATEGORY_BMI2,          ZYDIS_CATEGORY_CONFLICT,      ZYDIS_CATEGORY_CONVERT,
	ZYDIS_CATEGORY_DECIMAL,       ZYDIS_CATEGORY_FMA4,          ZYDIS_CATEGORY_FP16,
	ZYDIS_CATEGORY_GFNI,          ZYDIS_CATEGORY_IFMA,          ZYDIS_CATEGORY_LOGICAL,
	ZYDIS_CATEGORY_LOGICAL_FP,    ZYDIS_CATEGORY_LZCNT,         ZYDIS_CATEGORY_PCLMULQDQ,
	ZYDIS_CATEGORY_ROTATE,        ZYDIS_CATEGORY_SEMAPHORE,     ZYDIS_CATEGORY_SHA,
	ZYDIS_CATEGORY_SHIFT,         ZYDIS_CATEGORY_STTNI,         ZYDIS_CATEGORY_TBM,
	ZYDIS_CATEGORY_VAES,          ZYDIS_CATEGORY_VBMI2,         ZYDIS_CATEGORY_VFMA,
	ZYDIS_CATEGORY_VPCLMULQDQ,    ZYDIS_CATEGORY_XOP,
};

/* Categories that mix arithmetic with shuffles and moves: the name decides. */
static const ZydisInstructionCategory mixed[] = {
	ZYDIS_CATEGORY_SSE, ZYDIS_CATEGORY_AVX,         ZYDIS_CATEGORY_AVX2,     ZYDIS_CATEGORY_AVX512,
	ZYDIS_CATEGORY_MMX, ZYDIS_CATEGORY_AVX512_VBMI, ZYDIS_CATEGORY_STRINGOP, ZYDIS_CATEGORY_MISC,
	ZYDIS_CATEGORY_VEX, ZYDIS_CATEGORY_KMASK,       ZYDIS_CATEGORY_X87_ALU,  ZYDIS_CATEGORY_AMX_TILE,
};

/* Of the mixed ones: names (without a leading v) that move, shuffle, convert position, or neither of these. From fld on
 * those of the x87, by Intel's groups (SDM volume 1, 5.2): data transfer, constants, control. */
static const char *const moving[] = {
	"mov",     "shuf",    "unpck",   "punpck",  "pack",     "pshuf",    "palignr",   "align",      "perm",
	"blend",   "pblend",  "insert",  "extract", "pinsr",    "pextr",    "broadcast", "pbroadcast", "lddqu",
	"ldmxcsr", "stmxcsr", "zero",    "maskmov", "pmaskmov", "compress", "pcompress", "expand",     "pexpand",
	"pmov",    "kmov",    "kunpck",  "emms",    "femms",    "lods",     "stos",      "lea",        "leave",
	"enter",   "cpuid",   "rdtsc",   "xgetbv",  "pause",    "ud",       "fence",     "lfence",     "sfence",
	"mfence",  "xlat",    "cmov",    "psrldq",  "pslldq",   "monitor",  "mwait",     "rdpmc",      "serialize",
	"clflush", "invpcid", "mcommit", "fxsave",  "fxrstor",  "tile",     "ldtile",    "sttile",     "fld",
	"fst",     "fxch",    "fnst",    "fninit",  "fnclex",   "fnop",     "fnsave",    "frstor",     "fwait",
	"ffree",   "fincstp", "fdecstp", "feni",    "fdisi",    "fsetpm",
};

static bool name_moves(const char *name)
{
	if (*name == 'v')
		name++;
	for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++)
		if (!strncmp(name, moving[i], strlen(moving[i])))
			return true;
	return false;
}

static bool insn_computes(const ZydisDecodedInstruction *z)
{
	ZydisInstructionCategory c = z->meta.category;

	/* pmovmskb, movmskps: a reduction in the eyes of the programmer, a move in ours */
	if (in_category(c, computing, sizeof(computing) / sizeof(computing[0])))
		return true;
	if (!in_category(c, mixed, sizeof(mixed) / sizeof(mixed[0])))
		return false;
	return !name_moves(ZydisMnemonicGetString(z->mnemonic));
}

static bool is_float(ZydisElementType t)
{
	return t == ZYDIS_ELEMENT_TYPE_FLOAT16 || t == ZYDIS_ELEMENT_TYPE_FLOAT32 || t == ZYDIS_ELEMENT_TYPE_FLOAT64 ||
	       t == ZYDIS_ELEMENT_TYPE_FLOAT80;
}

static bool is_slow(ZydisMnemonic m)
{
	const char *name = ZydisMnemonicGetString(m);

	/* 1/sqrt(x) is looked up in a table: as fast as a multiplication */
	return name && (strstr(name, "div") || (strstr(name, "sqrt") && !strstr(name, "rsqrt")));
}

/* nop in its forms, endbr, caches and fences, waiting; and what neither names a register nor touches memory: flags,
 * cpuid, clocks, states of the processor. A register of the x87 needs no name. */
static bool moves_nothing(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	if (insn_touches_no_memory(z) || z->meta.category == ZYDIS_CATEGORY_WAITPKG)
		return true;
	for (unsigned i = 0; i < z->operand_count; i++) {
		bool named = i < z->operand_count_visible;

		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY ||
		    (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		     (named || ZydisRegisterGetClass(op[i].reg.value) == ZYDIS_REGCLASS_X87)))
			return false;
	}
	return true;
}

/* Of AVX-512, k0 without one: 64 "elements" of a bit, which are no lanes. */
static bool is_mask_operand(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_MASK;
}

/* Encoded with a vector prefix these name whole registers, of which they compute the lowest element alone. */
static bool is_scalar(ZydisMnemonic m)
{
	const char *name = ZydisMnemonicGetString(m), *end = name + strlen(name) - 2;

	return !strcmp(end, "ss") || !strcmp(end, "sd") || !strcmp(end, "sh") || !strcmp(end, "si");
}

static void classify_work(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct dec_insn *d)
{
	d->lanes = 1;
	d->element_bits = (uint8_t)(z->operand_width < 255 ? z->operand_width : 0);
	if (!insn_computes(z)) {
		if (!(d->flags & DEC_F_BRANCH) && moves_nothing(z, op))
			d->flags |= DEC_F_IDLE;
		return;
	}
	d->flags |= DEC_F_COMPUTE | (is_slow(z->mnemonic) ? DEC_F_SLOW : 0u);
	if (z->meta.category == ZYDIS_CATEGORY_X87_ALU) {
		d->flags |= DEC_F_FP;
		d->element_bits = 80;
		return;
	}
	for (unsigned i = 0; i < z->operand_count_visible; i++) { /* the flags are hidden, of 64 "elements" */
		unsigned n = op[i].element_count;

		if (op[i].type != ZYDIS_OPERAND_TYPE_REGISTER && op[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		if (is_mask_operand(&op[i]))
			continue;
		if (is_float(op[i].element_type))
			d->flags |= DEC_F_FP;
		if (n > d->lanes && n <= 64) {
			d->lanes = (uint8_t)n;
			d->element_bits = (uint8_t)op[i].element_size;
		}
	}
	if ((d->flags & DEC_F_FP) && is_scalar(z->mnemonic))
		d->lanes = 1;
	if (d->lanes > 1)
		d->flags |= DEC_F_SIMD;
}

static bool is_rep(const ZydisDecodedInstruction *z)
{
	return z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static bool size_depends_on_data(const ZydisDecodedInstruction *z)
{
	if (insn_is_xsave(z))
		return true;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_COMPRESS:
	case ZYDIS_CATEGORY_EXPAND:
	case ZYDIS_CATEGORY_AMX_TILE: return true;
	default: break;
	}
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ: return true;
	default: return z->avx.mask.mode == ZYDIS_MASK_MODE_MERGING || z->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING;
	}
}

/* bt/bts/btr/btc with a register offset address memory beyond the operand. */
static bool bit_string(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC: return op[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	default: return false;
	}
}

/* The decoder tells the memory operand of one lane only. Both the indexes and the data must fit. */
static unsigned lanes_of(const ZydisDecodedInstruction *z, ZydisRegister index, unsigned element_bits)
{
	unsigned index_bits = 32, indexes, elements;

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_VPGATHERQD:
	case ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VGATHERQPS:
	case ZYDIS_MNEMONIC_VGATHERQPD:
	case ZYDIS_MNEMONIC_VPSCATTERQD:
	case ZYDIS_MNEMONIC_VPSCATTERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPS:
	case ZYDIS_MNEMONIC_VSCATTERQPD: index_bits = 64; break;
	default: break;
	}
	indexes = ZydisRegisterGetWidth(z->machine_mode, index) / index_bits;
	elements = element_bits ? z->avx.vector_length / element_bits : 1;
	if (elements < indexes)
		indexes = elements;
	return indexes ? indexes : 1;
}

static void set_address(const ZydisDecodedInstruction *z, const ZydisDecodedOperandMem *m, struct dec_mem *o)
{
	struct insn_address a;

	insn_address(z, m, &a);
	*o = (struct dec_mem){ .base = a.base,
			       .index = a.index,
			       .scale = a.scale,
			       .segment = a.segment,
			       .flags = a.narrow ? DEC_M_ADDR32 : 0,
			       .disp = a.disp };
}

static void add_mem(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct dec_insn *d)
{
	const ZydisDecodedOperandMem *m = &op->mem;
	struct dec_mem *o;

	if (!insn_is_access(z, op))
		return;
	if (d->mem_cnt == DEC_MAX_MEM) {
		d->flags |= DEC_F_MEM_OTHER;
		return;
	}
	o = &d->mem[d->mem_cnt++];
	set_address(z, m, o);
	o->size = (uint16_t)(op->size / 8);
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		o->flags |= DEC_M_LOAD;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		o->flags |= DEC_M_STORE;
		d->flags |= DEC_F_STORES;
	}
	if (m->type == ZYDIS_MEMOP_TYPE_VSIB) {
		o->flags |= DEC_M_VECTOR;
		o->lanes = (uint8_t)lanes_of(z, m->index, op->element_size);
		o->size = (uint16_t)(op->element_size / 8);
	}
	if (size_depends_on_data(z)) {
		o->flags |= DEC_M_MASKED;
		o->size = DEC_SIZE_UNKNOWN;
	}
	if (bit_string(z, op - op->id))
		o->base = DEC_BADREG;
	if (z->meta.category == ZYDIS_CATEGORY_STRINGOP && is_rep(z)) {
		o->flags |= DEC_M_REP;
		if (z->mnemonic >= ZYDIS_MNEMONIC_CMPSB && z->mnemonic <= ZYDIS_MNEMONIC_CMPSW)
			o->flags |= DEC_M_STOP;
		if (z->mnemonic >= ZYDIS_MNEMONIC_SCASB && z->mnemonic <= ZYDIS_MNEMONIC_SCASW)
			o->flags |= DEC_M_STOP;
	}
}

/* Stack instructions: where they touch the stack relative to sp on entry, and what they do to sp. */
static void stack_effect(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct dec_insn *d)
{
	int slot = 0;

	for (unsigned i = 0; i < d->mem_cnt; i++)
		if (d->mem[i].base == WREG_SP && d->mem[i].index == DEC_NOREG)
			slot = d->mem[i].size;
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_CALL:
		/* the hidden operand is the last one; a visible [rsp+x] is evaluated before the push */
		slot = d->mem_cnt ? d->mem[d->mem_cnt - 1].size : 0;
		if (!slot || z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			break;
		d->mem[d->mem_cnt - 1].disp = -slot;
		d->sp_delta = -slot;
		d->flags |= DEC_F_KNOWN_SP;
		return;
	case ZYDIS_MNEMONIC_POP:
		if (op[0].type == ZYDIS_OPERAND_TYPE_REGISTER && gpr_of(op[0].reg.value) == WREG_SP)
			return; /* sp is in writes */
		slot = d->mem_cnt ? d->mem[d->mem_cnt - 1].size : 0;
		if (op[0].type == ZYDIS_OPERAND_TYPE_MEMORY && d->mem_cnt == 2 && d->mem[0].base == WREG_SP)
			d->mem[0].disp += slot; /* evaluated after the pop */
						/* fall through */
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		slot = d->mem_cnt ? d->mem[d->mem_cnt - 1].size : 0;
		d->sp_delta = slot;
		d->flags |= DEC_F_KNOWN_SP;
		return;
	case ZYDIS_MNEMONIC_RET:
		if (z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			break;
		d->sp_delta = 8;
		if (op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			d->sp_delta += (int32_t)(op[0].imm.value.u & 0xffff);
		d->flags |= DEC_F_KNOWN_SP;
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		if (d->mem_cnt) {
			d->mem[0].base = WREG_BP;
			d->mem[0].disp = 0;
		}
		return;
	case ZYDIS_MNEMONIC_ENTER:
		d->flags |= DEC_F_MEM_OTHER;
		d->mem_cnt = 0;
		return;
	default: return;
	}
	d->flags |= DEC_F_MEM_OTHER;
}

static uint8_t op_of(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_INC: return DEC_OP_ADD;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_DEC: return DEC_OP_SUB;
	case ZYDIS_MNEMONIC_AND: return DEC_OP_AND;
	case ZYDIS_MNEMONIC_OR: return DEC_OP_OR;
	case ZYDIS_MNEMONIC_XOR: return DEC_OP_XOR;
	case ZYDIS_MNEMONIC_SHL: return DEC_OP_SHL;
	case ZYDIS_MNEMONIC_SHR: return DEC_OP_SHR;
	case ZYDIS_MNEMONIC_SAR: return DEC_OP_SAR;
	case ZYDIS_MNEMONIC_IMUL: return DEC_OP_IMUL;
	case ZYDIS_MNEMONIC_NEG: return DEC_OP_NEG;
	case ZYDIS_MNEMONIC_NOT: return DEC_OP_NOT;
	case ZYDIS_MNEMONIC_BSWAP: return DEC_OP_BSWAP;
	case ZYDIS_MNEMONIC_XCHG: return DEC_OP_XCHG;
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_POP: return DEC_OP_MOV;
	case ZYDIS_MNEMONIC_LEA: return DEC_OP_LEA;
	default: return DEC_OP_NONE;
	}
}

/* Fills the source of an effect from operand o; false if it has no simple form. */
static bool effect_source(const ZydisDecodedOperand *o, const struct dec_insn *d, struct dec_effect *f)
{
	f->src_width = (uint8_t)(o->size / 8);
	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		f->src_kind = DEC_SRC_IMM;
		f->imm = o->imm.is_signed ? o->imm.value.s : (int64_t)o->imm.value.u;
		f->src_width = 8; /* already extended */
		return true;
	case ZYDIS_OPERAND_TYPE_REGISTER:
		f->src_kind = DEC_SRC_REG;
		f->src = gpr_of(o->reg.value);
		return f->src < WREG_IP && !is_high_byte(o->reg.value);
	case ZYDIS_OPERAND_TYPE_MEMORY:
		f->src_kind = DEC_SRC_MEM;
		return d->mem_cnt == 1 && !(d->mem[0].flags & (DEC_M_VECTOR | DEC_M_REP));
	default: return false;
	}
}

static void effect_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, struct dec_insn *d)
{
	struct dec_effect *f = &d->effect, none = { .op = DEC_OP_NONE };
	const ZydisDecodedOperand *src = &op[1];

	*f = none;
	if (z->mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		f->op = DEC_OP_LEAVE;
		return;
	}
	if (z->mnemonic == ZYDIS_MNEMONIC_CDQE || z->mnemonic == ZYDIS_MNEMONIC_CWDE) {
		*f = (struct dec_effect){
			.op = DEC_OP_MOV, .dst = WREG_AX, .src_kind = DEC_SRC_REG, .src = WREG_AX, .sign = true
		};
		f->width = z->mnemonic == ZYDIS_MNEMONIC_CDQE ? 8 : 4;
		f->src_width = f->width / 2;
		return;
	}
	if (z->meta.category == ZYDIS_CATEGORY_STRINGOP && d->mem_cnt) {
		f->op = DEC_OP_STRING;
		f->width = (uint8_t)d->mem[0].size;
		return;
	}
	f->op = op_of(z->mnemonic);
	if (f->op == DEC_OP_NONE || !z->operand_count || op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    is_high_byte(op[0].reg.value))
		goto none;
	f->dst = gpr_of(op[0].reg.value);
	f->width = (uint8_t)(op[0].size / 8);
	if (f->dst >= WREG_IP || (f->width != 4 && f->width != 8))
		goto none;
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		f->src_kind = DEC_SRC_IMM;
		f->imm = 1;
		return;
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_BSWAP: return;
	case ZYDIS_MNEMONIC_LEA: /* not counted in mem_cnt: an address, no access */
		set_address(z, &op[1].mem, &d->mem[DEC_MAX_MEM - 1]);
		return;
	case ZYDIS_MNEMONIC_POP:
		f->src_kind = DEC_SRC_MEM;
		f->src_width = 8;
		return;
	case ZYDIS_MNEMONIC_XCHG:
		if (op[1].type != ZYDIS_OPERAND_TYPE_REGISTER || f->width != 8)
			goto none;
		break;
	case ZYDIS_MNEMONIC_IMUL:
		if (z->operand_count_visible == 1)
			goto none;
		if (z->operand_count_visible == 3) {
			f->mul3 = true;
			if (!effect_source(&op[1], d, f))
				goto none;
			f->imm = op[2].imm.value.s;
			return;
		}
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD: f->sign = true; break;
	default: break;
	}
	if (!effect_source(src, d, f))
		goto none;
	if ((f->op == DEC_OP_XOR || f->op == DEC_OP_SUB) && f->src_kind == DEC_SRC_REG && f->src == f->dst) {
		/* clears, whatever was there */
		f->op = DEC_OP_MOV;
		f->src_kind = DEC_SRC_IMM;
		f->imm = 0;
	}
	return;
none:
	*f = none;
}

/* Plain stores of a register, so that a later load of the same bytes is known. */
static uint8_t store_source(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op, const struct dec_insn *d)
{
	const ZydisDecodedOperand *src;

	if (d->mem_cnt != 1)
		return DEC_NOREG;
	if (z->mnemonic == ZYDIS_MNEMONIC_PUSH)
		src = &op[0];
	else if (z->mnemonic == ZYDIS_MNEMONIC_MOV && op[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		src = &op[1];
	else
		return DEC_NOREG;
	if (src->type != ZYDIS_OPERAND_TYPE_REGISTER || is_high_byte(src->reg.value) ||
	    gpr_of(src->reg.value) >= WREG_IP)
		return DEC_NOREG;
	return gpr_of(src->reg.value);
}

static void project_control_flow(const ZydisDecodedInstruction *z, struct dec_insn *d)
{
	d->len = z->length;
	d->flags = insn_flow(z);
	d->target = 0;
	if ((d->flags & DEC_F_BRANCH) && insn_target(z, &d->target))
		d->flags |= DEC_F_DIRECT;
}

static void project_effects(const struct insn *i, struct dec_insn *out)
{
	const ZydisDecodedInstruction *z = &i->z;
	const ZydisDecodedOperand *op = i->op;

	project_control_flow(z, out);
	if (z->attributes & ZYDIS_ATTRIB_HAS_LOCK)
		out->flags |= DEC_F_ATOMIC;
	if (is_rep(z) && z->meta.category == ZYDIS_CATEGORY_STRINGOP)
		out->flags |= DEC_F_REP;
	out->writes = insn_writes(i);
	for (unsigned k = 0; k < z->operand_count; k++)
		add_mem(z, &op[k], out);
	/* xchg with memory locks by itself */
	if (z->mnemonic == ZYDIS_MNEMONIC_XCHG && out->mem_cnt)
		out->flags |= DEC_F_ATOMIC;
	stack_effect(z, op, out);
	effect_of(z, op, out);
	out->store_src = store_source(z, op, out);
	out->compared = DEC_NOREG;
	if (z->mnemonic == ZYDIS_MNEMONIC_CMP && op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		out->compared = gpr_of(op[0].reg.value);
		out->compared_to = op[1].imm.value.s;
	}
	classify_work(z, op, out);
	if (out->flags & DEC_F_KNOWN_SP)
		out->writes &= ~(1u << WREG_SP);
	if (insn_is_xsave(z))
		out->flags |= DEC_F_MEM_OTHER;
	if (out->flags & DEC_F_SYSCALL)
		out->writes |= 1u << WREG_AX | 1u << WREG_CX | 1u << WREG_R11;
}

int dec_decode_flow(const uint8_t *bytes, size_t len, struct dec_insn *out)
{
	ZydisDecodedInstruction z;
	int err = insn_decode_head(bytes, len, &z);

	out->flags = 0;
	out->len = 0;
	out->target = 0;
	if (!err)
		project_control_flow(&z, out);
	return err;
}

int dec_decode(const uint8_t *bytes, size_t len, struct dec_insn *out)
{
	struct insn i;
	int err = insn_decode(bytes, len, &i);

	memset(out, 0, sizeof(*out));
	if (!err)
		project_effects(&i, out);
	return err;
}
