// SPDX-License-Identifier: GPL-2.0-or-later
#include "emu/emu_pipeline_step.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

/* Cycles, rounded from the instruction tables and optimisation guides of Intel (Skylake to Golden Cove) and AMD (Zen 2
 * to 4), which differ by a third. */
#define MULTIPLY CYCLES(3)
#define DIVIDE CYCLES(14) /* of 32 bits; of 64 bits 18 and more, taken for the same */
#define DIVIDER_BUSY CYCLES(6)
#define FLOAT CYCLES(4)
#define FLOAT_DIVIDE CYCLES(13)
#define TEXT CYCLES(10) /* strings compared as a whole */
#define CROSS CYCLES(3) /* between general and vector registers, or lanes */
#define LOCKED CYCLES(18)
#define UNKNOWN_RULE CYCLES(3)
#define PAUSED CYCLES(40)

/* Registers as bits: general ones, flags, masks, vectors. */
#define GENERAL(r) (1ull << (r))
#define FLAGS_BIT (1ull << 16)
#define MASK_AT 17
#define VECTOR_AT 25

/* ---- what an instruction needs ---- */

static uint64_t operand_bit(const struct emu_operand *o)
{
	switch (o->kind) {
	case EMU_K_REG:
	case EMU_K_HIGH: return o->reg < 16 ? GENERAL(o->reg) : 0;
	case EMU_K_VEC: return 1ull << (VECTOR_AT + (o->reg & 31));
	case EMU_K_MASK: return 1ull << (MASK_AT + (o->reg & 7));
	default: return 0;
	}
}

static uint64_t address_bits(const struct emu_operand *o)
{
	return (o->reg < 16 ? GENERAL(o->reg) : 0) | (o->index < 16 ? GENERAL(o->index) : 0);
}

/* By the name, as far as latencies differ by more than a cycle or two. */
static uint16_t vector_latency(const struct emu_insn *i, bool general)
{
	static const struct {
		const char *part;
		uint16_t latency;
	} rule[] = {
		{ "div", FLOAT_DIVIDE }, { "sqrt", FLOAT_DIVIDE }, { "cmpistr", TEXT }, { "cmpestr", TEXT },
		{ "movmsk", CROSS },     { "test", CROSS },        { "comis", CROSS },  { "pmul", FLOAT },
		{ "pmadd", FLOAT },      { "psad", FLOAT },        { "cvt", FLOAT },    { "aes", FLOAT },
		{ "mulp", FLOAT },       { "muls", FLOAT },        { "addp", FLOAT },   { "adds", FLOAT },
		{ "subp", FLOAT },       { "subs", FLOAT },        { "fmadd", FLOAT },  { "fmsub", FLOAT },
	};
	const char *name = ZydisMnemonicGetString((ZydisMnemonic)i->mnemonic);

	for (size_t k = 0; name && k < sizeof(rule) / sizeof(rule[0]); k++)
		if (strstr(name, rule[k].part))
			return rule[k].latency;
	if (general)
		return CROSS;
	return name && strstr(name, "mov") ? 0 : EMU_CYCLE;
}

static uint16_t latency_of(const struct emu_insn *i, bool general)
{
	switch ((enum emu_op)i->op) {
	case EMU_OP_VECTOR: return vector_latency(i, general);
	case EMU_OP_NOP:
	case EMU_OP_POP:
	case EMU_OP_MOV: return 0; /* renamed, or the load alone */
	case EMU_OP_IMUL:
	case EMU_OP_IMUL_WIDE:
	case EMU_OP_MUL:
	case EMU_OP_MULX:
	case EMU_OP_BSF:
	case EMU_OP_BSR: return MULTIPLY;
	case EMU_OP_DIV:
	case EMU_OP_IDIV: return DIVIDE;
	case EMU_OP_PAUSE: return PAUSED;
	case EMU_OP_UNKNOWN: return UNKNOWN_RULE;
	default: return EMU_CYCLE;
	}
}

/* Not named among the operands. */
static uint64_t hidden_from(const struct emu_insn *i)
{
	switch ((enum emu_op)i->op) {
	case EMU_OP_JCC:
	case EMU_OP_SETCC:
	case EMU_OP_CMOV:
	case EMU_OP_ADC:
	case EMU_OP_SBB: return FLAGS_BIT;
	case EMU_OP_DIV:
	case EMU_OP_IDIV: return GENERAL(WREG_AX) | GENERAL(WREG_DX);
	case EMU_OP_IMUL_WIDE:
	case EMU_OP_MUL:
	case EMU_OP_CMPXCHG: return GENERAL(WREG_AX);
	case EMU_OP_MULX: return GENERAL(WREG_DX);
	case EMU_OP_MOVS:
	case EMU_OP_CMPS: return GENERAL(WREG_SI) | GENERAL(WREG_DI) | GENERAL(WREG_CX);
	case EMU_OP_STOS:
	case EMU_OP_SCAS: return GENERAL(WREG_AX) | GENERAL(WREG_DI) | GENERAL(WREG_CX);
	default: return 0;
	}
}

/* Zero whatever was in the register. */
static bool makes_zero(const struct emu_insn *i)
{
	return (i->op == EMU_OP_XOR || i->op == EMU_OP_SUB) && i->ops >= 2 && i->o[0].kind == EMU_K_REG &&
	       i->o[1].kind == EMU_K_REG && i->o[0].reg == i->o[1].reg;
}

static bool list_bits(uint64_t bits, uint8_t *list, unsigned most, uint8_t filler)
{
	memset(list, filler, most);
	for (unsigned n = 0; bits; bits &= bits - 1, n++) {
		if (n == most)
			return false;
		list[n] = (uint8_t)__builtin_ctzll(bits);
	}
	return true;
}

