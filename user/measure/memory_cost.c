// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/memory_cost.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/random.h"

#define LINE 64      /* bytes: a load of each cache line */
#define STEPS 400000 /* 2 ms in the nearest cache, 40 ms from memory */
#define PASSES 3     /* the fastest counts: other programs only slow it down */

/* One ring through all lines in random order, so that no prefetcher knows the next. */
static void link_lines(char *at, size_t lines)
{
	uint32_t *order = malloc(lines * sizeof(*order));
	uint64_t seed = 88172645463325252ull;

	for (size_t i = 0; order && i < lines; i++)
		order[i] = (uint32_t)i;
	for (size_t i = lines; order && i-- > 1;) {
		size_t k = random_next(&seed) % (i + 1);
		uint32_t was = order[i];

		order[i] = order[k];
		order[k] = was;
	}
	for (size_t i = 0; i < lines; i++) {
		size_t from = order ? order[i] : i, to = order ? order[(i + 1) % lines] : (i + 1) % lines;

		*(void **)(at + from * LINE) = at + to * LINE;
	}
	free(order);
}

double memory_cost(size_t bytes)
{
	size_t lines;
	double best = INFINITY;
	char *at;

	bytes = bytes < MEMORY_COST_LEAST ? MEMORY_COST_LEAST : bytes > MEMORY_COST_MOST ? MEMORY_COST_MOST : bytes;
	lines = bytes / LINE;
	at = aligned_alloc(LINE, lines * LINE);
	if (!at)
		return NAN;
	link_lines(at, lines);
	for (int pass = 0; pass < PASSES; pass++) {
		void *volatile end;
		void **p = (void **)at;
		uint64_t began = clock_now();

		for (int i = 0; i < STEPS; i++)
			p = *p;
		end = p;
		(void)end;
		best = fmin(best, (double)(clock_now() - began) / STEPS);
	}
	free(at);
	return best;
}
