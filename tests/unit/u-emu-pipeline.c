// SPDX-License-Identifier: GPL-2.0-or-later
/* The model of a processor: what waits for what, on code whose speed is known from its dataflow. */
#include <stdlib.h>
#include <string.h>

#include "emu/emu_pipeline.h"
#include "unit/unit.h"

#define MOST 16

struct line {
	uint8_t bytes[16];
	uint64_t addr; /* 0: touches nothing */
	bool store;
};

struct code {
	struct emu_insn insn[MOST];
	struct emu_needs needs[MOST];
	const struct line *line;
	unsigned lines;
};

static void decode(struct code *c, const struct line *line, unsigned lines)
{
	c->line = line;
	c->lines = lines;
	for (unsigned i = 0; i < lines; i++) {
		assert_int_equal(emu_decode(line[i].bytes, sizeof(line[i].bytes), &c->insn[i]), 0);
		emu_needs_of(&c->insn[i], &c->needs[i]);
	}
}

/* Cycles of one round, of many. Each touches memory `stride` bytes further; a jump in it is taken as `way` says. */
static double round_of(struct emu_pipeline *p, const struct code *c, unsigned rounds, uint64_t stride,
		       bool (*way)(unsigned round))
{
	uint64_t units = 0;

	emu_pipeline_begin(p);
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t ip = 0x401000;

		for (unsigned i = 0; i < c->lines; i++) {
			struct emu_place place = { c->line[i].addr + r * stride, c->line[i].store };
			struct emu_step s = { .insn = &c->insn[i],
					      .needs = &c->needs[i],
					      .ip = ip,
					      .to = ip + c->insn[i].len,
					      .place = &place,
					      .places = c->line[i].addr != 0 };

			if ((c->insn[i].op == EMU_OP_JCC || c->insn[i].op == EMU_OP_JMP) && way(r))
				s.to += 0x40;
			units += emu_pipeline_step(p, &s);
			ip += c->insn[i].len;
		}
	}
	return (double)units / EMU_CYCLE / rounds;
}

static bool never(unsigned round)
{
	return round > UINT32_MAX - 1;
}

static bool by_turns(unsigned round)
{
	return round % 2;
}

