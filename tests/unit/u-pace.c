// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a recorder looks, and when prices are known well enough. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ingest/pace.h"
#include "kmod-free/price.h"

static void nobody_waits(void **state)
{
	assert_int_equal(pace_wait_ms(false, 0), PACE_IDLE_MS);
	assert_int_equal(pace_wait_ms(false, 1000), PACE_IDLE_MS);
}

/* Looks become rarer, never more frequent, while no sample comes; one sample and they are frequent again. */
static void less_often_where_nothing_comes(void **state)
{
	int last = 0;
	double ms = 0;

	for (unsigned idle = 0; idle < 200; idle++) {
		int wait = pace_wait_ms(true, idle);

		assert_true(wait >= last && wait <= PACE_IDLE_MS);
		last = wait;
		/* a window lasts some ms: for the first twentieth of a second one is met in time */
		assert_true(ms > 50 || wait <= 3);
		/* after a second of nothing it is as if nobody waited */
		assert_true(ms < 1000 || wait == PACE_IDLE_MS);
		ms += wait;
	}
	assert_true(pace_wait_ms(true, PACE_SOME + 1) > pace_wait_ms(true, PACE_SOME));
	assert_true(pace_wait_ms(true, PACE_MANY + 1) > pace_wait_ms(true, PACE_MANY));
	assert_int_equal(pace_wait_ms(true, 0), PACE_SOON_MS);
}

static void prices_settle(void **state)
{
	double narrow[] = { 100, 103, 97, 101, 99, 100, 5000, 102, 98, 2 }, wide[] = { 50, 60, 70, 80, 100, 120, 130, 140, 150 },
	       nothing[] = { -9, -3, 1, 4, 8, -5, 2, -2, 0, 6 };

	assert_false(price_settled(narrow, 8));
	/* one that was disturbed, or two, do not matter */
	assert_true(price_settled(narrow, 10));
	assert_false(price_settled(wide, 9));
	/* nor is that settled which may be nothing */
	assert_false(price_settled(nothing, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_waits), cmocka_unit_test(less_often_where_nothing_comes), cmocka_unit_test(prices_settle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
