// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Touches SIZE megabytes once by writing and once by reading, a word in every 16 bytes: for the cost of
 * shadow memory. Planted: fill_big -> sum_big SIZE * 2^20 / 16 * 8 bytes.
 */
#include "work.h"

STEP static void fill_big(uint64_t *p, size_t words)
{
	for (size_t i = 0; i < words; i += 2)
		p[i] = i * 0x9e3779b97f4a7c15ull;
}

STEP static uint64_t sum_big(const uint64_t *p, size_t words)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < words; i += 2)
		sum += p[i] ^ i;
	return sum;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 16);
	size_t words = w.size << 17;
	uint64_t *p = malloc(words * sizeof(*p)), digest;

	if (!p || w.size > 1 << 16)
		work_die(&w, "out of memory");
	do {
		fill_big(p, words);
		digest = sum_big(p, words);
	} while (work_more(&w, digest));
	free(p);
	return work_done(&w);
}
