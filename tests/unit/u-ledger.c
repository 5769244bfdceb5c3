// SPDX-License-Identifier: GPL-2.0-or-later
/* The ledger in a simulated target: whatever the sources would like to do, the budget holds, and what they spent shows
 * once. */
#include <math.h>
#include <stdio.h>

#include "measure/cost_watch.h"
#include "measure/price_table.h"
#include "record/effort.h"
#include "record/ledger.h"
#include "record/syscall_stretch.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

static void open_with(struct ledger *l, double budget, const enum account *used, unsigned n)
{
	ledger_open(l, budget);
	for (unsigned i = 0; i < n; i++)
		ledger_use(l, used[i]);
}

#define OPEN(l, budget, ...)                                                                                           \
	open_with(l, budget, (const enum account[]){ __VA_ARGS__ },                                                    \
		  sizeof((const enum account[]){ __VA_ARGS__ }) / sizeof(enum account))

/* As windows do it: not for less than `least`, unless the account is full. */
/* What was spent in all, as a share of the target's time so far; NaN before any. */
static double spent_share(const struct ledger *l)
{
	return l->run_ns > 0 ? ledger_spent(l, ACCOUNT_ALL) / l->run_ns : NAN;
}

static double armed_time(const struct ledger *l, const struct cost_watch *c, double least, double most)
{
	double time = most * ledger_affords(l, ACCOUNT_ARMED, cost_watch_armed(c, most, l->running));

	return time >= least ? time : ledger_allows(l, ACCOUNT_ARMED, INFINITY) ? least : 0;
}

struct outcome {
	double spent, windows, armed_share;
};

/* Ten CPU-seconds at 500 Hz; a window costs arming plus hits and stays armed for 20 ms. */
static struct outcome simulate(double budget, double string_share, double kernel_share, double hits_per_window)
{
	struct ledger g;
	struct cost_watch c;
	struct outcome o = { 0 };
	double armed_until = 0, now = 0, armed = 0;

	OPEN(&g, budget, ACCOUNT_TIMER, ACCOUNT_WATCH, ACCOUNT_ARMED);
	cost_watch_init(&c);
	for (int i = 0; i < 5000; i++) {
		double u = uniform();

		now += 2e6;
		ledger_earn(&g, 2e6);
		cost_watch_tick(&c, u<string_share, u> 1 - kernel_share);
		ledger_wall(&g, 2e6, 2e6);
		ledger_spend(&g, ACCOUNT_TIMER, 2e6 * ledger_rate(&g, ACCOUNT_TIMER)); /* fixed at the start */
		if (now >= armed_until && c.ticks > 100 &&
		    ledger_allows(&g, ACCOUNT_WATCH, hits_per_window * price_assumed(PRICE_WATCH_HIT))) {
			double time = armed_time(&g, &c, 3e6, 20e6);

			if (time < 3e6)
				continue;
			ledger_spend(&g, ACCOUNT_WATCH,
				     price_assumed(PRICE_WATCH_ARM) + hits_per_window * price_assumed(PRICE_WATCH_HIT));
			ledger_spend(&g, ACCOUNT_ARMED, cost_watch_armed(&c, time, g.running));
			armed_until = now + time;
			armed += time;
			o.windows++;
		}
	}
	o.spent = spent_share(&g);
	o.armed_share = armed / now;
	return o;
}

TEST(budget_holds)
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

TEST(armed_time_follows_string_use)
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

TEST(effort_buys_windows)
{
	assert_true(simulate(0.05, 0, 0, 16).windows > 2 * simulate(0.01, 0, 0, 16).windows);
	assert_true(simulate(0.005, 0, 0, 16).windows >= 8);
}

TEST(accounts)
{
	struct ledger g;
	struct cost_watch c;
	double sum = 0;

	OPEN(&g, 0.01, ACCOUNT_TIMER, ACCOUNT_SYSCALLS, ACCOUNT_ARMED);
	cost_watch_init(&c);
	for (int i = ACCOUNT_TIMER; i < ACCOUNTS; i++)
		sum += g.of[i].rate;
	assert_true(fabs(sum - 0.01) < 1e-12);             /* unused shares go to the others */
	assert_false(ledger_allows(&g, ACCOUNT_WATCH, 1)); /* not in use */
	assert_true(isnan(spent_share(&g)));
	assert_true(armed_time(&g, &c, 3e6, 20e6) == 0); /* nothing earned yet */
	for (int i = 0; i < 1000; i++) {
		ledger_earn(&g, 2e6);
		cost_watch_tick(&c, false, false);
	}
	assert_true(armed_time(&g, &c, 3e6, 20e6) > 3e6);
	ledger_spend(&g, ACCOUNT_ARMED, 1e9);
	assert_true(armed_time(&g, &c, 3e6, 20e6) == 0);
}

