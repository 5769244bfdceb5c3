// SPDX-License-Identifier: GPL-2.0-or-later
/* Which pages are worth their copies: the threshold by which most comes of the budgets, also after a change. */
#include <math.h>

#include "record/pages_choice.h"
#include "unit/unit.h"

/* Bursts of a program: what comes of each by the chance that pages must have. */
struct program {
	double instructions[PAGES_CHOICES], cost[PAGES_CHOICES];
};

/* Those that copies are all: every burst is cut without them; and those that need hardly any. */
static const struct program needs = { { 7000, 1000, 500 }, { 60, 13, 12 } };
static const struct program spares = { { 5500, 5600, 1200 }, { 47, 20, 18 } };

static unsigned index_of(double chance)
{
	return chance < 0.05 ? 0 : chance < 0.2 ? 1 : 2;
}

static void run(struct pages_choice *c, const struct program *p, int bursts, int by[PAGES_CHOICES])
{
	for (unsigned i = 0; i < PAGES_CHOICES; i++)
		by[i] = 0;
	for (int k = 0; k < bursts; k++) {
		unsigned i = index_of(pages_choice_next(c));

		by[i]++;
		/* some of them end early, whatever came with them */
		pages_choice_learn(c, p->instructions[i] * (k % 5 ? 1 : .2), p->cost[i]);
	}
}

TEST(each_is_tried)
{
	struct pages_choice c = { 0 };
	int by[PAGES_CHOICES];

	run(&c, &needs, 12, by);
	assert_true(by[0] == 4 && by[1] == 4 && by[2] == 4);
}

TEST(the_best_is_taken)
{
	struct pages_choice c = { 0 }, d = { 0 };
	int by[PAGES_CHOICES];

	run(&c, &needs, 200, by);
	assert_true(by[0] > 150 && by[1] >= 4 && by[2] >= 4);
	run(&d, &spares, 200, by);
	assert_true(by[1] > 150 && by[0] >= 4 && by[2] >= 4);
}

TEST(programs_change)
{
	struct pages_choice c = { 0 };
	int by[PAGES_CHOICES];

	run(&c, &needs, 400, by);
	run(&c, &spares, 100, by);
	run(&c, &spares, 100, by);
	assert_true(by[1] > 80);
}
