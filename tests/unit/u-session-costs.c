// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording costs and how that decides how often it ticks: the session over sources that are made up
 * (fake_sources.h). */
#include "fake_sources.h"
#include "kmod-free/kernel_tick.h"

TEST(the_period_follows_from_the_budget)
{
	struct session_opts o = { .budget = 0.01, .timer_part = 0.5, .max_hz = 1000 };
	struct recording r;

	open_recording(&r, &o, 0);
	/* half of a hundredth of a second, at TICK_NS each: 250 Hz */
	assert_int_equal(fake.period, 4 * MS);
	assert_true(fabs(session_timer_share(r.s) - 0.005) < 1e-9);
	close_recording(&r);
	o.max_hz = 100;
	open_recording(&r, &o, 0);
	assert_int_equal(fake.period, 10 * MS);
	close_recording(&r);
	/* the kernel's ticks are among the most that there may be */
	o.max_hz = 100 + 1e9 / (double)kernel_tick_ns();
	kernel_may_tick = true;
	open_recording(&r, &o, 0);
	assert_in_range(fake.period, 10 * MS - 1, 10 * MS + 1);
	close_recording(&r);
	kernel_may_tick = false;
	o.budget = 1e-6;
	open_recording(&r, &o, 0);
	assert_int_equal(fake.period, SECOND / 19);
	close_recording(&r);
	o.period_ns = 3 * MS;
	open_recording(&r, &o, 0);
	assert_int_equal(fake.period, 3 * MS);
	close_recording(&r);
}

TEST(the_timer_has_the_share_of_windows_that_there_are_not)
{
	struct session_opts o = { .budget = 0.01, .timer_part = 0.25, .max_hz = 1000 };
	struct recording r;

	open_recording(&r, &o, 1);
	ledger_use(session_ledger(r.s), ACCOUNT_COUNTS);
	ledger_use(session_ledger(r.s), ACCOUNT_WATCH);
	start(&r);
	assert_int_equal(fake.period, 8 * MS);
	finish(&r);
	close_recording(&r);
	/* they could not be opened */
	open_recording(&r, &o, 1);
	ledger_use(session_ledger(r.s), ACCOUNT_COUNTS);
	start(&r);
	assert_true(fabs(session_timer_share(r.s) - 0.01 * ledger_planned_for_timer(false, true)) < 1e-6);
	finish(&r);
	close_recording(&r);
	o.period_ns = 3 * MS;
	open_recording(&r, &o, 1);
	start(&r);
	assert_int_equal(fake.period, 3 * MS);
	finish(&r);
	close_recording(&r);
}

TEST(each_tick_is_booked_and_earns)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 1);
	start(&r);
	for (unsigned i = 0; i < 10; i++)
		plant(EPOCH + MS + i, 1);
	fake.ticks += 2; /* of which nothing came */
	poll_at(&r, EPOCH + 100 * MS);
	assert_true(fabs(ledger_spent(session_ledger(r.s), ACCOUNT_TIMER) - 10 * TICK_NS) < 1);
	assert_true(fabs(session_ledger(r.s)->run_ns - 10.0 * PERIOD) < 1);
	finish(&r);
	assert_int_equal(session_totals(r.s)->samples, 10);
	assert_int_equal(session_totals(r.s)->target_ns, 10 * PERIOD);
	assert_true(fabs((double)session_totals(r.s)->target_lost_ns - 12 * TICK_NS) < 2);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.cost.target_cpu_ns, 10 * PERIOD);
	assert_true(fabs((double)p.cost.target_lost_ns - 12 * TICK_NS) < 2);
	assert_true(p.cost.own_cpu_ns > 0 && p.cost.peak_rss > 0);
	assert_int_equal(counter(&p, "target's time taken, us: samples", NULL), 200);
	assert_int_equal(counter(&p, "target's time taken, us: ticks without a sample", NULL), 40);
	/* sums would be counted twice */
	assert_int_equal(counter(&p, "target's time taken, us: budget", NULL), ~0ull);
	close_recording(&r);
}

/* They cost what our program takes, and no interrupt. */
TEST(the_kernels_own_ticks_cost_no_interrupt)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 1);
	fake.kernel_ticks = true;
	start(&r);
	for (unsigned i = 0; i < 10; i++) {
		struct sample *m = plant(EPOCH + MS + i, 1);

		m->flags |= i % 2 ? SF_KERNEL_TICK : 0;
		fake.ticks -= i % 2;
	}
	fake.kernel_tick_ns = 5 * 2000;
	poll_at(&r, EPOCH + 100 * MS);
	assert_true(fabs(ledger_spent(session_ledger(r.s), ACCOUNT_TIMER) - 5 * TICK_NS) < 1);
	assert_true(fabs(session_ledger(r.s)->run_ns - 10.0 * PERIOD) < 1);
	finish(&r);
	assert_int_equal(session_totals(r.s)->samples, 10);
	assert_true(fabs((double)session_totals(r.s)->target_lost_ns - (5 * TICK_NS + 10000)) < 2);
	read_profile(&p, r.path[0]);
	assert_int_equal(counter(&p, "target's time taken, us: the kernel's own ticks", NULL), 10);
	assert_int_equal(counter(&p, COUNTER_TICKS_GIVEN_UP, NULL), ~0ull);
	assert_int_equal(p.rate.period, fake.period / 2);
	assert_true(fabs(p.rate.per_second - 2e9 / (double)fake.period) < 1e-6);
	close_recording(&r);
}