/* The shares that recordings have: of the whole, of what probes and counts leave, by weight of that. */
TEST(shares_add_up)
{
	static const enum account pooled[] = { ACCOUNT_TIMER, ACCOUNT_WATCH, ACCOUNT_ARMED, ACCOUNT_SYSCALLS,
					       ACCOUNT_HARDWARE };

	/* every set of them */
	for (unsigned set = 0; set < 128; set++) {
		struct ledger g;
		double sum, left = 1;

		ledger_open(&g, 0.01);
		for (unsigned i = 0; i < 5; i++)
			if (set >> i & 1)
				ledger_use(&g, pooled[i]);
		if (set & 32)
			ledger_use(&g, ACCOUNT_COUNTS);
		if (set & 64)
			ledger_use(&g, ACCOUNT_OFFLOAD);
		left = (set & 64 ? 0.67 : 1) * (set & 32 ? 0.35 : 1); /* without count windows */
		assert_true(fabs(ledger_rate(&g, ACCOUNT_APART) - 0.01 * (1 - left)) < 1e-12);
		assert_true(fabs(g.of[ACCOUNT_OFFLOAD].rate + g.of[ACCOUNT_COUNTS].rate - g.of[ACCOUNT_APART].rate) <
			    1e-12);
		sum = g.of[ACCOUNT_APART].rate;
		for (unsigned i = 0; i < 5; i++) {
			assert_true((g.of[pooled[i]].rate > 0) == (set >> i & 1));
			sum += g.of[pooled[i]].rate;
		}
		assert_true(fabs(sum - (set & 31 ? 0.01 : 0.01 * (1 - left))) < 1e-12);
	}
}

TEST(limits_are_of_the_account_above)
{
	struct ledger g;

	OPEN(&g, 0.01, ACCOUNT_TIMER, ACCOUNT_COUNTS, ACCOUNT_OFFLOAD);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_OFFLOAD) - 0.0033) < 1e-12);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_COUNTS) - 0.0067 * 0.65) < 1e-12);
	/* without windows bursts and segments have all; with them, what they leave */
	assert_true(fabs(ledger_rate(&g, ACCOUNT_BURSTS) + ledger_rate(&g, ACCOUNT_SEGMENTS) - 0.0067 * 0.65) < 1e-12);
	assert_true(fabs(ledger_planned_for_timer(false, true) - 0.35) < 1e-12);
	ledger_use(&g, ACCOUNT_WINDOWS);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_COUNTS) - 0.0067 * 0.4) < 1e-12);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_BURSTS) - 0.0067 * 0.1) < 1e-12);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_LOOKS) - 0.0005) < 1e-12);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_SWITCHES) - 0.002) < 1e-12);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_ATTACHED) - 0.01 / 3) < 1e-12);
	/* a timer that is too dear leaves counts half: what is cut off is nobody's */
	ledger_cut(&g, ACCOUNT_COUNTS, 0.5);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_BURSTS) - 0.0067 * 0.05) < 1e-12);
	assert_true(fabs(ledger_rate(&g, ACCOUNT_TIMER) - 0.0067 * 0.6) < 1e-12);
}

