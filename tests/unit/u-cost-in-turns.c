// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording costs by turns without and with it, and the counters that tell it. */
#include <math.h>
#include <unistd.h>

#include "proc/progress.h"
#include "measure/cost_in_turns.h"
#include "unit/unit.h"
#include "util/random.h"

static struct turn turn(double seconds, double work, double cpu_s)
{
	return (struct turn){ .seconds = seconds, .work = work, .cpu_s = cpu_s };
}

/* With is `work` of without, whatever the target was at when the pair was taken. */
static void add(struct in_turns *t, double work)
{
	double busy = 1000 * (1 + t->pairs);
	struct turn without = turn(4, busy, 2), with = turn(2, busy * work / 2, 1);

	assert_true(in_turns_add(t, &without, &with));
}

/* Turns of different lengths, and one pair in which something else ran. */
TEST(rates_are_compared_pair_by_pair)
{
	struct in_turns t = { 0 };
	struct turn_change c;

	for (unsigned i = 0; i < 7; i++)
		add(&t, i == 3 ? .5 : .98);
	c = in_turns_work(&t);
	assert_float_equal(c.median, -.02, 1e-9);
	assert_float_equal(c.least, -.5, 1e-9);
	assert_float_equal(c.most, -.02, 1e-9);
	assert_int_equal(c.pairs, 7);
	c = in_turns_cpu(&t);
	assert_float_equal(c.median, 1 / .98 - 1, 1e-9);
}

TEST(no_interval_from_four_pairs)
{
	struct in_turns t = { 0 };

	for (unsigned i = 0; i < 4; i++)
		add(&t, .9 + .01 * i);
	assert_true(isnan(in_turns_work(&t).low) && isnan(in_turns_work(&t).high));
	assert_false(isnan(in_turns_work(&t).median));
	add(&t, .95);
	assert_float_equal(in_turns_work(&t).low, -.1, 1e-9);
	assert_float_equal(in_turns_work(&t).high, -.05, 1e-9);
}

/* A turn in which nothing was done, or whose counters could not be read, is in no figure. */
TEST(what_is_not_known_is_left_out)
{
	struct in_turns t = { 0 };
	struct turn idle = turn(4, 0, 0), unread = turn(4, NAN, NAN), one = turn(4, 10, 1);

	assert_true(isnan(in_turns_work(&t).median));
	assert_true(in_turns_add(&t, &idle, &one));
	assert_true(in_turns_add(&t, &one, &unread));
	assert_true(isnan(in_turns_work(&t).median));
	assert_int_equal(in_turns_work(&t).pairs, 0);
	while (t.pairs < TURN_PAIRS_MOST)
		add(&t, 1);
	assert_false(in_turns_add(&t, &one, &one));
}

/* Intervals hold as often as they say: of medians of 5 to 12 pairs whose ratios scatter by a fat-tailed law. */
TEST(intervals_hold)
{
	uint64_t seed = 7;

	for (unsigned pairs = TURN_PAIRS_LEAST; pairs <= 12; pairs++) {
		unsigned held = 0, tries = 4000;

		for (unsigned k = 0; k < tries; k++) {
			struct in_turns t = { 0 };
			struct turn_change c;

			for (unsigned i = 0; i < pairs; i++) {
				double u = random_unit(&seed);

				add(&t, .97 * exp(.01 * tan(M_PI * (u - .5)) * (u > .02 && u < .98)));
			}
			c = in_turns_work(&t);
			held += c.low <= -.03 + 1e-12 && c.high >= -.03 - 1e-12;
		}
		assert_true(held >= .89 * tries);
	}
}

TEST(turns_undo_a_drift)
{
	static const bool with[] = { false, true, true, false, false, true, true, false };

	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(in_turns_with(i), with[i]);
}

TEST(counters_of_the_kernel)
{
	double v = -1;

	assert_int_equal(progress_io("rchar: 5\nwchar: 6\nsyscr: 70\nsyscw: 8\nread_bytes: 0\n", &v), 0);
	assert_float_equal(v, 78, 0);
	assert_true(progress_io("rchar: 5\nsyscr: 70\n", &v) < 0);
	assert_int_equal(progress_net("Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n"
				      "    lo: 1200 4 0 0 0 0 0 0 1200 4\n  eth0:9999999999 1 0\n",
				      &v),
			 0);
	assert_float_equal(v, 10000001199.0, 0);
	assert_true(progress_net("", &v) < 0);
	assert_true(progress_net("nothing: of the kind\n", &v) < 0);
}

TEST(our_own_progress)
{
	int pids[] = { getpid(), 0x7ffffff /* no such process */ };
	struct progress before, after;
	char byte;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	progress_read(pids, 2, &before);
	for (unsigned i = 0; i < 50; i++)
		assert_true(write(fds[1], "x", 1) == 1 && read(fds[0], &byte, 1) == 1);
	progress_read(pids, 2, &after);
	/* the look itself reads files */
	assert_true(after.calls >= before.calls + 100 && after.calls < before.calls + 200);
	assert_true(after.cpu_s >= before.cpu_s && before.cpu_s > 0);
	assert_true(after.at_ns > before.at_ns);
	progress_read(&pids[1], 1, &after);
	assert_true(isnan(after.calls) && isnan(after.net) && isnan(after.cpu_s));
	close(fds[0]);
	close(fds[1]);
}
