// SPDX-License-Identifier: GPL-2.0-or-later
/* The governor in a simulated target: whatever the sources would like to do, the budget holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "measure/price_table.h"
#include "record/governor.h"
#include "record/syscall_stretch.h"

static uint64_t x = 88172645463325252ull;

static double uniform(void)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return (double)(x >> 11) / 9007199254740992.0;
}

struct outcome {
	double spent, windows, armed_share;
};

/* Ten CPU-seconds at 500 Hz; a window costs arming plus hits and stays armed for 20 ms. */
static struct outcome simulate(double budget, double string_share, double kernel_share, double hits_per_window)
{
	struct governor g;
	struct outcome o = { 0 };
	double armed_until = 0, now = 0, armed = 0;

	governor_init(&g, budget, 1u << GOV_TIMER | 1u << GOV_HITS | 1u << GOV_ARMED);
	for (int i = 0; i < 5000; i++) {
		double u = uniform();

		now += 2e6;
		governor_tick(&g, 2e6, u<string_share, u> 1 - kernel_share);
		governor_wall(&g, 2e6, 2e6);
		governor_spend(&g, GOV_TIMER, 2e6 * governor_rate(&g, GOV_TIMER)); /* fixed at the start */
		if (now >= armed_until && g.ticks > 100 &&
		    governor_allows(&g, GOV_HITS, hits_per_window * price_assumed(PRICE_WATCH_HIT))) {
			double time = governor_armed_time(&g, 3e6, 20e6);

			if (time < 3e6)
				continue;
			governor_spend(&g, GOV_HITS,
				       price_assumed(PRICE_WATCH_ARM) +
					       hits_per_window * price_assumed(PRICE_WATCH_HIT));
			governor_spend(&g, GOV_ARMED, governor_armed_cost(&g, time));
			armed_until = now + time;
			armed += time;
			o.windows++;
		}
	}
	o.spent = governor_spent_share(&g);
	o.armed_share = armed / now;
	return o;
}

static void budget_holds(void **state)
{
	static const double budgets[] = { 0.005, 0.01, 0.05 }, strings[] = { 0, 0.01, 0.3 },
			    kernels[] = { 0, 0.1, 0.9 };

	for (int b = 0; b < 3; b++)
		for (int s = 0; s < 3; s++)
			for (int k = 0; k < 3; k++)
				for (double hits = 0; hits <= 64; hits += 16) {
					struct outcome o = simulate(budgets[b], strings[s], kernels[k], hits);

					/* one account's worth of debt at most, over ten seconds */
					assert_true(o.spent <= budgets[b] * 1.15 + 0.0005);
				}
}

static void armed_time_follows_string_use(void **state)
{
	struct outcome none = simulate(0.01, 0, 0, 16), some = simulate(0.01, 0.01, 0, 16),
		       heavy = simulate(0.01, 0.3, 0, 16);

	printf("# windows in ten CPU-seconds: %.0f, with 1 %% string samples %.0f, with 30 %% %.0f\n", none.windows,
	       some.windows, heavy.windows);
	assert_true(none.windows >= 20);
	assert_true(some.windows < none.windows);
	assert_true(heavy.windows < some.windows);
	/* the published rule: with string instructions about, armed time is about the share itself */
	assert_true(heavy.armed_share < 0.01);
}

static void effort_buys_windows(void **state)
{
	assert_true(simulate(0.05, 0, 0, 16).windows > 2 * simulate(0.01, 0, 0, 16).windows);
	assert_true(simulate(0.005, 0, 0, 16).windows >= 8);
}

static void accounts(void **state)
{
	struct governor g;
	double sum = 0;

	governor_init(&g, 0.01, 1u << GOV_TIMER | 1u << GOV_SYSCALLS | 1u << GOV_ARMED);
	for (int i = 0; i < GOV_ACCOUNTS; i++)
		sum += governor_rate(&g, i);
	assert_true(fabs(sum - 0.01) < 1e-12);          /* unused shares go to the others */
	assert_false(governor_allows(&g, GOV_HITS, 1)); /* not in use */
	assert_true(isnan(governor_spent_share(&g)));
	assert_true(governor_armed_time(&g, 3e6, 20e6) == 0); /* nothing earned yet */
	for (int i = 0; i < 1000; i++)
		governor_tick(&g, 2e6, false, false);
	assert_true(governor_armed_time(&g, 3e6, 20e6) > 3e6);
	governor_spend(&g, GOV_ARMED, 1e9);
	assert_true(governor_armed_time(&g, 3e6, 20e6) == 0);
}

