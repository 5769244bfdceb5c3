// SPDX-License-Identifier: GPL-2.0-or-later
/* What interruptions and looks cost targets whose threads wait for each other, and what comes seldom. */
#include <math.h>

#include "measure/cost_wakeups.h"
#include "measure/price.h"
#include "measure/price_table.h"
#include "unit/unit.h"
#include "util/clock.h"

TEST(one_switch_in_an_interruption_is_a_wakeup)
{
	/* alone, unknown, with nobody to wake: nothing but the interruption */
	assert_true(wakeups_cost(30e3, 0, 20e3, 8) == 30e3);
	assert_true(wakeups_cost(30e3, NAN, 20e3, 8) == 30e3);
	assert_true(wakeups_cost(30e3, 50e-6, 20e3, 1) == 30e3);
	/* 10 and 20 thousand a second: 0.3 and 0.6 in 30 us */
	assert_true(fabs(wakeups_cost(30e3, 10e-6, 20e3, 2) - 36e3) < 1);
	assert_true(fabs(wakeups_cost(30e3, 20e-6, 20e3, 2) - 42e3) < 1);
	/* more than one is still one */
	assert_true(wakeups_cost(30e3, 1e-3, 20e3, 2) == 50e3);
}

TEST(who_switches_often_is_not_preempted)
{
	assert_false(wakeups_closely(NAN));
	assert_false(wakeups_closely(0));
	assert_false(wakeups_closely(1e-6));
	assert_true(wakeups_closely(36e-6));
}

TEST(looks_cost_where_no_cpu_is_idle)
{
	assert_true(wakeups_look(0, 2, false) == 0);
	assert_true(wakeups_look(1, 2, false) == 0);
	assert_true(wakeups_look(3, 64, false) == 0);
	assert_true(fabs(wakeups_look(1.5, 2, false) - price_assumed(PRICE_LOOK) / 2) < 1e-6);
	assert_true(wakeups_look(2, 2, false) == price_assumed(PRICE_LOOK));
	assert_true(wakeups_look(5, 2, false) == price_assumed(PRICE_LOOK));
	assert_true(fabs(wakeups_look(0.9, 1, false) - 0.9 * price_assumed(PRICE_LOOK)) < 1e-6);
	assert_true(wakeups_look(2, 2, true) == price_assumed(PRICE_LOOK_CLOSE));
}

/* A recorder that would look all the time: as often as it may, whatever a look costs. */
static unsigned looks_in_a_second(double may, double price)
{
	struct wakeups l = { 0 };
	unsigned n = 0;

	for (uint64_t now = 1; now < 1000000000; n++) {
		wakeups_spend(&l, now, price, may);
		now += wakeups_rest(&l, may) + 1000;
	}
	return n;
}

TEST(looks_keep_to_their_share)
{
	struct wakeups l = { 0 };

	/* 20 us each, 0.5 % of the time: 250 a second */
	assert_in_range(looks_in_a_second(0.005, 20e3), 245, 256);
	assert_in_range(looks_in_a_second(0.05, 20e3), 2450, 2510);
	/* those that cost nothing are not held up, nor is anything where nothing is earned */
	wakeups_spend(&l, 5, 0, 0.01);
	assert_int_equal(wakeups_rest(&l, 0.01), 0);
	wakeups_spend(&l, 6, 1000, 0);
	assert_int_equal(wakeups_rest(&l, 0), 0);
	/* some are saved up, for a window: no more than a tenth of a second's */
	l = (struct wakeups){ .at = 1 };
	wakeups_spend(&l, 3600000000000ull, 0, 0.01);
	assert_true(l.balance > 0.9e6 && l.balance < 1.1e6);
}

/* Interruptions of a known length, made by the work itself: it is told of them as of a timer's. */
#define TIMES 20

struct planted {
	uint64_t began;
};

static bool begin(void *ctx, int tid)
{
	((struct planted *)ctx)->began = clock_now();
	return true;
}

static double none(void *ctx, uint64_t *at, unsigned max)
{
	return 0;
}

/* Nothing happened at these times. */
static double nothing(void *ctx, uint64_t *at, unsigned max)
{
	for (unsigned i = 0; i < TIMES && i < max; i++)
		at[i] = ((struct planted *)ctx)->began + 2000000 + i * 1000000ull;
	return TIMES;
}

/* Before and after all work: not to be used. */
static double outside(void *ctx, uint64_t *at, unsigned max)
{
	for (unsigned i = 0; i < TIMES; i++)
		at[i] = i % 2 ? 0 : UINT64_MAX;
	return TIMES;
}

TEST(what_comes_seldom_is_priced)
{
	struct planted p;
	struct trial r = { .begin = begin, .end = none, .wait_ns = 24000000 };
	double ns;

	assert_true(isnan(price_rare(&r, &p)));
	r.end = outside;
	assert_true(isnan(price_rare(&r, &p)));
	r.end = nothing;
	ns = price_rare(&r, &p);
	/* the median of twenty: on a busy machine a piece may take any time, but not half of them */
	print_message("%.0f ns\n", ns);
	assert_true(isnan(ns) || fabs(ns) < 1e6);
}
