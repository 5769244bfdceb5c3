// SPDX-License-Identifier: GPL-2.0-or-later
#include "emu/emu_quick.h"

#include "emu/emu_memory.h"

#define BY_RULE (-1) /* what emu_quick_fn returns */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define STATE struct emu_state *s, struct emu_memory *m, const struct emu_quick *q

/* Where the operands lie: the destination first; R: register, I: in the code, M: memory. */
enum emu_quick_form { RR, RI, RM, MR, MI };

ALWAYS_INLINE bool has_what_it_needs(const struct emu_state *s, const struct emu_quick *q)
{
	return (s->known & q->need) == q->need;
}

ALWAYS_INLINE uint64_t quick_address(const struct emu_state *s, const struct emu_quick *q)
{
	uint64_t a = (uint64_t)q->displacement + s->r[q->base];

	return q->index == EMU_NOREG ? a : a + s->r[q->index] * q->scale;
}

ALWAYS_INLINE void set_register(struct emu_state *s, unsigned reg, unsigned w, uint64_t v)
{
	if (w >= 4)
		s->r[reg] = w == 4 ? (uint32_t)v : v;
	else
		s->r[reg] = (s->r[reg] & ~width_mask(w)) | (v & width_mask(w));
	s->known |= 1u << reg;
}

/* As high as they go, so that nobody needs the width to compare them. */
ALWAYS_INLINE void keep_flags(struct emu_state *s, enum emu_lazy of, unsigned w, uint64_t a, uint64_t b, uint64_t r)
{
	unsigned shift = 64 - 8 * w;

	s->lazy = (uint8_t)of;
	s->lazy_width = (uint8_t)w;
	s->lazy_a = a << shift;
	s->lazy_b = b << shift;
	s->lazy_r = r << shift;
}

ALWAYS_INLINE int arithmetic(STATE, enum emu_op op, enum emu_quick_form form, unsigned w)
{
	uint64_t mask = width_mask(w), addr = 0, there = 0, a, b, r;

	if (!has_what_it_needs(s, q))
		return BY_RULE;
	if (form >= RM) {
		addr = quick_address(s, q);
		if (!emu_mem_get(m, addr, w, &there))
			return BY_RULE;
	}
	a = form >= MR ? there : s->r[q->dst] & mask;
	b = form == RM ? there : form == RI || form == MI ? q->value : s->r[q->src] & mask;
	switch (op) {
	case EMU_OP_ADD: r = a + b; break;
	case EMU_OP_SUB:
	case EMU_OP_CMP: r = a - b; break;
	case EMU_OP_AND:
	case EMU_OP_TEST: r = a & b; break;
	case EMU_OP_OR: r = a | b; break;
	default: r = a ^ b; break;
	}
	keep_flags(s, op == EMU_OP_ADD ? EMU_LAZY_ADD : op <= EMU_OP_CMP ? EMU_LAZY_SUB : EMU_LAZY_LOGIC, w, a, b, r);
	if (op == EMU_OP_CMP || op == EMU_OP_TEST)
		return 0;
	if (form >= MR)
		emu_mem_put(m, addr, w, r);
	else
		set_register(s, q->dst, w, r);
	return 0;
}

/* Of a register with itself: whatever it was. */
static int zero_xor(STATE)
{
	keep_flags(s, EMU_LAZY_LOGIC, 8, 0, 0, 0);
	set_register(s, q->dst, 8, 0);
	return 0;
}

static int zero_sub(STATE)
{
	keep_flags(s, EMU_LAZY_SUB, 8, 0, 0, 0);
	set_register(s, q->dst, 8, 0);
	return 0;
}

/* to, from: bytes of each; the rest of the destination becomes zero, or its sign. */
ALWAYS_INLINE int move(STATE, enum emu_quick_form form, unsigned to, unsigned from, bool extend)
{
	uint64_t v;

	if (!has_what_it_needs(s, q))
		return BY_RULE;
	if (form == RM) {
		if (!emu_mem_get(m, quick_address(s, q), from, &v))
			return BY_RULE;
	} else {
		v = form == RI || form == MI ? q->value : s->r[q->src] & width_mask(from);
	}
	if (extend)
		v = (uint64_t)extended(v, from);
	if (form >= MR)
		return emu_mem_put(m, quick_address(s, q), to, v) ? 0 : BY_RULE;
	set_register(s, q->dst, to, v);
	return 0;
}

