// SPDX-License-Identifier: GPL-2.0-or-later
/* What it costs a target that switches threads that breakpoints are attached at all: charged while it lasts, shared,
 * and not begun before it can be afforded. */
#include <math.h>

#include "measure/cost_attached.h"
#include "record/ledger.h"
#include "measure/price_table.h"
#include "unit/unit.h"

#define RATE 5e-5  /* 50,000 per second of CPU time */
#define EACH 200.0 /* ns a switch: a hundredth of all time */
#define TICK 2e6
#define WINDOW 300000.0
#define MAY (0.01 / 3) /* a third of a budget of one hundredth */

TEST(charged_while_it_lasts)
{
	struct cost_attached a = { .switch_ns = EACH, .users = 2 };

	assert_false(cost_attached_at(&a, 5));
	assert_true(cost_attached_ns(&a, 5, RATE, 1e9) == 0);
	assert_true(fabs(cost_attached_entry(&a, 5, RATE, 3) - 3 * 1e9 * RATE * EACH / 2) < 1);
	cost_attached_take(&a, 1, 5);
	cost_attached_take(&a, 2, 5);
	assert_true(cost_attached_at(&a, 5));
	assert_true(fabs(cost_attached_ns(&a, 5, RATE, 1e9) - 1e9 * RATE * EACH / 2) < 1);
	assert_true(cost_attached_entry(&a, 5, RATE, 3) == 0);
	cost_attached_give(&a, 2, 1000);
	assert_true(cost_attached_at(&a, 10 * ATTACHED_LINGER_NS)); /* one is still open */
	cost_attached_give(&a, 1, 2000);
	assert_true(cost_attached_at(&a, 2000 + ATTACHED_LINGER_NS - 1));
	assert_false(cost_attached_at(&a, 2000 + ATTACHED_LINGER_NS));
	cost_attached_give(&a, 9, 1);
	assert_int_equal(a.held, 0);
}

TEST(unknown_is_no_number)
{
	struct cost_attached a = { .switch_ns = EACH, .users = 1, .held = 1 },
			     nobody = { .switch_ns = EACH, .held = 1 };

	assert_true(cost_attached_ns(&a, 0, NAN, 1e9) == 0);
	assert_true(cost_attached_ns(&nobody, 0, RATE, 1e9) == 0);
}

struct outcome {
	double share, windows, bunches, attached;
};

/* Two minutes of a target; whoever opens windows takes as many as its account affords, as the parts of a recording
 * do. */
static struct outcome simulate(double budget, double rate)
{
	struct cost_attached a = { .switch_ns = EACH, .users = 1 };
	struct ledger g;
	struct outcome o = { 0 };
	double taken = 0, now = 1e9;

	ledger_open(&g, budget);
	ledger_use(&g, ACCOUNT_WATCH);
	for (; now < 121e9; now += TICK) {
		uint64_t t = (uint64_t)now;
		double attached = cost_attached_ns(&a, t, rate, TICK);

		ledger_earn(&g, TICK);
		ledger_spend(&g, ACCOUNT_WATCH, attached);
		taken += attached;
		o.attached += attached / 120e9;
		if (cost_attached_rests(&a, t, rate, ledger_rate(&g, ACCOUNT_ATTACHED)) ||
		    !ledger_allows(&g, ACCOUNT_WATCH, WINDOW + cost_attached_entry(&a, t, rate, 1)))
			continue;
		o.bunches += !cost_attached_at(&a, t);
		o.windows++;
		cost_attached_take(&a, 1, t);
		cost_attached_give(&a, 1, t);
		ledger_spend(&g, ACCOUNT_WATCH, WINDOW);
		taken += WINDOW;
	}
	o.share = taken / 120e9;
	return o;
}

TEST(the_budget_holds_all_the_same)
{
	struct outcome calm = simulate(0.004, 0), busy = simulate(0.004, RATE), rich = simulate(0.031, RATE);

	/* what the second after the last window costs may be owed at the end, a twelfth of a thousandth here */
	assert_true(calm.share <= 0.0041 && calm.share > 0.0035);
	print_message("busy: share %g of it attached %g, %g windows in %g bunches; calm %g windows\n", busy.share,
		      busy.attached, busy.windows, busy.bunches, calm.windows);
	/* an account holds what is earned in two seconds, and rests are longer */
	assert_true(busy.share <= 0.0042 && busy.share > 0.0015);
	assert_true(rich.share <= 0.0315 && rich.share > 0.025);
	/* in bunches: with a pause after each, in which the target is left alone */
	assert_true(busy.windows > 4 * busy.bunches && busy.bunches > 5 && busy.bunches < 60);
	assert_true(busy.windows < calm.windows / 2);
	/* most of it goes to windows */
	assert_true(busy.attached < 0.004 / 3 * 1.1 && busy.attached > 0.0005);
	/* where it is affordable all the time there are no pauses */
	assert_true(rich.bunches <= 2);
}

/* The bunch, the second in which the kernel has not noticed, and a rest that makes both a third of the budget. */
TEST(bunches_and_rests)
{
	struct cost_attached a = { .switch_ns = EACH, .users = 1 };
	uint64_t s = 1000000000ull, end;

	/* a hundredth of all time is lost while attached; of a budget of one hundredth a third may be */
	assert_false(cost_attached_rests(&a, s, RATE, MAY));
	cost_attached_take(&a, 1, 10 * s);
	assert_false(cost_attached_rests(&a, 11 * s, RATE, MAY));
	assert_true(cost_attached_rests(&a, 11 * s + 1, RATE, MAY));
	/* not where it is within a third, or the target does not switch, or that is not known */
	assert_false(cost_attached_rests(&a, 12 * s, RATE, 3.1 * MAY));
	assert_false(cost_attached_rests(&a, 12 * s, 0, MAY));
	assert_false(cost_attached_rests(&a, 12 * s, NAN, MAY));
	cost_attached_give(&a, 1, 11 * s);
	end = 11 * s + ATTACHED_LINGER_NS;
	assert_true(cost_attached_rests(&a, end, RATE, MAY));
	assert_true(cost_attached_rests(&a, end + 2 * (end - 10 * s) - s / 10, RATE, MAY));
	assert_false(cost_attached_rests(&a, end + 2 * (end - 10 * s) + s / 10, RATE, MAY));
	/* another bunch begins anew */
	cost_attached_take(&a, 1, 20 * s);
	assert_false(cost_attached_rests(&a, 21 * s, RATE, MAY));
}

TEST(measured_on_ourselves)
{
	double ns;

	measure_switch_attached(NULL, &ns);

	/* NaN: perf events cannot be had here */
	assert_true(isnan(ns) || (ns >= 0 && ns < 50000));
}
