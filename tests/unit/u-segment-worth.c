// SPDX-License-Identifier: GPL-2.0-or-later
/* What carrying segments on is worth: all at first, little where none is verified, and all again where they are. */
#include "record/segment_worth.h"
#include "unit/unit.h"

#define LONG_NS 5e6 /* what carrying one on takes that goes through much code */

static void stretches(struct segment_worth *w, int n, bool verified)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 4; k++)
			segment_worth_learn(w, LONG_NS, verified);
		segment_worth_fade(w);
	}
}

TEST(unknown_is_worth_all)
{
	struct segment_worth w = { 0 };

	assert_float_equal(segment_worth(&w), 1, 1e-12);
}

TEST(in_vain_soon_tells)
{
	struct segment_worth w = { 0 };

	stretches(&w, 1, false);
	assert_true(segment_worth(&w) < .6 && segment_worth(&w) > .4);
	stretches(&w, 9, false);
	assert_true(segment_worth(&w) < .15);
	/* never nothing: what is not tried is not learned */
	stretches(&w, 1000, false);
	assert_true(segment_worth(&w) > .02);
}

TEST(verified_is_worth_all)
{
	struct segment_worth w = { 0 };

	stretches(&w, 100, true);
	assert_float_equal(segment_worth(&w), 1, 1e-12);
}

TEST(programs_change)
{
	struct segment_worth w = { 0 };

	stretches(&w, 1000, false);
	stretches(&w, 100, true);
	assert_true(segment_worth(&w) > .9);
}

/* By time: short ones that are verified do not pay for long ones that are not. */
TEST(time_counts)
{
	struct segment_worth w = { 0 };

	for (int i = 0; i < 100; i++) {
		segment_worth_learn(&w, LONG_NS, false);
		segment_worth_learn(&w, LONG_NS / 100, true);
		segment_worth_learn(&w, LONG_NS / 100, true);
	}
	assert_true(segment_worth(&w) < .1);
}
