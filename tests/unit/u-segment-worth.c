// SPDX-License-Identifier: GPL-2.0-or-later
/* What carrying segments on is worth: all at first, little where none is verified, and all again where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/segment_worth.h"

#define LONG_NS 5e6 /* what carrying one on takes that goes through much code */

static void stretches(struct segment_worth *w, int n, bool verified)
{
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 4; k++)
			segment_worth_learn(w, LONG_NS, verified);
		segment_worth_fade(w);
	}
}

static void unknown_is_worth_all(void **state)
{
	struct segment_worth w = { 0 };

	assert_float_equal(segment_worth(&w), 1, 1e-12);
}

static void in_vain_soon_tells(void **state)
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

static void verified_is_worth_all(void **state)
{
	struct segment_worth w = { 0 };

	stretches(&w, 100, true);
	assert_float_equal(segment_worth(&w), 1, 1e-12);
}

static void programs_change(void **state)
{
	struct segment_worth w = { 0 };

	stretches(&w, 1000, false);
	stretches(&w, 100, true);
	assert_true(segment_worth(&w) > .9);
}

/* By time: short ones that are verified do not pay for long ones that are not. */
static void time_counts(void **state)
{
	struct segment_worth w = { 0 };

	for (int i = 0; i < 100; i++) {
		segment_worth_learn(&w, LONG_NS, false);
		segment_worth_learn(&w, LONG_NS / 100, true);
		segment_worth_learn(&w, LONG_NS / 100, true);
	}
	assert_true(segment_worth(&w) < .1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_is_worth_all),  cmocka_unit_test(in_vain_soon_tells),
		cmocka_unit_test(verified_is_worth_all), cmocka_unit_test(programs_change),
		cmocka_unit_test(time_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
