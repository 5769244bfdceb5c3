// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_speed.h"

#include <math.h>

#include "counts/counts_windows.h"
#include "util/normal.h"

/* Of the log of the speed: within a factor of two, 95 times of a hundred. A rate of code that tells little of what
 * else runs leaves it wider, and what may be off by more than that is no amount. */
#define SPEED_SD_MOST 0.354

struct counts_speed counts_speed(const struct counts_built *b)
{
	struct counts_speed s = { .low = NAN, .high = NAN };
	double sd = sqrt(b->tree.total_var);

	for (size_t i = 0; i < b->tree.links; i++)
		s.measured |= b->tree.link[i].ratio.how == COUNTS_RATE && !b->tree.link[i].broken;
	s.measured &= sd <= SPEED_SD_MOST;
	if (s.measured) {
		s.low = exp(-Z95 * sd);
		s.high = exp(Z95 * sd);
	}
	return s;
}
