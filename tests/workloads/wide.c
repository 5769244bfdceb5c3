// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two hundred functions that all take part: a ternary tree of calls, six deep, in which each function
 * works on its own piece of a buffer and on the piece of the function before it, with constants and a
 * loop length of its own. No function has more than a few percent of the time, stacks are of all depths.
 */
#include "work.h"

#define PIECE 512
#define FUNCTIONS 200

static uint32_t pieces[FUNCTIONS][PIECE];

static uint32_t call(unsigned which, uint32_t v);

#define FUNCTION(n)                                                                                                    \
	STEP static uint32_t f##n(uint32_t v)                                                                          \
	{                                                                                                              \
		for (unsigned i = 0; i < 64 + (n)*37 % PIECE; i++)                                                     \
			pieces[n][i % PIECE] = v =                                                                     \
				(v ^ pieces[((n) + FUNCTIONS - 1) % FUNCTIONS][i % PIECE]) * (2654435761u + 2 * (n)) + \
				(v >> (1 + (n) % 15));                                                                 \
		for (unsigned child = 3 * (n) + 1; child <= 3 * (n) + 3 && child < FUNCTIONS; child++)                 \
			v += call(child, v);                                                                           \
		return v;                                                                                              \
	}
/* The formatter never comes to rest on lists of macros. */
/* clang-format off */
#define TEN(t)                                                                                               \
	X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define ALL                                                                                                  \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)                                                    \
	TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)                                       \
	TEN(10) TEN(11) TEN(12) TEN(13) TEN(14) TEN(15) TEN(16) TEN(17) TEN(18) TEN(19)
#define X(n) FUNCTION(n)
ALL
#undef X
/* clang-format on */
#define X(n) f##n,
	static uint32_t (*const functions[FUNCTIONS])(uint32_t v) = { ALL };
#undef X

static uint32_t call(unsigned which, uint32_t v)
{
	return functions[which](v);
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 40);
	uint64_t digest;

	do {
		digest = 0;
		memset(pieces, 0, sizeof(pieces));
		for (unsigned long turn = 0; turn < w.size; turn++)
			digest = digest * 31 + f0((uint32_t)turn + 1);
	} while (work_more(&w, digest));
	return work_done(&w);
}