/* Booked in a leaf, a spending shows once in each account above, and nowhere else. */
TEST(a_spending_shows_once)
{
	static const enum account up[ACCOUNTS] = {
		[ACCOUNT_OFFLOAD] = ACCOUNT_APART,   [ACCOUNT_COUNTS] = ACCOUNT_APART,
		[ACCOUNT_WINDOWS] = ACCOUNT_COUNTS,  [ACCOUNT_BURSTS] = ACCOUNT_COUNTS,
		[ACCOUNT_SEGMENTS] = ACCOUNT_COUNTS, [ACCOUNT_LOOKS] = ACCOUNT_APART,
	};

	for (int a = 0; a < ACCOUNTS; a++) {
		bool above[ACCOUNTS] = { [ACCOUNT_ALL] = true };
		struct ledger_line line;
		struct ledger g;

		ledger_open(&g, 0.01);
		ledger_spend(&g, a, 1000);
		ledger_spend(&g, a, NAN);
		for (int i = a; i; i = up[i])
			above[i] = true;
		for (unsigned i = 0; ledger_report(&g, i, &line); i++) {
			assert_true(line.spent == (above[i] ? 1000 : 0) && line.spent == ledger_spent(&g, i));
			assert_true(g.of[i].balance == (above[i] ? -1000 : 0));
		}
		assert_true(ledger_report(&g, (unsigned)a, &line));
		if (line.leaf) {
			double sum = 0;

			/* every spending is in one of them */
			for (unsigned i = 0; ledger_report(&g, i, &line); i++)
				sum += line.leaf ? line.spent : 0;
			assert_true(sum == 1000);
		}
		/* what is counted elsewhere is booked as it grows */
		ledger_count(&g, a, 1500);
		ledger_count(&g, a, 1500);
		assert_true(ledger_spent(&g, ACCOUNT_ALL) == 1500 && ledger_spent(&g, a) == 1500);
		/* told as it is likely, charged as it may be */
		ledger_spend_likely(&g, a, 100, 400);
		assert_true(ledger_spent(&g, a) == 1600 && g.of[a].balance == -1900);
	}
}

/* Whoever books below is refused when the account that has the share is empty; the timer never is. */
TEST(what_is_spent_is_refused)
{
	static const enum account refused[] = { ACCOUNT_WATCH,   ACCOUNT_ARMED,   ACCOUNT_SYSCALLS, ACCOUNT_HARDWARE,
						ACCOUNT_OFFLOAD, ACCOUNT_COUNTS,  ACCOUNT_HEAP,     ACCOUNT_WINDOWS,
						ACCOUNT_BURSTS,  ACCOUNT_SEGMENTS };

	for (unsigned k = 0; k < sizeof(refused) / sizeof(refused[0]); k++) {
		struct ledger g;

		OPEN(&g, 0.01, ACCOUNT_TIMER, ACCOUNT_WATCH, ACCOUNT_ARMED, ACCOUNT_SYSCALLS, ACCOUNT_HARDWARE,
		     ACCOUNT_OFFLOAD, ACCOUNT_COUNTS, ACCOUNT_HEAP);
		assert_true(ledger_allows(&g, ACCOUNT_TIMER, 1000));
		assert_false(ledger_allows(&g, refused[k], 1000));
		for (int i = 0; i < 1000; i++)
			ledger_earn(&g, 2e6);
		assert_true(ledger_allows(&g, refused[k], 1000));
		assert_true(ledger_affords(&g, refused[k], 1000) == 1);
		/* half a second's and more is there: more than a debt that is paid by then */
		assert_true(ledger_plenty(&g, refused[k]));
		ledger_spend(&g, refused[k], 1e9);
		assert_false(ledger_allows(&g, refused[k], 1000));
		assert_true(ledger_affords(&g, refused[k], 1000) == 0);
		assert_false(ledger_plenty(&g, refused[k]));
		assert_true(ledger_allows(&g, ACCOUNT_TIMER, 1000));
	}
}