ALWAYS_INLINE int address_of(STATE, unsigned w)
{
	if (!has_what_it_needs(s, q))
		return BY_RULE;
	set_register(s, q->dst, w, quick_address(s, q));
	return 0;
}

/* By as many bits as it has, at most, and at least one. */
ALWAYS_INLINE int shift(STATE, enum emu_op op, unsigned w)
{
	uint64_t a = s->r[q->dst] & width_mask(w), r;

	if (!has_what_it_needs(s, q))
		return BY_RULE;
	r = op == EMU_OP_SHL   ? a << q->value
	    : op == EMU_OP_SHR ? a >> q->value
			       : (uint64_t)(extended(a, w) >> q->value);
	s->lazy = op == EMU_OP_SHL ? EMU_LAZY_SHL : op == EMU_OP_SHR ? EMU_LAZY_SHR : EMU_LAZY_SAR;
	s->lazy_width = (uint8_t)w;
	s->lazy_a = a;
	s->lazy_b = q->value;
	s->lazy_r = r << (64 - 8 * w);
	set_register(s, q->dst, w, r);
	return 0;
}

static int push_register(STATE)
{
	if (!has_what_it_needs(s, q) || !emu_mem_put(m, s->r[WREG_SP] - 8, 8, s->r[q->src]))
		return BY_RULE;
	s->r[WREG_SP] -= 8;
	return 0;
}

static int pop_register(STATE)
{
	uint64_t v;

	if (!has_what_it_needs(s, q) || !emu_mem_get(m, s->r[WREG_SP], 8, &v))
		return BY_RULE;
	s->r[WREG_SP] += 8;
	set_register(s, q->dst, 8, v);
	return 0;
}

static int nothing(STATE)
{
	return 0;
}

/* 0, 1; -1: unknown. Most branches ask for what the instruction before left. */
ALWAYS_INLINE int condition(struct emu_state *s, unsigned cond)
{
	bool logic = s->lazy == EMU_LAZY_LOGIC, v;

	if (s->lazy == EMU_LAZY_NONE)
		return emu_condition(s, (uint8_t)cond);
	if (cond >> 1 == 2) {
		v = !s->lazy_r;
	} else if (cond >> 1 == 4) {
		v = s->lazy_r >> 63;
	} else if (s->lazy != EMU_LAZY_SUB && !logic) {
		emu_settle_flags(s);
		return emu_condition(s, (uint8_t)cond);
	} else {
		switch (cond >> 1) {
		case 1: v = !logic && s->lazy_a < s->lazy_b; break;
		case 3: v = logic ? !s->lazy_r : s->lazy_a <= s->lazy_b; break;
		case 6: v = logic ? s->lazy_r >> 63 : (int64_t)s->lazy_a < (int64_t)s->lazy_b; break;
		case 7: v = logic ? (int64_t)s->lazy_r <= 0 : (int64_t)s->lazy_a <= (int64_t)s->lazy_b; break;
		default: emu_settle_flags(s); return emu_condition(s, (uint8_t)cond);
		}
	}
	return v != (cond & 1);
}

ALWAYS_INLINE int set_by_condition(STATE, unsigned cond)
{
	int v = has_what_it_needs(s, q) ? condition(s, cond) : -1;

	if (v < 0)
		return BY_RULE;
	set_register(s, q->dst, 1, (uint64_t)v);
	return 0;
}

/* Both are read, whichever it takes. */
ALWAYS_INLINE int move_by_condition(STATE, unsigned cond)
{
	int v = has_what_it_needs(s, q) ? condition(s, cond) : -1;
	uint64_t mask = q->value;

	if (v < 0)
		return BY_RULE;
	s->r[q->dst] = s->r[v ? q->src : q->dst] & mask;
	return 0;
}

