// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/delay.h"

#include <math.h>

#define CLASSES_A_DOUBLING 4

void delays_add(struct delays *d, uint64_t ns)
{
	unsigned class = ns ? (unsigned)(log2((double)ns) * CLASSES_A_DOUBLING) : 0;

	d->in[class < DELAY_CLASSES ? class : DELAY_CLASSES - 1]++;
	d->count++;
}

uint64_t delays_within(const struct delays *d, double part)
{
	double want = part * (double)d->count, sum = 0;

	for (unsigned i = 0; i < DELAY_CLASSES && d->count; i++) {
		sum += (double)d->in[i];
		/* the middle of the class */
		if (d->in[i] && sum >= want)
			return (uint64_t)exp2((i + 0.5) / CLASSES_A_DOUBLING);
	}
	return 0;
}
