// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/own_budget.h"

#include <math.h>

/* For what is new to it: programs to load, prices, graphs of functions, names. Beside postgres and perl, with nothing
 * else running, a recording of 20 s takes 1.6 to 2.4 s: none of these is cut. */
#define CREDIT_NS 2e9
#define SCARCE_NS 0.25e9  /* less than this left, and the share falls with it; by hand */
#define LEAST_SHARE 0.125 /* what goes on all the same, so that a long recording goes on learning; by hand */

void own_budget_begin(struct own_budget *b, double part, uint64_t now, uint64_t spent_ns)
{
	*b = (struct own_budget){ .part = part, .began = now, .spent = spent_ns, .share = 1 };
}

void own_budget_second(struct own_budget *b, uint64_t now, uint64_t spent_ns)
{
	double left;

	if (!(b->part > 0))
		return;
	left = CREDIT_NS + b->part * (double)(now - b->began) - (double)(spent_ns - b->spent);
	/* what was not needed is not saved for later */
	if (left > CREDIT_NS) {
		b->began = now;
		b->spent = spent_ns;
	}
	b->share = fmax(LEAST_SHARE, fmin(1, left / SCARCE_NS));
	b->cut_seconds += b->share < 1;
}