static int jump(STATE)
{
	return 1;
}

/* ---- a function of each ---- */

#define OF_CONDITION(n)                                                                                                \
	static int jump_##n(STATE)                                                                                     \
	{                                                                                                              \
		return condition(s, n);                                                                                \
	}                                                                                                              \
	static int set_##n(STATE)                                                                                      \
	{                                                                                                              \
		return set_by_condition(s, m, q, n);                                                                   \
	}                                                                                                              \
	static int move_##n(STATE)                                                                                     \
	{                                                                                                              \
		return move_by_condition(s, m, q, n);                                                                  \
	}
#define CONDITIONS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
CONDITIONS(OF_CONDITION)

#define ARITHMETIC(op, form, w)                                                                                        \
	static int op##_##form##_##w(STATE)                                                                            \
	{                                                                                                              \
		return arithmetic(s, m, q, EMU_OP_##op, form, w);                                                      \
	}
#define OF_FORMS(X, op)                                                                                                \
	OF_WIDTHS(X, op, RR) OF_WIDTHS(X, op, RI) OF_WIDTHS(X, op, RM) OF_WIDTHS(X, op, MR) OF_WIDTHS(X, op, MI)
#define OF_WIDTHS(X, op, form) X(op, form, 1) X(op, form, 2) X(op, form, 4) X(op, form, 8)
#define OPERATIONS(Y)                                                                                                  \
	Y(ARITHMETIC, ADD)                                                                                             \
	Y(ARITHMETIC, SUB)                                                                                             \
	Y(ARITHMETIC, CMP) Y(ARITHMETIC, AND) Y(ARITHMETIC, TEST) Y(ARITHMETIC, OR) Y(ARITHMETIC, XOR)
OPERATIONS(OF_FORMS)

#define MOVE(op, form, to, from)                                                                                       \
	static int op##_##form##_##to##_##from(STATE)                                                                  \
	{                                                                                                              \
		return move(s, m, q, form, to, from, EMU_OP_##op == EMU_OP_MOVSX);                                     \
	}
#define MOVES_ALIKE(X, form) X(MOV, form, 1, 1) X(MOV, form, 2, 2) X(MOV, form, 4, 4) X(MOV, form, 8, 8)
#define EXTENSIONS(X, op, form)                                                                                        \
	X(op, form, 4, 1) X(op, form, 4, 2) X(op, form, 8, 1) X(op, form, 8, 2) X(op, form, 8, 4)
#define MOVES(X)                                                                                                       \
	MOVES_ALIKE(X, RR)                                                                                             \
	MOVES_ALIKE(X, RI)                                                                                             \
	MOVES_ALIKE(X, RM)                                                                                             \
	MOVES_ALIKE(X, MR)                                                                                             \
	MOVES_ALIKE(X, MI)                                                                                             \
	EXTENSIONS(X, MOV, RR) EXTENSIONS(X, MOV, RM) EXTENSIONS(X, MOVSX, RR) EXTENSIONS(X, MOVSX, RM)
MOVES(MOVE)

#define SHIFT(op, w)                                                                                                   \
	static int op##_##w(STATE)                                                                                     \
	{                                                                                                              \
		return shift(s, m, q, EMU_OP_##op, w);                                                                 \
	}
#define SHIFTS(X) X(SHL, 4) X(SHL, 8) X(SHR, 4) X(SHR, 8) X(SAR, 4) X(SAR, 8)
SHIFTS(SHIFT)

static int lea_4(STATE)
{
	return address_of(s, m, q, 4);
}

static int lea_8(STATE)
{
	return address_of(s, m, q, 8);
}

/* ---- which it is ---- */

static bool plain_register(const struct emu_operand *o)
{
	return o->kind == EMU_K_REG && o->reg < WREG_IP;
}

/* One that a base and an index give; fs: is a base, too, where there is no other. */
static bool plain_address(const struct emu_insn *i, const struct emu_operand *o, struct emu_quick *q)
{
	bool segment = o->segment != EMU_NOREG;

	if (o->strange || o->narrow || (segment && o->reg != EMU_NOREG) || (!segment && o->reg == EMU_NOREG))
		return false;
	q->base = segment ? o->segment : o->reg;
	q->index = o->index;
	q->scale = o->scale;
	q->displacement = o->value + (q->base == WREG_IP ? i->len : 0);
	if (q->base != WREG_IP)
		q->need |= 1u << q->base;
	if (q->index != EMU_NOREG)
		q->need |= 1u << q->index;
	return true;
}

/* Where the two operands lie, MI + 1: elsewhere. What is read must be known. */
static enum emu_quick_form operands_form(const struct emu_insn *i, struct emu_quick *q, bool reads_first)
{
	const struct emu_operand *a = &i->o[0], *b = &i->o[1];

	if (plain_register(a)) {
		q->dst = a->reg;
		q->need |= reads_first ? 1u << a->reg : 0;
	} else if (a->kind != EMU_K_MEM || !plain_address(i, a, q)) {
		return MI + 1;
	}
	if (b->kind == EMU_K_IMM) {
		q->value = (uint64_t)b->value & width_mask(a->size);
		return a->kind == EMU_K_MEM ? MI : RI;
	}
	if (plain_register(b)) {
		q->src = b->reg;
		q->need |= 1u << b->reg;
		return a->kind == EMU_K_MEM ? MR : RR;
	}
	return a->kind != EMU_K_MEM && b->kind == EMU_K_MEM && plain_address(i, b, q) ? RM : MI + 1;
}

static emu_quick_fn *arithmetic_of(const struct emu_insn *i, struct emu_quick *q)
{
	static emu_quick_fn *const of[][MI + 1][4] = {
#define ROW(X, op)                                                                                                     \
	[EMU_OP_##op - EMU_OP_ADD] = { FUNCTIONS(op, RR), FUNCTIONS(op, RI), FUNCTIONS(op, RM), FUNCTIONS(op, MR),     \
				       FUNCTIONS(op, MI) },
#define FUNCTIONS(op, form) { op##_##form##_1, op##_##form##_2, op##_##form##_4, op##_##form##_8 }
		OPERATIONS(ROW)
	};
	bool itself = plain_register(&i->o[0]) && plain_register(&i->o[1]) && i->o[0].reg == i->o[1].reg;
	enum emu_quick_form form = operands_form(i, q, true);

	if (form > MI || i->o[0].size > 8 || __builtin_popcount(i->o[0].size) != 1 ||
	    (i->o[1].kind != EMU_K_IMM && i->o[0].size != i->o[1].size))
		return NULL;
	if (itself && i->o[0].size >= 4 && (i->op == EMU_OP_XOR || i->op == EMU_OP_SUB)) {
		q->need = 0;
		return i->op == EMU_OP_XOR ? zero_xor : zero_sub;
	}
	return of[i->op - EMU_OP_ADD][form][__builtin_ctz(i->o[0].size)];
}

static emu_quick_fn *move_of(const struct emu_insn *i, struct emu_quick *q)
{
	static const struct {
		uint8_t op, form, to, from;
		emu_quick_fn *run;
	} of[] = {
#define FUNCTION(op, form, to, from) { EMU_OP_##op, form, to, from, op##_##form##_##to##_##from },
		MOVES(FUNCTION)
	};
	enum emu_quick_form form = operands_form(i, q, i->o[0].size < 4);
	unsigned from = i->o[1].kind == EMU_K_IMM ? i->o[0].size : i->o[1].size;

	for (size_t k = 0; form <= MI && k < sizeof(of) / sizeof(of[0]); k++)
		if (of[k].op == i->op && of[k].form == form && of[k].to == i->o[0].size && of[k].from == from)
			return of[k].run;
	return NULL;
}

static emu_quick_fn *quick_shift(const struct emu_insn *i, struct emu_quick *q)
{
	static emu_quick_fn *const of[][2] = { { SHL_4, SHL_8 }, { SHR_4, SHR_8 }, { SAR_4, SAR_8 } };
	unsigned w = i->o[0].size;

	if (operands_form(i, q, true) != RI || w < 4)
		return NULL;
	q->value &= w == 8 ? 63 : 31;
	return q->value ? of[i->op - EMU_OP_SHL][w == 8] : NULL;
}

static emu_quick_fn *conditional_of(const struct emu_insn *i, struct emu_quick *q)
{
#define JUMPS(n) jump_##n,
#define SETS(n) set_##n,
#define CMOVS(n) move_##n,
	static emu_quick_fn *const jumps[] = { CONDITIONS(JUMPS) }, *const sets[] = { CONDITIONS(SETS) },
				   *const moves[] = { CONDITIONS(CMOVS) };

	switch (i->op) {
	case EMU_OP_JCC: return jumps[i->cond & 15];
	case EMU_OP_SETCC:
		if (!plain_register(&i->o[0]) || i->o[0].size != 1)
			return NULL;
		q->dst = i->o[0].reg;
		q->need = 1u << q->dst;
		return sets[i->cond & 15];
	default:
		if (operands_form(i, q, true) != RR || i->o[0].size < 4)
			return NULL;
		q->value = width_mask(i->o[0].size);
		return moves[i->cond & 15];
	}
}

static emu_quick_fn *on_stack_of(const struct emu_insn *i, struct emu_quick *q)
{
	if (i->width != 8 || !plain_register(&i->o[0]) || i->o[0].size != 8 || i->o[0].reg == WREG_SP)
		return NULL;
	q->need = 1u << WREG_SP;
	q->dst = q->src = i->o[0].reg;
	if (i->op == EMU_OP_POP)
		return pop_register;
	q->need |= 1u << q->src;
	return push_register;
}

static emu_quick_fn *lea_of(const struct emu_insn *i, struct emu_quick *q)
{
	struct emu_operand o = i->o[1];

	o.segment = EMU_NOREG;
	if (!plain_register(&i->o[0]) || i->o[0].size < 4 || o.kind != EMU_K_MEM || !plain_address(i, &o, q))
		return NULL;
	q->dst = i->o[0].reg;
	return i->o[0].size == 4 ? lea_4 : lea_8;
}

static emu_quick_fn *quick_function(const struct emu_insn *i, struct emu_quick *q)
{
	switch ((enum emu_op)i->op) {
	case EMU_OP_NOP: return nothing;
	case EMU_OP_MOV:
	case EMU_OP_MOVSX: return move_of(i, q);
	case EMU_OP_LEA: return lea_of(i, q);
	case EMU_OP_ADD:
	case EMU_OP_SUB:
	case EMU_OP_CMP:
	case EMU_OP_AND:
	case EMU_OP_TEST:
	case EMU_OP_OR:
	case EMU_OP_XOR: return arithmetic_of(i, q);
	case EMU_OP_SHL:
	case EMU_OP_SHR:
	case EMU_OP_SAR: return quick_shift(i, q);
	case EMU_OP_PUSH:
	case EMU_OP_POP: return on_stack_of(i, q);
	case EMU_OP_JCC:
	case EMU_OP_SETCC:
	case EMU_OP_CMOV: return conditional_of(i, q);
	case EMU_OP_JMP: return !i->ops || i->o[0].kind == EMU_K_IMM ? jump : NULL;
	default: return NULL;
	}
}

static int by_rule(STATE)
{
	return BY_RULE;
}

void emu_quick_of(const struct emu_insn *i, bool rule, struct emu_quick *out)
{
	emu_quick_fn *run;

	*out = (struct emu_quick){ .base = EMU_NOREG, .index = EMU_NOREG };
	run = rule ? NULL : quick_function(i, out);
	out->len = i->len;
	out->branch = i->op == EMU_OP_JCC || i->op == EMU_OP_JMP;
	if (out->branch)
		out->displacement = i->target;
	out->memory =
		run && i->op != EMU_OP_LEA && (out->base != EMU_NOREG || i->op == EMU_OP_PUSH || i->op == EMU_OP_POP);
	out->run = run ? run : by_rule;
}
