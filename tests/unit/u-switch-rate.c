// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a target switches threads, from samples alone; and what events cost it then. */
#include <math.h>

#include "measure/switch_rate.h"
#include "measure/price_table.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

/* Three threads of different habits take turns; samples fall once a period of CPU time, at random. */
TEST(rate_is_found)
{
	static const double per_ns[3] = { 1e-5, 2e-4, 0 }, share[3] = { 0.5, 0.3, 0.2 };
	double cpu[3] = { 0 }, truth = 0;
	struct switch_rate s = { 0 };

	for (int i = 0; i < 3; i++)
		truth += per_ns[i] * share[i];
	assert_true(isnan(switch_rate_of(&s)));
	for (int i = 0; i < 4000; i++) {
		double u = uniform(), period = 2e6;
		int who = u < share[0] ? 0 : u < share[0] + share[1] ? 1 : 2;

		for (int k = 0; k < 3; k++)
			cpu[k] += period * share[k];
		assert_int_equal(switch_rate_tick(&s, 100 + (uint32_t)who, (uint64_t)(cpu[who] * per_ns[who]), period),
				 0);
	}
	assert_true(fabs(switch_rate_of(&s) / truth - 1) < 0.25);
	switch_rate_release(&s);
}

/* Ten intervals fade to a little less than ten: some more are needed, nine are too few. */
TEST(few_intervals_tell_no_rate)
{
	struct switch_rate s = { 0 };

	for (uint64_t i = 0; i < 10; i++)
		switch_rate_tick(&s, 7, i * 50, 1e6);
	assert_true(isnan(switch_rate_of(&s)));
	for (uint64_t i = 10; i < 20; i++)
		switch_rate_tick(&s, 7, i * 50, 1e6);
	assert_true(fabs(switch_rate_of(&s) / 5e-5 - 1) < 1e-9);
	switch_rate_release(&s);
}

TEST(lives_are_told_apart)
{
	struct switch_rate s = { 0 };

	/* one sample of each says nothing */
	for (uint32_t i = 0; i < 100; i++)
		switch_rate_tick(&s, i, 1000000, 1e6);
	assert_true(isnan(switch_rate_of(&s)));
	/* the number is used again: its switches start afresh, whether the end was seen or not */
	for (uint32_t i = 0; i < 50; i++)
		switch_rate_exit(&s, i);
	for (uint32_t i = 0; i < 100; i++)
		switch_rate_tick(&s, i, 7, 1e6);
	assert_true(isnan(switch_rate_of(&s)));
	for (uint32_t i = 0; i < 100; i++)
		switch_rate_tick(&s, i, 7, 1e6);
	assert_true(switch_rate_of(&s) == 0);
	switch_rate_release(&s);
}

/* On a machine under load a measurement may fail, but never say nonsense. */
TEST(costs_are_plausible)
{
	double bp, timer;

	measure_switch_breakpoint(NULL, &bp);
	measure_switch_timer(NULL, &timer);

	assert_true(isnan(bp) || (bp > 0 && bp < 50000));
	assert_true(isnan(timer) || (timer > 0 && timer < 50000));
}