/* What one source leaves, another spends: a cheap timer and no string instructions mean more windows. */
TEST(nothing_lies_idle)
{
#define USED ACCOUNT_TIMER, ACCOUNT_WATCH, ACCOUNT_ARMED, ACCOUNT_SYSCALLS

	struct ledger g;
	double budget = 0.01, idle;

	for (enum account greedy = ACCOUNT_WATCH; greedy <= ACCOUNT_ARMED; greedy++) {
		OPEN(&g, budget, USED);
		for (int i = 0; i < 5000; i++) {
			ledger_earn(&g, 2e6);
			ledger_spend(&g, ACCOUNT_TIMER, 4000); /* half of its share */
			while (ledger_allows(&g, greedy, 150000))
				ledger_spend(&g, greedy, 150000);
		}
		/* what the idle accounts hold back at most: two seconds' worth */
		idle = 2e9 * budget;
		assert_true(spent_share(&g) * g.run_ns + idle >= 0.99 * budget * g.run_ns);
		assert_true(spent_share(&g) <= budget);
	}
	/* a timer dearer than its share is paid by the others, and the sum keeps to the budget */
	OPEN(&g, budget, USED);
	for (int i = 0; i < 5000; i++) {
		ledger_earn(&g, 2e6);
		ledger_spend(&g, ACCOUNT_TIMER, 15000); /* three quarters of the whole */
		while (ledger_allows(&g, ACCOUNT_WATCH, 150000))
			ledger_spend(&g, ACCOUNT_WATCH, 150000);
	}
	assert_true(g.of[ACCOUNT_WATCH].spent > 0);
	assert_true(spent_share(&g) <= budget * 1.02);
	/* the same of offload probes that come in bursts, and what they leave is spent */
	for (int lazy = 0; lazy < 2; lazy++) {
		OPEN(&g, budget, USED, ACCOUNT_OFFLOAD);
		for (int i = 0; i < 5000; i++) {
			ledger_earn(&g, 2e6);
			ledger_spend(&g, ACCOUNT_TIMER, 4000);
			if (!lazy && i % 100 == 0)
				/* 45 % of the budget: their share is a third */
				ledger_spend(&g, ACCOUNT_OFFLOAD, 900000);
			while (ledger_allows(&g, ACCOUNT_WATCH, 150000))
				ledger_spend(&g, ACCOUNT_WATCH, 150000);
		}
		assert_true(spent_share(&g) <= budget * 1.02);
		assert_true(spent_share(&g) >= budget * 0.8);
	}
	/* and a timer that takes all leaves nothing */
	OPEN(&g, budget, USED);
	for (int i = 0; i < 5000; i++) {
		ledger_earn(&g, 2e6);
		ledger_spend(&g, ACCOUNT_TIMER, 30000);
	}
	assert_false(ledger_allows(&g, ACCOUNT_WATCH, 150000)); /* one window */
}

/* At low effort, in a program that is all copies, a window costs more than the account can ever hold. */
TEST(dear_windows_are_rare_not_none)
{
	struct outcome o = simulate(0.002, 0.5, 0, 4);

	printf("# low budget, half of the time in copies: %.0f windows in ten CPU-seconds, %.2f %% spent\n", o.windows,
	       100 * o.spent);
	assert_true(o.windows >= 1);
	assert_true(o.spent <= 0.002 * 1.2 + 0.0005);
}

TEST(measured_costs)
{
	struct cost_watch c;

	cost_watch_init(&c);
	assert_true(c.hit_ns == price_assumed(PRICE_WATCH_HIT) && c.arm_ns == price_assumed(PRICE_WATCH_ARM) &&
		    c.wake_ns == price_assumed(PRICE_WATCH_WAKE));
	cost_watch_prices(&c, NAN, 3000, NAN);
	assert_true(c.hit_ns == price_assumed(PRICE_WATCH_HIT) && c.arm_ns == 3000 &&
		    c.wake_ns == price_assumed(PRICE_WATCH_WAKE));
	cost_watch_prices(&c, 1500, NAN, 7000);
	assert_true(c.hit_ns == 1500 && c.arm_ns == 3000 && c.wake_ns == 7000);
}

/* Ten hits in two phases: each phase interrupts who runs, and at its end one hit wakes us. */
TEST(a_window_is_charged_for_waking_us)
{
	struct cost_watch c;
	struct ledger g;

	ledger_open(&g, 0.01);
	cost_watch_init(&c);
	cost_watch_prices(&c, 1000, 5000, 20000);
	for (int i = 0; i < 100; i++)
		ledger_wall(&g, 1e9, 3e9);
	assert_true(fabs(cost_watch_window(&c, 10, 2, 16, g.running) - (10 * 1000 + 2 * 20000 + 2 * 3 * 5000)) < 1);
	/* on two threads only */
	assert_true(fabs(cost_watch_window(&c, 10, 2, 2, g.running) - (10 * 1000 + 2 * 20000 + 2 * 2 * 5000)) < 1);
	assert_true(fabs(cost_watch_window(&c, 0, 1, 0, g.running) - 20000) < 1);
}

