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
	assert_int_equal(pace_wait_ms(0, 0), PACE_IDLE_MS);
	assert_int_equal(pace_wait_ms(0, 1000), PACE_IDLE_MS);
}

/* Looks become rarer, never more frequent, while no sample comes; one sample and they are frequent again. */
static void less_often_where_nothing_comes(void **state)
{
	static const unsigned soon[] = { 1, 3, 8, 100 };

	for (unsigned k = 0; k < sizeof(soon) / sizeof(soon[0]); k++) {
		int last = 0;
		double ms = 0;

		for (unsigned idle = 0; idle < 200; idle++) {
			int wait = pace_wait_ms(soon[k], idle);

			assert_true(wait >= last && wait <= PACE_IDLE_MS);
			last = wait;
			/* what is waited for is met in time at first */
			assert_true(idle > PACE_SOME || wait <= (int)soon[k]);
			/* after some seconds of nothing it is as if nobody waited */
			assert_true(ms < 3000 || wait == PACE_IDLE_MS);
			ms += wait;
		}
	}
	assert_true(pace_wait_ms(3, PACE_SOME + 1) > pace_wait_ms(3, PACE_SOME));
	assert_true(pace_wait_ms(3, PACE_MANY + 1) > pace_wait_ms(3, PACE_MANY));
	assert_int_equal(pace_wait_ms(3, 0), 3);
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
