// SPDX-License-Identifier: GPL-2.0-or-later
/* Arbitrary bytes as a file of kept prices: whatever is taken from it must be numbers that a price can be. */
/* harm: damaged cache files */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/prices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IDENTITY "accperf prices 1 x"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + sizeof(IDENTITY) + 1);
	struct prices p;

	if (!text)
		return 0;
	memcpy(text, IDENTITY "\n", sizeof(IDENTITY));
	memcpy(text + sizeof(IDENTITY), data, size);
	text[sizeof(IDENTITY) + size] = '\0';
	prices_read(&p, text, IDENTITY, 1000000000000000ull);
	if (p.count > PRICES_MOST || p.again >= (int)p.count)
		abort();
	for (unsigned i = 0; i < p.count; i++) {
		double v[PRICES_VALUES] = { 0 };

		if (!p.of[i].count || p.of[i].count > PRICES_KEPT || strlen(p.of[i].name) >= sizeof(p.of[i].name))
			abort();
		if (!prices_known(&p, p.of[i].name, v, PRICES_VALUES))
			continue;
		for (unsigned k = 0; k < PRICES_VALUES; k++)
			if (isinf(v[k]))
				abort();
	}
	free(text);
	return 0;
}
