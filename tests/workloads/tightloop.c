// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nothing but arithmetic in registers. Planted: spin_hot runs three times as many iterations of the
 * same loop as spin_cool, so their shares of the time are 75 % and 25 %. How many at a time is drawn:
 * turns of one length would keep step with a timer, on one processor or another.
 */
#include "work.h"

#define SPIN_BODY                                                                                                      \
	for (uint64_t i = 0; i < n; i++) {                                                                             \
		x ^= x << 13;                                                                                          \
		x ^= x >> 7;                                                                                           \
		x ^= x << 17;                                                                                          \
	}                                                                                                              \
	return x;

STEP static uint64_t spin_hot(uint64_t n, uint64_t x){ SPIN_BODY }

STEP static uint64_t spin_cool(uint64_t n, uint64_t x)
{
	SPIN_BODY
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 10);
	uint64_t digest;

	do {
		uint64_t seed = 1;

		digest = 1;
		for (unsigned long i = 0; i < w.size; i++) {
			uint64_t part = 125000 + work_random(&seed) % 250000;

			digest = spin_hot(3 * part, digest);
			digest = spin_cool(part, digest);
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}
