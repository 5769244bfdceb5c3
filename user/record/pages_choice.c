// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/pages_choice.h"

#define TRIED 4    /* bursts by each, before one is preferred; by hand */
#define EXPLORES 8 /* each so manieth burst is by one of the others, in turn: programs change; by hand */
#define KEPT 0.95  /* of what earlier bursts by it told: some twenty count; by hand */

/* The least is where one page in thirty that is copied was worth it: below, copies are all one pays for. */
static const double chance[PAGES_CHOICES] = { 0.033, 0.1, 0.3 };

static unsigned best_of(const struct pages_choice *c)
{
	unsigned best = 0;

	for (unsigned i = 1; i < PAGES_CHOICES; i++)
		if (c->of[i].instructions * c->of[best].cost > c->of[best].instructions * c->of[i].cost)
			best = i;
	return best;
}

double pages_choice_next(struct pages_choice *c)
{
	unsigned least = 0;

	c->turn++;
	for (unsigned i = 1; i < PAGES_CHOICES; i++)
		if (c->of[i].bursts < c->of[least].bursts)
			least = i;
	if (c->of[least].bursts < TRIED)
		c->now = least;
	else
		c->now = c->turn % EXPLORES ? best_of(c) : (unsigned)(c->turn / EXPLORES % PAGES_CHOICES);
	return chance[c->now];
}

void pages_choice_learn(struct pages_choice *c, double instructions, double cost)
{
	unsigned i = c->now;

	c->of[i].bursts++;
	c->of[i].instructions = KEPT * c->of[i].instructions + instructions;
	c->of[i].cost = KEPT * c->of[i].cost + cost;
}
