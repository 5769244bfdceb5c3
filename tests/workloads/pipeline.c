// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Four stages over two buffers that are used again and again. Planted flow per item of N words
 * (SIZE = N, 32 items a round; non-stack, in bytes):
 *
 *   produce -> transform 4N, transform -> scale 4N (in place), scale -> consume 4N,
 *   scale -> check N/4 (every 16th word), make_table -> transform 4N (one entry per word).
 *
 * The table is written once, before the first round: attached to later, it is (before attach).
 */
#include "work.h"

#define ITEMS 32

static uint32_t *raw, *cooked, table[256];

STEP static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++)
		table[i] = i * 2654435761u ^ i << 7;
}

STEP static void produce(size_t n, uint32_t item)
{
	uint32_t x = item * 747796405u + 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		raw[i] = x;
	}
}

STEP static void transform(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = raw[i];

		cooked[i] = v ^ table[v >> 24];
	}
}

STEP static void scale(size_t n)
{
	for (size_t i = 0; i < n; i++)
		cooked[i] = cooked[i] * 3 + 1;
}

STEP static uint64_t consume(size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cooked[i];
	return sum;
}

STEP static uint64_t check(size_t n)
{
	uint64_t x = 0;

	for (size_t i = 0; i < n; i += 16)
		x = work_mix(x, cooked[i]);
	return x;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 16384);
	uint64_t digest;

	raw = malloc(w.size * sizeof(*raw));
	cooked = malloc(w.size * sizeof(*cooked));
	if (!raw || !cooked)
		work_die(&w, "out of memory");
	make_table();
	do {
		digest = 0;
		for (uint32_t item = 0; item < ITEMS; item++) {
			produce(w.size, item);
			transform(w.size);
			scale(w.size);
			digest = work_mix(digest, consume(w.size) + check(w.size));
		}
	} while (work_more(&w, digest));
	free(raw);
	free(cooked);
	return work_done(&w);
}