/* A timer that was asked for is not refused, so execution counts have what it leaves. */
TEST(what_a_timer_leaves)
{
	assert_true(ledger_left_by_timer(0.1, 0.3) == 1);
	assert_true(ledger_left_by_timer(0.3, 0.3) == 1);
	/* half of what the others would have shared */
	assert_true(fabs(ledger_left_by_timer(0.65, 0.3) - 0.5) < 1e-9);
	assert_true(ledger_left_by_timer(0.5, 0.3) > ledger_left_by_timer(0.6, 0.3));
	assert_true(fabs(ledger_left_by_timer(1, 0.3) - 0.1) < 1e-9);
	assert_true(fabs(ledger_left_by_timer(7, 0.3) - 0.1) < 1e-9);
}

/* A target that switches threads all the time loses by armed slots without any string instruction. */
TEST(switches_cost)
{
	struct cost_watch c;

	cost_watch_init(&c);
	for (int i = 0; i < 5000; i++)
		cost_watch_tick(&c, false, false);
	assert_true(cost_watch_slowdown(&c) < 0.01);
	assert_true(cost_watch_slots(&c, 1e6, 1) == 0);
	/* 30,000 per second of CPU time, at 1 us for each slot: 3 % of the armed time */
	cost_watch_switching(&c, 30000e-9, 1000);
	assert_true(cost_watch_slowdown(&c) > 0.03 && cost_watch_slowdown(&c) < 0.04);
	assert_true(cost_watch_armed(&c, 1e6, 1) > 0.025e6 && cost_watch_armed(&c, 1e6, 1) < 0.04e6);
	assert_true(cost_watch_armed_likely(&c, 1e6, 1) > 0.025e6 && cost_watch_armed_likely(&c, 1e6, 1) < 0.04e6);
	assert_true(cost_watch_slots(&c, 2e6, 1) > 0.05e6 && cost_watch_slots(&c, 2e6, 1) < 0.07e6);
	/* what is not known costs nothing yet */
	cost_watch_switching(&c, NAN, 1000);
	assert_true(cost_watch_slowdown(&c) < 0.01);
}

/* Windows may save for long and take what is spare: system calls are observed again and again all the same. */
TEST(bursts_go_on)
{
	static const double budget[] = { 0.005, 0.01, 0.05 };

	for (int k = 0; k < 3; k++) {
		struct ledger g;
		int bursts = 0;

		OPEN(&g, budget[k] * 0.88, ACCOUNT_TIMER, ACCOUNT_WATCH, ACCOUNT_ARMED, ACCOUNT_SYSCALLS,
		     ACCOUNT_COUNTS);
		for (int i = 0; i < 5000; i++) {
			double rate = ledger_rate(&g, ACCOUNT_SYSCALLS);

			ledger_earn(&g, 2e6);
			ledger_spend(&g, ACCOUNT_TIMER, 2e6 * ledger_rate(&g, ACCOUNT_TIMER));
			/* armed time is never full: windows take what there is */
			if (ledger_allows(&g, ACCOUNT_ARMED, 0))
				ledger_spend(&g, ACCOUNT_ARMED, g.of[ACCOUNT_ARMED].balance);
			if (!ledger_allows(&g, ACCOUNT_SYSCALLS, stretch_needs(rate)))
				continue;
			/* it was ended late, and to attach costs, too */
			ledger_spend(&g, ACCOUNT_SYSCALLS, 2 * stretch_limit(rate));
			bursts++;
		}
		/* each costs what this account earns in half a second; others leave it something, too */
		assert_in_range(bursts, 15, 100);
	}
}

TEST(readers_take_what_the_recorder_leaves)
{
	static const char *const names[] = { "low", "default", "high" };
	double alone[3];

	for (unsigned i = 0; i < 3; i++) {
		alone[i] = effort_bursts(names[i]) + effort_segments(names[i]);
		assert_true(effort_readers(names[i]) > 0 && effort_readers(names[i]) < alone[i] / 2);
	}
	effort_read_along();
	for (unsigned i = 0; i < 3; i++)
		assert_float_equal(effort_bursts(names[i]) + effort_segments(names[i]) + effort_readers(names[i]),
				   alone[i], 1e-12);
}