/* What one source leaves, another spends: a cheap timer and no string instructions mean more windows. */
static void nothing_lies_idle(void **state)
{
	const unsigned used = 1u << GOV_TIMER | 1u << GOV_HITS | 1u << GOV_ARMED | 1u << GOV_SYSCALLS;
	struct governor g;
	double budget = 0.01, idle;

	for (int greedy = GOV_HITS; greedy <= GOV_ARMED; greedy++) {
		governor_init(&g, budget, used);
		for (int i = 0; i < 5000; i++) {
			governor_tick(&g, 2e6, false, false);
			governor_spend(&g, GOV_TIMER, 4000); /* half of its share */
			while (governor_allows(&g, greedy, 150000))
				governor_spend(&g, greedy, 150000);
		}
		/* what the idle accounts hold back at most: two seconds' worth */
		idle = 2e9 * budget;
		assert_true(governor_spent_share(&g) * g.run_ns + idle >= 0.99 * budget * g.run_ns);
		assert_true(governor_spent_share(&g) <= budget);
	}
	/* a timer dearer than its share is paid by the others, and the sum keeps to the budget */
	governor_init(&g, budget, used);
	for (int i = 0; i < 5000; i++) {
		governor_tick(&g, 2e6, false, false);
		governor_spend(&g, GOV_TIMER, 15000); /* three quarters of the whole */
		while (governor_allows(&g, GOV_HITS, 150000))
			governor_spend(&g, GOV_HITS, 150000);
	}
	assert_true(g.spent[GOV_HITS] > 0);
	assert_true(governor_spent_share(&g) <= budget * 1.02);
	/* the same of offload probes that come in bursts, and what they leave is spent */
	for (int lazy = 0; lazy < 2; lazy++) {
		governor_init(&g, budget, used);
		governor_reserve(&g, 1.0 / 3);
		for (int i = 0; i < 5000; i++) {
			governor_tick(&g, 2e6, false, false);
			governor_spend(&g, GOV_TIMER, 4000);
			if (!lazy && i % 100 == 0)
				/* 45 % of the budget: their share is a third */
				governor_spend(&g, GOV_ELSEWHERE, 900000);
			while (governor_allows(&g, GOV_HITS, 150000))
				governor_spend(&g, GOV_HITS, 150000);
		}
		assert_true(governor_spent_share(&g) <= budget * 1.02);
		assert_true(governor_spent_share(&g) >= budget * 0.8);
	}
	/* and a timer that takes all leaves nothing */
	governor_init(&g, budget, used);
	for (int i = 0; i < 5000; i++) {
		governor_tick(&g, 2e6, false, false);
		governor_spend(&g, GOV_TIMER, 30000);
	}
	assert_false(governor_allows(&g, GOV_HITS, 150000)); /* one window */
}

/* At low effort, in a program that is all copies, a window costs more than the account can ever hold. */
static void dear_windows_are_rare_not_none(void **state)
{
	struct outcome o = simulate(0.002, 0.5, 0, 4);

	printf("# low budget, half of the time in copies: %.0f windows in ten CPU-seconds, %.2f %% spent\n", o.windows,
	       100 * o.spent);
	assert_true(o.windows >= 1);
	assert_true(o.spent <= 0.002 * 1.2 + 0.0005);
}

static void measured_costs(void **state)
{
	struct governor g;

	governor_init(&g, 0.01, 1u << GOV_TIMER);
	assert_true(g.hit_ns == price_assumed(PRICE_WATCH_HIT) && g.arm_ns == price_assumed(PRICE_WATCH_ARM) &&
		    g.wake_ns == price_assumed(PRICE_WATCH_WAKE));
	governor_costs(&g, NAN, 3000, NAN);
	assert_true(g.hit_ns == price_assumed(PRICE_WATCH_HIT) && g.arm_ns == 3000 &&
		    g.wake_ns == price_assumed(PRICE_WATCH_WAKE));
	governor_costs(&g, 1500, NAN, 7000);
	assert_true(g.hit_ns == 1500 && g.arm_ns == 3000 && g.wake_ns == 7000);
}