static bool by_chance(unsigned round)
{
	uint64_t x = (round + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	return (x ^ x >> 32) & 1;
}

static double alone(const struct line *line, unsigned lines, uint64_t stride, bool (*way)(unsigned round))
{
	struct emu_pipeline *p = emu_pipeline_new();
	struct code c;
	double cycles;

	assert_non_null(p);
	decode(&c, line, lines);
	cycles = round_of(p, &c, 20000, stride, way);
	emu_pipeline_free(p);
	return cycles;
}
#define CYCLES_OF(...)                                                                                                 \
	alone((const struct line[]){ __VA_ARGS__ },                                                                    \
	      sizeof((const struct line[]){ __VA_ARGS__ }) / sizeof(struct line), 0, never)
#define NEARLY(a, b) assert_true((a) > 0.97 * (b) && (a) < 1.03 * (b))

#define ADD_AX_1                                                                                                       \
	{                                                                                                              \
		{ 0x48, 0x83, 0xc0, 0x01 }, 0, false                                                                   \
	} /* add $1,%rax */
#define ADD_BX_1                                                                                                       \
	{                                                                                                              \
		{ 0x48, 0x83, 0xc3, 0x01 }, 0, false                                                                   \
	}
#define ADD_CX_1                                                                                                       \
	{                                                                                                              \
		{ 0x48, 0x83, 0xc1, 0x01 }, 0, false                                                                   \
	}
#define ADD_DX_1                                                                                                       \
	{                                                                                                              \
		{ 0x48, 0x83, 0xc2, 0x01 }, 0, false                                                                   \
	}

TEST(test_dataflow)
{
	static const struct line locked[] = { { { 0xf0, 0x48, 0x0f, 0xc1, 0x03 }, 0x7000, true },
					      { { 0x31, 0xc0 }, 0, false } };

	/* four that need nothing of each other in a cycle; one after the other otherwise */
	NEARLY(CYCLES_OF(ADD_AX_1, ADD_BX_1, ADD_CX_1, ADD_DX_1), 1);
	NEARLY(CYCLES_OF(ADD_AX_1, ADD_AX_1, ADD_AX_1, ADD_AX_1), 4);
	/* imul %rax,%rax; the same with the chain cut by xor %eax,%eax */
	NEARLY(CYCLES_OF({ { 0x48, 0x0f, 0xaf, 0xc0 }, 0, false }), 3);
	NEARLY(CYCLES_OF({ { 0x48, 0x0f, 0xaf, 0xc0 }, 0, false }, { { 0x31, 0xc0 }, 0, false }), 0.5);
	/* adc %rbx,%rbx and sbb %rcx,%rcx are tied by the carry */
	NEARLY(CYCLES_OF({ { 0x48, 0x11, 0xdb }, 0, false }, { { 0x48, 0x19, 0xc9 }, 0, false }), 2);
	/* addsd %xmm1,%xmm0 and mulsd %xmm0,%xmm0 wait for each other, on other registers they do not */
	NEARLY(CYCLES_OF({ { 0xf2, 0x0f, 0x58, 0xc1 }, 0, false }, { { 0xf2, 0x0f, 0x59, 0xc0 }, 0, false }), 8);
	NEARLY(CYCLES_OF({ { 0xf2, 0x0f, 0x58, 0xc1 }, 0, false }, { { 0xf2, 0x0f, 0x59, 0xd2 }, 0, false }), 4);
	/* push %rax, pop %rbx: the stack pointer is no chain, the value goes through memory */
	assert_true(CYCLES_OF({ { 0x50 }, 0x7000, true }, { { 0x5b }, 0x7000, false }) < 1);
	/* div %rcx has one unit: mov $1,%eax; xor %edx,%edx; div %ecx */
	NEARLY(CYCLES_OF({ { 0xb8, 1, 0, 0, 0 }, 0, false }, { { 0x31, 0xd2 }, 0, false },
			 { { 0xf7, 0xf1 }, 0, false }),
	       6);
	/* lock xadd %rax,(%rbx), each time of another place: everything waits */
	assert_true(alone(locked, 2, 64, never) > 15);
}

TEST(test_memory)
{
	static const struct line chase[] = { { { 0x48, 0x8b, 0x00 }, 0x100000, false } }; /* mov (%rax),%rax */
	static const struct line other[] = { { { 0x48, 0x8b, 0x03 }, 0x100000, false } }; /* mov (%rbx),%rax */
	static const struct line through[] = { { { 0x48, 0x89, 0x03 }, 0x7000, true },    /* mov %rax,(%rbx) */
					       { { 0x48, 0x8b, 0x03 }, 0x7000, false } };
	double near = alone(chase, 1, 0, never), far = alone(chase, 1, 4096 + 64, never), many;

	NEARLY(near, 4);
	/* each round another line, none of which comes again: as far as memory, one after the other */
	assert_true(far > 10 * near);
	/* which others hide, as far as the window reaches */
	many = alone(other, 1, 4096 + 64, never);
	NEARLY(many, 80.0 / 256);
	/* what is stored and read at once: a round waits for the one before it */
	NEARLY(alone(through, 2, 0, never), 4);
	/* a working set of 256 KB: the second cache has it */
	{
		struct emu_pipeline *p = emu_pipeline_new();
		struct code c;
		double middle;

		assert_non_null(p);
		decode(&c, chase, 1);
		round_of(p, &c, 4096, 64, never);
		middle = round_of(p, &c, 4096, 64, never);
		assert_true(middle > 2 * near && middle < far / 2);
		emu_pipeline_free(p);
	}
}

TEST(test_branches)
{
	/* test %eax,%eax; jne; three that need nothing */
	static const struct line body[] = {
		{ { 0x85, 0xc0 }, 0, false }, { { 0x75, 0x40 }, 0, false }, ADD_BX_1, ADD_CX_1, ADD_DX_1
	};
	/* jmp *%rax */
	static const struct line indirect[] = { { { 0xff, 0xe0 }, 0, false }, ADD_BX_1 };
	double sure = alone(body, 5, 0, never), turns = alone(body, 5, 0, by_turns),
	       chance = alone(body, 5, 0, by_chance);

	NEARLY(sure, 5.0 / 4);
	/* a pattern is learnt, chance is not: half of them cost a restart */
	NEARLY(turns, sure);
	assert_true(chance > 5 && chance < 12);
	NEARLY(alone(indirect, 2, 0, never), 1);
	/* where it went before tells where it goes, but for chance */
	NEARLY(alone(indirect, 2, 0, by_turns), 1);
	assert_true(alone(indirect, 2, 0, by_chance) > 5);
}

/* What string instructions move takes its time, and one that moves nothing its start. */
TEST(test_repeats)
{
	static const struct line movs[] = { { { 0xf3, 0xa4 }, 0, false } };
	struct emu_pipeline *p = emu_pipeline_new();
	struct code c;
	struct emu_step s = { .insn = &c.insn[0], .needs = &c.needs[0], .ip = 0x401000, .to = 0x401002 };
	uint32_t little, much;

	assert_non_null(p);
	decode(&c, movs, 1);
	emu_pipeline_begin(p);
	s.repeats = 1;
	little = emu_pipeline_step(p, &s);
	s.repeats = 16000;
	much = emu_pipeline_step(p, &s);
	assert_true(little > 10 * EMU_CYCLE && little < 40 * EMU_CYCLE);
	assert_true(much > 1000 * EMU_CYCLE && much < 1100 * EMU_CYCLE);
	emu_pipeline_free(p);
}

/* Any instruction whatever, at any address: the end never goes back, nothing is read that is not there, and short
 * lists of registers say what bits say. */
TEST(test_anything)
{
	struct emu_pipeline *p = emu_pipeline_new(), *by_bits = emu_pipeline_new();
	uint32_t random = 1, took;

	assert_true(p && by_bits);
	for (unsigned n = 0; n < 200000; n++) {
		struct emu_place place[EMU_PLACES];
		struct emu_insn insn;
		struct emu_needs needs;
		struct emu_step s = { .insn = &insn, .needs = &needs, .place = place, .places = n % (EMU_PLACES + 1) };
		uint8_t bytes[15];

		for (unsigned i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
		if (emu_decode(bytes, sizeof(bytes), &insn))
			continue;
		for (unsigned i = 0; i < EMU_PLACES; i++)
			place[i] = (struct emu_place){ (uint64_t)random << 32 ^ n * 977u, i % 2 };
		emu_needs_of(&insn, &needs);
		s.ip = random;
		s.to = n % 3 ? random + insn.len : n;
		s.repeats = insn.rep ? n : 0;
		took = emu_pipeline_step(p, &s);
		assert_true(took < 1u << 22);
		assert_int_equal(took, emu_pipeline_any_step(by_bits, &s));
		if (!(n % 1000)) {
			emu_pipeline_begin(p);
			emu_pipeline_begin(by_bits);
		}
	}
	emu_pipeline_free(p);
	emu_pipeline_free(by_bits);
}
