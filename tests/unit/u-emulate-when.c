// SPDX-License-Identifier: GPL-2.0-or-later
/* When bursts begin: as often as both budgets allow, and by chance. */
#include <math.h>

#include "record/emulate_when.h"
#include "unit/unit.h"

#define PERIOD 10e6 /* ns of CPU time a sample: 100 a second, of a target that runs all the time */
#define SECONDS 2000
#define PER_SECOND 100

struct outcome {
	double bursts, own, target; /* by second */
	double after;               /* of bursts: those that had begun with the very next sample */
	double wait;                /* s: until the next burst's sample, as told when one has begun */
};

static struct outcome run(int per_second, double part, double target_part, double own_ns, double target_ns)
{
	struct emulate_when w;
	struct outcome o = { 0 };
	uint64_t now = 1000000000;
	int last = -2;

	emulate_when_begin(&w, part, target_part, PERIOD, 42);
	for (int s = 0, i = 0; s < SECONDS; s++, now += 1000000000) {
		for (int k = 0; k < per_second; k++, i++) {
			w.samples++;
			if (!emulate_when_sample(&w))
				continue;
			emulate_when_own(&w, own_ns);
			emulate_when_target(&w, target_ns);
			emulate_when_draw(&w);
			o.after += last == i - 1;
			o.wait += (double)emulate_when_wait(&w) / 1e9;
			o.bursts++;
			last = i;
		}
		emulate_when_second(&w, now);
	}
	o.after /= o.bursts;
	o.wait /= o.bursts;
	o.bursts /= SECONDS;
	o.own = o.bursts * own_ns / 1e9;
	o.target = o.bursts * target_ns / 1e9;
	return o;
}

TEST(own_time_is_bounded)
{
	struct outcome o = run(PER_SECOND, 0.05, 1, 5e6, 1e3);

	assert_true(fabs(o.own / 0.05 - 1) < 0.05);
	/* chance alone: one in ten samples, whether the one before had one or not */
	assert_true(fabs(o.bursts - 10) < 0.5 && fabs(o.after - 0.1) < 0.02);
}

TEST(so_is_the_target_s)
{
	struct outcome o = run(PER_SECOND, 1, 0.002, 1e5, 100e3);

	assert_true(fabs(o.target / 0.002 - 1) < 0.05);
	assert_true(fabs(o.bursts - 20) < 1);
	/* nothing to spend: the first one at most */
	o = run(PER_SECOND, 1, 0, 1e5, 100e3);
	assert_true(o.bursts * SECONDS <= 1);
}

TEST(where_both_suffice_every_sample_has_one)
{
	struct outcome o = run(PER_SECOND, 1, 1, 1e5, 1e5);

	assert_true(o.bursts > 0.99 * PER_SECOND);
}

TEST(a_target_that_mostly_sleeps_has_as_many_from_fewer_samples)
{
	struct outcome o = run(PER_SECOND / 5, 0.05, 1, 5e6, 1e3);

	assert_true(fabs(o.own / 0.05 - 1) < 0.05);
	assert_true(fabs(o.after - 0.5) < 0.03);
}

TEST(the_next_one_is_awaited_for_as_long_as_it_takes)
{
	struct outcome o = run(PER_SECOND, 0.05, 1, 5e6, 1e3), rare = run(PER_SECOND / 5, 0.05, 1, 5e6, 1e3);

	/* on average all samples until there, but the one that begins it */
	assert_true(fabs(o.wait - (1 / o.bursts - 1.0 / PER_SECOND)) < 0.005);
	assert_true(fabs(rare.wait - (1 / rare.bursts - 5.0 / PER_SECOND)) < 0.005);
}

TEST(both_budgets_pay)
{
	struct emulate_when w;

	emulate_when_begin(&w, .01, .002, PERIOD, 42);
	assert_float_equal(emulate_when_paid(&w, 1e6, 1e3), 1e8, 1);
	assert_float_equal(emulate_when_paid(&w, 1e3, 1e6), 5e8, 1);
}
