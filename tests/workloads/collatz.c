// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A loop that turns faster than breakpoints can tell, as often as data says, and counts nothing: `highest` divides, or
 * multiplies and adds, until the number is 1. Below 100000 it turns 107.539 times on average, 0.33150 of them upwards.
 */
#include "work.h"

STEP static uint64_t highest(uint64_t x)
{
	uint64_t most = x;

	while (x != 1) {
		if (x & 1) {
			x = 3 * x + 1;
			most = x > most ? x : most;
		} else {
			x /= 2;
		}
	}
	return most;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 100000);
	uint64_t digest;

	if (w.size < 3 || w.size > 1ul << 24)
		work_die(&w, "SIZE must be from 3 to 16777216");
	do {
		digest = 0;
		for (unsigned long x = 2; x < w.size; x++)
			digest = work_mix(digest, highest(x));
	} while (work_more(&w, digest));
	return work_done(&w);
}