/* Ten hits in two phases: each phase interrupts who runs, and at its end one hit wakes us. */
static void a_window_is_charged_for_waking_us(void **state)
{
	struct governor g;

	governor_init(&g, 0.01, 1u << GOV_HITS);
	governor_costs(&g, 1000, 5000, 20000);
	for (int i = 0; i < 100; i++)
		governor_wall(&g, 1e9, 3e9);
	assert_true(fabs(governor_window_cost(&g, 10, 2, 16) - (10 * 1000 + 2 * 20000 + 2 * 3 * 5000)) < 1);
	/* on two threads only */
	assert_true(fabs(governor_window_cost(&g, 10, 2, 2) - (10 * 1000 + 2 * 20000 + 2 * 2 * 5000)) < 1);
	assert_true(fabs(governor_window_cost(&g, 0, 1, 0) - 20000) < 1);
}

/* A timer that was asked for is not refused, so execution counts have what it leaves. */
static void what_a_timer_leaves(void **state)
{
	assert_true(governor_left_by_timer(0.1, 0.3) == 1);
	assert_true(governor_left_by_timer(0.3, 0.3) == 1);
	/* half of what the others would have shared */
	assert_true(fabs(governor_left_by_timer(0.65, 0.3) - 0.5) < 1e-9);
	assert_true(governor_left_by_timer(0.5, 0.3) > governor_left_by_timer(0.6, 0.3));
	assert_true(fabs(governor_left_by_timer(1, 0.3) - 0.1) < 1e-9);
	assert_true(fabs(governor_left_by_timer(7, 0.3) - 0.1) < 1e-9);
}

/* A target that switches threads all the time loses by armed slots without any string instruction. */
static void switches_cost(void **state)
{
	struct governor g;

	governor_init(&g, 0.01, 1u << GOV_TIMER | 1u << GOV_HITS | 1u << GOV_ARMED);
	for (int i = 0; i < 5000; i++)
		governor_tick(&g, 2e6, false, false);
	governor_wall(&g, 1e9, 1e9);
	assert_true(governor_armed_slowdown(&g) < 0.01);
	assert_true(governor_slots_cost(&g, 1e6) == 0);
	/* 30,000 per second of CPU time, at 1 us for each slot: 3 % of the armed time */
	governor_switching(&g, 30000e-9, 1000);
	assert_true(governor_armed_slowdown(&g) > 0.03 && governor_armed_slowdown(&g) < 0.04);
	assert_true(governor_armed_cost(&g, 1e6) > 0.025e6 && governor_armed_cost(&g, 1e6) < 0.04e6);
	assert_true(governor_armed_likely(&g, 1e6) > 0.025e6 && governor_armed_likely(&g, 1e6) < 0.04e6);
	assert_true(governor_slots_cost(&g, 2e6) > 0.05e6 && governor_slots_cost(&g, 2e6) < 0.07e6);
	/* what is not known costs nothing yet */
	governor_switching(&g, NAN, 1000);
	assert_true(governor_armed_slowdown(&g) < 0.01);
}

/* Windows may save for long and take what is spare: system calls are observed again and again all the same. */
static void bursts_go_on(void **state)
{
	static const double budget[] = { 0.005, 0.01, 0.05 };

	for (int k = 0; k < 3; k++) {
		struct governor g;
		int bursts = 0;

		governor_init(&g, budget[k] * 0.88,
			      1u << GOV_TIMER | 1u << GOV_HITS | 1u << GOV_ARMED | 1u << GOV_SYSCALLS);
		governor_reserve(&g, 0.4);
		for (int i = 0; i < 5000; i++) {
			double rate = governor_rate(&g, GOV_SYSCALLS);

			governor_tick(&g, 2e6, false, false);
			governor_spend(&g, GOV_TIMER, 2e6 * governor_rate(&g, GOV_TIMER));
			/* armed time is never full: windows take what there is */
			if (governor_allows(&g, GOV_ARMED, 0))
				governor_spend(&g, GOV_ARMED, g.balance[GOV_ARMED]);
			if (!governor_allows(&g, GOV_SYSCALLS, stretch_needs(rate)))
				continue;
			/* it was ended late, and to attach costs, too */
			governor_spend(&g, GOV_SYSCALLS, 2 * stretch_limit(rate));
			bursts++;
		}
		/* each costs what this account earns in half a second; others leave it something, too */
		assert_in_range(bursts, 15, 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_holds),
		cmocka_unit_test(armed_time_follows_string_use),
		cmocka_unit_test(effort_buys_windows),
		cmocka_unit_test(accounts),
		cmocka_unit_test(nothing_lies_idle),
		cmocka_unit_test(dear_windows_are_rare_not_none),
		cmocka_unit_test(measured_costs),
		cmocka_unit_test(what_a_timer_leaves),
		cmocka_unit_test(a_window_is_charged_for_waking_us),
		cmocka_unit_test(switches_cost),
		cmocka_unit_test(bursts_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
