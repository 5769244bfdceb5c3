// SPDX-License-Identifier: GPL-2.0-or-later
/* Bursts of observed system calls in a simulated target: what they cost, and what they stand for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "record/syscall_stretch.h"

static uint64_t x = 88172645463325252ull;

static double uniform(void)
{
	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return (double)(x >> 11) / 9007199254740992.0;
}

struct world {
	double calls, others; /* per second */
	double call_ns, other_ns;
	double delay; /* ns, until we are scheduled and have detached */
};

struct outcome {
	double cost, lost_by_others; /* share of one CPU */
	double told;                 /* calls that the records stand for, per real call */
	unsigned bursts;
};

/* Twenty seconds, polled every 40 ms as the session does, or when the plan asks. */
static struct outcome simulate(const struct world *w, double rate, unsigned cpus, double budget)
{
	const double seconds = 20, start = 1e9;
	struct syscall_stretch p;
	struct outcome o = { 0 };
	double now = start, balance = 0, limit = stretch_limit(rate), seen = 0;
	bool held = false;

	stretch_init(&p, budget, cpus);
	while (now < start + seconds * 1e9) {
		uint64_t look = stretch_begin(&p, (uint64_t)now);
		double began = now, cost, full = limit / w->call_ns / w->calls * 1e9, others, over = 0;
		bool go_on;

		do {
			double step = fmin(40e6, (double)look > now ? (double)look - now : 40e6);

			if (began + full < now + step) {
				over = began + full;
				step = over + w->delay - now;
			}
			now += step;
			look = 0;
			others = (now - began) / 1e9 * w->others * w->other_ns;
		} while (!stretch_due(&p, (uint64_t)now, (uint64_t)over, others));
		/* what is not reported costs something, too; here as much */
		cost = (now - began) / 1e9 * w->calls * w->call_ns;
		seen = (over > 0 ? over - began : now - began) / 1e9 * w->calls;
		go_on = stretch_end(&p, (uint64_t)now, (uint64_t)over, cost, rate, others, uniform());
		o.cost += cost;
		o.lost_by_others += others;
		o.bursts++;
		balance -= cost;
		held = true;
		if (go_on) {
			o.told += seen * stretch_factor(&p, (uint64_t)now, false);
			held = false;
			continue;
		}
		while ((now < (double)p.next || balance + (now - start) * rate < limit) && now < start + seconds * 1e9)
			now += 20e6;
		if (now < start + seconds * 1e9) {
			o.told += seen * stretch_factor(&p, (uint64_t)now, false);
			held = false;
		}
	}
	if (held)
		o.told += seen * stretch_factor(&p, (uint64_t)now, true);
	o.cost /= now - start;
	o.lost_by_others /= now - start;
	o.told /= w->calls * (now - start) / 1e9;
	return o;
}

static void budgets_hold(void **state)
{
	static const double calls[] = { 100, 5e3, 2e5, 4e6 }, others[] = { 0, 1e4, 5e6 }, delays[] = { 2e5, 5e6, 3e7 };
	const double rate = 0.001, budget = 0.01;

	for (int c = 0; c < 4; c++)
		for (int k = 0; k < 3; k++)
			for (int d = 0; d < 3; d++) {
				struct world w = { calls[c], others[k], 450, 150, delays[d] };
				struct outcome o = simulate(&w, rate, 2, budget);

				/* debt of one burst and of its delay at the end, over twenty seconds */
				assert_true(o.cost <= rate + (stretch_limit(rate) +
							      w.calls * w.call_ns / 1e9 * (w.delay + 40e6)) /
								      20e9 * 1.01);
				/* the first look lasts a poll */
				assert_true(o.lost_by_others <=
					    2 * budget * 1.2 + w.others * w.other_ns / 1e9 * 0.1 / 20);
				/* the calls come evenly, so that what is told is exact but for the ends */
				assert_true(fabs(o.told - 1) < 0.05);
			}
}

static void few_calls_are_seen_all(void **state)
{
	struct world w = { 500, 2000, 450, 150, 2e5 };
	struct outcome o = simulate(&w, 0.001, 2, 0.01);

	assert_true(fabs(o.told - 1) < 1e-6);
	assert_in_range(o.bursts, 20, 22); /* without a pause between them */
}

static void others_are_spared(void **state)
{
	struct world quiet = { 500, 2000, 450, 150, 2e5 }, busy = { 500, 5e6, 450, 150, 2e5 };
	struct outcome a = simulate(&quiet, 0.001, 2, 0.01), b = simulate(&busy, 0.001, 2, 0.01);

	/* all the time it would be 75 % of a CPU */
	assert_true(a.lost_by_others < 0.001);
	assert_true(b.lost_by_others > 0.002 && b.lost_by_others < 0.03);
}

/* Clocks that stand still or step back must not divide by zero or give negative weights. */
static void odd_times(void **state)
{
	struct syscall_stretch p;

	stretch_init(&p, 0.01, 0);
	stretch_begin(&p, 1000);
	assert_false(stretch_end(&p, 1000, 1000, 1e6, 0, 0, 0));
	assert_true(stretch_factor(&p, 900, false) >= 1);
	stretch_begin(&p, 2000);
	stretch_end(&p, 2500, 5000, 0, 0, 0, 0.5);
	assert_true(stretch_factor(&p, 2500, true) >= 1);
	assert_true(isfinite(stretch_factor(&p, UINT64_MAX, true)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budgets_hold),
		cmocka_unit_test(few_calls_are_seen_all),
		cmocka_unit_test(others_are_spared),
		cmocka_unit_test(odd_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
