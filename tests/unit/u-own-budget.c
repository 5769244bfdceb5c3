// SPDX-License-Identifier: GPL-2.0-or-later
/* The recorder's own CPU time: what bursts and segments keep of their share. */
#include "record/own_budget.h"
#include "unit/unit.h"

#define SECOND 1000000000ull

/* So much of a CPU for so many seconds, where `rest` is what does not give way, and `givers` what would if it had all
 * its share. Returns what was taken in all. */
static double run_for(struct own_budget *b, uint64_t *now, double *spent, unsigned seconds, double rest, double givers)
{
	double before = *spent;

	for (unsigned i = 0; i < seconds; i++) {
		*now += SECOND;
		*spent += (rest + givers * b->share) * (double)SECOND;
		own_budget_second(b, *now, (uint64_t)*spent);
	}
	return (*spent - before) / (double)SECOND;
}

TEST(within)
{
	struct own_budget b;
	uint64_t now = 7 * SECOND;
	double spent = 3e9;

	own_budget_begin(&b, .03, now, (uint64_t)spent);
	run_for(&b, &now, &spent, 600, .01, .02);
	assert_true(b.share == 1);
	assert_int_equal(b.cut_seconds, 0);
}

TEST(first_seconds_are_dear)
{
	struct own_budget b;
	uint64_t now = SECOND;
	double spent = 0;

	own_budget_begin(&b, .03, now, 0);
	run_for(&b, &now, &spent, 20, .045, .02);
	assert_int_equal(b.cut_seconds, 0);
}

TEST(gives_way)
{
	struct own_budget b;
	uint64_t now = SECOND;
	double spent = 0, took;

	own_budget_begin(&b, .03, now, 0);
	run_for(&b, &now, &spent, 600, .02, .03);
	took = run_for(&b, &now, &spent, 600, .02, .03);
	assert_true(took > 600 * .0295 && took < 600 * .0305);
	assert_true(b.share > .3 && b.share < .36);
	assert_true(b.cut_seconds > 600);
	/* what is free again is theirs again */
	run_for(&b, &now, &spent, 120, .001, .02);
	assert_true(b.share == 1);
}

TEST(never_nothing)
{
	struct own_budget b;
	uint64_t now = SECOND;
	double spent = 0;

	own_budget_begin(&b, .03, now, 0);
	run_for(&b, &now, &spent, 600, .1, .03);
	assert_true(b.share == .125);
}

/* An hour of rest buys no minute at full speed. */
TEST(saves_nothing)
{
	struct own_budget b;
	uint64_t now = SECOND;
	double spent = 0;

	own_budget_begin(&b, .03, now, 0);
	run_for(&b, &now, &spent, 3600, 0, .001);
	assert_true(run_for(&b, &now, &spent, 300, .02, .08) < 300 * .03 + 2.1);
}

TEST(unbounded)
{
	struct own_budget b;
	uint64_t now = SECOND;
	double spent = 0;

	own_budget_begin(&b, 0, now, 0);
	run_for(&b, &now, &spent, 600, 1, 1);
	assert_true(b.share == 1);
}
