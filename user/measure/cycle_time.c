// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cycle_time.h"

#include <math.h>
#include <stdint.h>

#include "util/clock.h"

/* Short rounds of which the quickest counts: it was not interrupted. */
#define ROUNDS 40
#define TURNS 1000
#define ADDS 20          /* of a turn: additions, each of which needs the one before it, and so a cycle */
#define CYCLE_LEAST 0.05 /* ns: no processor reaches 20 GHz, */
#define CYCLE_MOST 10.0  /* and none that is meant here has less than 100 MHz */

/* The turn's own addition goes on beside the chain. */
static uint64_t chain_ns(void)
{
	uint64_t began = clock_now();

#ifdef __x86_64__
	uint64_t x = began;

	for (int i = 0; i < TURNS; i++)
		__asm__ volatile(".rept %c1\n\tadd $1, %0\n\t.endr" : "+r"(x) : "i"(ADDS));
#endif
	return clock_now() - began;
}

double cycle_time_ns(void)
{
	uint64_t best = UINT64_MAX;
	double ns;

	for (int r = 0; r < ROUNDS; r++) {
		uint64_t took = chain_ns();

		best = took < best ? took : best;
	}
	ns = (double)best / TURNS / ADDS;
	return ns >= CYCLE_LEAST && ns <= CYCLE_MOST ? ns : NAN;
}
