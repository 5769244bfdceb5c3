// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a recorder looks and for which samples, how long things took, and when prices are known well enough. */
#include <math.h>

#include "record/tick_forecast.h"
#include "record/poll_interval.h"
#include "measure/price.h"
#include "unit/unit.h"

TEST(nobody_waits)
{
	assert_int_equal(poll_interval_ms(0, 0), PACE_IDLE_MS);
	assert_int_equal(poll_interval_ms(0, 1000), PACE_IDLE_MS);
}

/* Looks become rarer, never more frequent, while no sample comes; one sample and they are frequent again. */
TEST(less_often_where_nothing_comes)
{
	static const unsigned soon[] = { 1, 3, 8, 100 };

	for (unsigned k = 0; k < sizeof(soon) / sizeof(soon[0]); k++) {
		int last = 0;
		double ms = 0;

		for (unsigned idle = 0; idle < 200; idle++) {
			int wait = poll_interval_ms(soon[k], idle);

			assert_true(wait >= last && wait <= PACE_IDLE_MS);
			last = wait;
			/* what is waited for is met in time at first */
			assert_true(idle > PACE_SOME || wait <= (int)soon[k]);
			/* after some seconds of nothing it is as if nobody waited */
			assert_true(ms < 3000 || wait == PACE_IDLE_MS);
			ms += wait;
		}
	}
	assert_true(poll_interval_ms(3, PACE_SOME + 1) > poll_interval_ms(3, PACE_SOME));
	assert_true(poll_interval_ms(3, PACE_MANY + 1) > poll_interval_ms(3, PACE_MANY));
	assert_int_equal(poll_interval_ms(3, 0), 3);
}

/* Timers of two CPUs, a period of 1000 each, the second 400 later. */
TEST(ticks_are_foreseen)
{
	struct tick_forecast b = { 0 };

	assert_int_equal(tick_forecast_next(&b, 5000), 0);
	tick_forecast_seen(&b, 0, 5000, 1000);
	tick_forecast_seen(&b, 1, 5400, 1000);
	assert_int_equal(tick_forecast_next(&b, 5400), 6000);
	assert_int_equal(tick_forecast_next(&b, 5999), 6000);
	/* at that time is not after it */
	assert_int_equal(tick_forecast_next(&b, 6000), 6400);
	assert_int_equal(tick_forecast_next(&b, 9000), 9400);
	/* what is known is later than what is asked for */
	assert_int_equal(tick_forecast_next(&b, 100), 5000);
	/* one is silent for too long, then both are */
	tick_forecast_seen(&b, 1, 5400 + BEAT_SILENT * 1000, 1000);
	assert_int_equal(tick_forecast_next(&b, 5500 + BEAT_SILENT * 1000), 6400 + BEAT_SILENT * 1000);
	assert_int_equal(tick_forecast_next(&b, 6000 + 2 * BEAT_SILENT * 1000), 0);
	/* samples of one timer may be read out of order */
	tick_forecast_seen(&b, 1, 5400, 1000);
	assert_int_equal(tick_forecast_next(&b, 5500 + BEAT_SILENT * 1000), 6400 + BEAT_SILENT * 1000);
	/* one of another period, and one of none */
	tick_forecast_seen(&b, 2, 5100, 250);
	tick_forecast_seen(&b, 3, 5101, 0);
	assert_int_equal(tick_forecast_next(&b, 5100), 5350);
	assert_int_equal(tick_forecast_next(&b, 5400), 5600);
}

/* More timers than there is room for: the ones that ticked last are known. */
TEST(many_timers)
{
	struct tick_forecast b = { 0 };
	unsigned known = 0;

	for (uint64_t i = 0; i < 3 * BEAT_TIMERS; i++)
		tick_forecast_seen(&b, i, 1000 + i, 1000);
	assert_int_equal(b.count, BEAT_TIMERS);
	for (unsigned i = 0; i < b.count; i++)
		known += b.of[i].timer >= 2 * BEAT_TIMERS;
	assert_int_equal(known, BEAT_TIMERS);
	assert_int_equal(tick_forecast_next(&b, 1000 + 3 * BEAT_TIMERS), 2000 + 2 * BEAT_TIMERS);
}

TEST(old_samples_are_passed_over)
{
	unsigned passed = 0, taken = 0;

	assert_true(poll_interval_prompt(&passed, 0, 3000000));
	/* what has just come is taken, whatever came before */
	for (int i = 0; i < 3; i++)
		assert_false(poll_interval_prompt(&passed, 2000000, 3000000));
	assert_true(poll_interval_prompt(&passed, PACE_PROMPT_NS - 1, 3000000));
	/* where nothing comes in time some are, but never too old ones */
	for (int i = 0; i < 10 * (PACE_PASSED + 1); i++)
		taken += poll_interval_prompt(&passed, 2000000, 3000000);
	assert_int_equal(taken, 10);
	for (int i = 0; i < 100; i++)
		assert_false(poll_interval_prompt(&passed, 3000000, 3000000));
	assert_true(poll_interval_prompt(&passed, 2999999, 3000000));
}

TEST(prices_settle)
{
	double narrow[] = { 100, 103, 97, 101, 99, 100, 5000, 102, 98, 2 },
	       wide[] = { 50, 60, 70, 80, 100, 120, 130, 140, 150 }, nothing[] = { -9, -3, 1, 4, 8, -5, 2, -2, 0, 6 };

	assert_false(price_settled(narrow, 8));
	/* one that was disturbed, or two, do not matter */
	assert_true(price_settled(narrow, 10));
	assert_false(price_settled(wide, 9));
	/* nor is that settled which may be nothing */
	assert_false(price_settled(nothing, 10));
}
