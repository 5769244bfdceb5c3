// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/segment_worth.h"

#define PRIOR_NS 20e6 /* so much is taken to be worth what it costs, before it was seen: some seven segments; by hand */
#define KEPT 0.97     /* of what was seen, from one stretch to the next: programs change; by hand */

void segment_worth_learn(struct segment_worth *w, double ns, bool verified)
{
	w->paid_ns += ns;
	w->fruit_ns += verified ? ns : 0;
}

void segment_worth_fade(struct segment_worth *w)
{
	w->paid_ns *= KEPT;
	w->fruit_ns *= KEPT;
}

double segment_worth(const struct segment_worth *w)
{
	return (w->fruit_ns + PRIOR_NS) / (w->paid_ns + PRIOR_NS);
}