static void list_needs(struct emu_needs *n, bool rep)
{
	struct emu_listed *l = &n->listed;
	bool from = list_bits(n->from, l->from, EMU_LIST, NEVER_WRITTEN),
	     address = list_bits(n->address_from, l->address, EMU_LIST, NEVER_WRITTEN),
	     to = list_bits(n->to, l->to, EMU_LIST, NEVER_READ);

	l->latency = n->latency;
	l->all = from && address && to && !n->busy && !n->alone && !rep;
}

static uint8_t way_of(const struct emu_insn *i)
{
	if (i->op == EMU_OP_JCC)
		return WAY_OF_TWO;
	/* straight on, by an address in the code, or a return, which is remembered */
	return (i->op == EMU_OP_JMP || i->op == EMU_OP_CALL) && i->ops && i->o[0].kind != EMU_K_IMM ? WAY_ANYWHERE
												    : WAY_KNOWN;
}

void emu_needs_of(const struct emu_insn *i, struct emu_needs *out)
{
	bool general = false, vector = false, stores = false;

	memset(out, 0, sizeof(*out));
	for (unsigned k = 0; k < i->ops; k++) {
		const struct emu_operand *o = &i->o[k];

		general |= o->kind == EMU_K_REG;
		vector |= o->kind == EMU_K_VEC;
		if (o->kind == EMU_K_MEM && i->op != EMU_OP_NOP) {
			*(i->op == EMU_OP_LEA ? &out->from : &out->address_from) |= address_bits(o);
			out->listed.loads |= i->op != EMU_OP_LEA && o->read;
			stores |= i->op != EMU_OP_LEA && o->written;
		} else if (o->read || (i->width && i->width < 4)) { /* a part of a register leaves the rest */
			out->from |= operand_bit(o);
		}
	}
	if (i->mask)
		out->from |= 1ull << (MASK_AT + (i->mask & 7));
	out->from |= hidden_from(i);
	out->to = (i->gpr_written & 0xffff) | (uint64_t)i->mask_written << MASK_AT | i->vec_written << VECTOR_AT |
		  (i->flags_written & EMU_ARITH ? FLAGS_BIT : 0);
	out->latency = latency_of(i, general && vector);
	out->busy = i->op == EMU_OP_DIV || i->op == EMU_OP_IDIV || out->latency == FLOAT_DIVIDE ? DIVIDER_BUSY : 0;
	out->listed.loads |= i->op == EMU_OP_POP || i->op == EMU_OP_RET;
	if (makes_zero(i))
		out->from = out->latency = 0;
	/* the decoder drops the prefix: what exchanges or adds in memory is nearly always locked */
	out->alone = stores && (i->op == EMU_OP_XCHG || i->op == EMU_OP_XADD || i->op == EMU_OP_CMPXCHG);
	if (out->alone)
		out->latency = LOCKED;
	out->listed.way = way_of(i);
	out->listed.len = i->len;
	list_needs(out, i->rep);
}

/* ---- what is under way ---- */

struct emu_pipeline *emu_pipeline_new(void)
{
	return calloc(1, sizeof(struct emu_pipeline));
}

void emu_pipeline_free(struct emu_pipeline *p)
{
	free(p);
}

/* Its clock goes on, so that what was before has ended. */
void emu_pipeline_begin(struct emu_pipeline *p)
{
	p->issue = p->divider = p->end;
	p->history = p->path = 0;
}

static uint64_t all_there(const struct emu_pipeline *p, uint64_t registers, uint64_t at)
{
	for (; registers; registers &= registers - 1)
		at = later(at, p->ready[__builtin_ctzll(registers)]);
	return at;
}

static uint64_t loaded(struct emu_pipeline *p, const struct emu_step *s, uint64_t issued)
{
	uint64_t begin = all_there(p, s->needs->address_from, issued), end = begin + NEAR;

	for (unsigned k = 0; k < s->places; k++)
		if (!s->place[k].store)
			end = later(end, load_end(p, s->place[k].addr, begin));
	return end;
}

static void store(struct emu_pipeline *p, const struct emu_step *s, uint64_t end)
{
	for (unsigned k = 0; k < s->places; k++)
		if (s->place[k].store)
			store_end(p, s->place[k].addr, end);
}

static uint64_t repeat_time(const struct emu_step *s)
{
	return s->repeats ? REPEAT_START + s->repeats * s->insn->width * EMU_CYCLE / EMU_REPEAT_BYTES : 0;
}

uint32_t emu_pipeline_any_step(struct emu_pipeline *p, const struct emu_step *s)
{
	const struct emu_needs *n = s->needs;
	uint64_t *slot = &p->ends[p->count++ & (WINDOW - 1)], before = p->end, begin, end;

	p->issue = later(p->issue + 1, *slot);
	begin = all_there(p, n->from, p->issue);
	if (n->listed.loads)
		begin = later(begin, loaded(p, s, p->issue));
	if (n->busy) {
		begin = later(begin, p->divider);
		p->divider = begin + n->busy;
	}
	if (n->alone)
		begin = later(begin, p->end);
	end = begin + n->latency + repeat_time(s);
	for (uint64_t to = n->to; to; to &= to - 1)
		p->ready[__builtin_ctzll(to)] = end;
	store(p, s, end);
	p->end = *slot = later(p->end, end);
	if (n->alone)
		p->issue = p->end;
	if (!way_foreseen(p, &n->listed, s))
		p->issue = later(p->issue, end + MISSED);
	return (uint32_t)(p->end - before);
}

uint32_t emu_pipeline_step(struct emu_pipeline *p, const struct emu_step *s)
{
	return pipeline_step(p, &s->needs->listed, s);
}