/* Of a target that they never meet, and whose timers do. */
TEST(ticks_in_step_are_given_up)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 1);
	fake.kernel_ticks = true;
	start(&r);
	for (unsigned second = 1; second < 10; second++) {
		for (unsigned i = 0; i < 30; i++)
			plant(EPOCH + second * 1000 * MS + i, 1);
		poll_at(&r, EPOCH + second * 1000 * MS + 500 * MS);
		assert_int_equal(fake.kernel_ticks, second < 4);
	}
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(counter(&p, COUNTER_TICKS_GIVEN_UP, NULL), 1);
	assert_int_equal(p.rate.period, fake.period);
	close_recording(&r);
}

TEST(ticks_that_have_no_room_are_no_samples)
{
	struct recording r;
	struct seen p;

	open_recording(&r, NULL, 1);
	fake.kernel_ticks = true;
	start(&r);
	for (unsigned i = 0; i < 100; i++) {
		struct sample *m = plant(EPOCH + MS + i, 1);

		m->flags |= SF_KERNEL_TICK, m->valid |= SV_RAN;
		m->ran = MS + i * MS / 10;
	}
	poll_at(&r, EPOCH + 100 * MS);
	finish(&r);
	assert_in_range(session_totals(r.s)->samples, 1, 8);
	read_profile(&p, r.path[0]);
	assert_int_equal(counter(&p, COUNTER_IN_STEP, NULL), 1);
	close_recording(&r);
}

/* Ticks of one thread that switched `switches` times between any two. */
static void plant_switching(unsigned n, uint64_t switches, uint64_t at)
{
	static uint64_t so_far;

	for (unsigned i = 0; i < n; i++) {
		struct sample *m = plant(at + i, 1);

		m->valid |= SV_SWITCHES;
		m->switches = so_far += switches;
	}
}

TEST(ticks_that_turn_out_dearer_come_less_often)
{
	struct session_opts o = { .budget = 0.01, .timer_part = 0.5, .max_hz = 1000 };
	struct recording r;
	struct seen p;

	open_recording(&r, &o, 0);
	start(&r);
	/* every microsecond: a tick wakes a CPU as well */
	plant_switching(20, PERIOD / 1000, EPOCH + MS);
	poll_at(&r, EPOCH + 100 * MS);
	assert_true(session_waits_for_itself(r.s));
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		assert_true(session_tick_cost(r.s) > 1.2 * TICK_NS);
		assert_true(fake.retimed > 4 * MS);
		assert_int_equal(session_period(r.s), fake.retimed);
	}
	finish(&r);
	read_profile(&p, r.path[0]);
	assert_int_equal(p.rate.period, session_period(r.s));
	close_recording(&r);
	/* a period that was asked for stays */
	open_recording(&r, NULL, 0);
	start(&r);
	plant_switching(20, PERIOD / 1000, EPOCH + MS);
	poll_at(&r, EPOCH + 100 * MS);
	assert_int_equal(fake.retimed, 0);
	finish(&r);
	close_recording(&r);
}

TEST(timers_of_threads_cost_at_each_switch)
{
	struct recording r;
	double spent;

	open_recording(&r, NULL, 0);
	fake.by_thread = true;
	start(&r);
	/* before it is known how often they switch no breakpoint may be put */
	assert_true(session_breakpoints_forbidden(r.s));
	plant_switching(20, 2, EPOCH + MS);
	poll_at(&r, EPOCH + 100 * MS);
	/* of 19 intervals; the rate is known from the tenth on, and each that tells of switches is exact */
	spent = ledger_spent(session_ledger(r.s), ACCOUNT_SWITCHES);
	assert_true(spent > 0 && spent <= 20 * 2 * SWITCH_TIMER_NS);
	assert_true(session_breakpoints_forbidden(r.s)); /* 1000 a second at 5 us: .5 %, of which .2 % are allowed */
	assert_int_equal(session_totals(r.s)->put_off, 2);
	close_recording(&r);
	/* a command's threads have inherited ones only, of which most are swapped */
	open_recording(&r, NULL, 0);
	fake.by_thread = true;
	r.t.child = 1; /* no child of ours: it does not end */
	start(&r);
	plant_switching(20, 2, EPOCH + MS);
	poll_at(&r, EPOCH + 100 * MS);
	assert_true(ledger_spent(session_ledger(r.s), ACCOUNT_SWITCHES) < 0.3 * spent);
	r.t.child = 0;
	close_recording(&r);
	/* timers of CPUs cost nothing there */
	open_recording(&r, NULL, 0);
	start(&r);
	plant_switching(20, 2, EPOCH + MS);
	poll_at(&r, EPOCH + 100 * MS);
	assert_true(ledger_spent(session_ledger(r.s), ACCOUNT_SWITCHES) == 0);
	assert_false(session_breakpoints_forbidden(r.s));
	close_recording(&r);
}
