// SPDX-License-Identifier: GPL-2.0-or-later
/* Where bursts say that time leads. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "counts/burst_shares.h"
#include "store/write.h"
#include "unit/unit.h"

#define FUNCS 4

struct went {
	uint32_t from, function; /* from 1; 0: no function */
	double part;
	unsigned bursts;
};

/* A recording, read from a file with so many records of each. */
static void load(struct counts_record *r, const struct went *went, int n, const double *time)
{
	char path[] = "/tmp/accperf-u-went.XXXXXX";
	struct store_writer *s;
	struct err e = { 0 };

	close(mkstemp(path));
	s = store_create(path, 0, &e);
	assert_non_null(s);
	for (int i = 0; i < n; i++)
		for (unsigned k = 0; k < went[i].bursts; k++) {
			const struct fmt_counts_went w = { went[i].from, went[i].function, (float)went[i].part };

			assert_int_equal(store_put(s, FMT_COUNTS_WENT, &w, sizeof(w)), 0);
		}
	/* functions are written when they have grown: behind what speaks of them */
	for (uint32_t f = 0; f < FUNCS; f++) {
		const struct fmt_counts_func func = { .id = f + 1, .module = 1, .self_ns = time[f] };

		assert_int_equal(store_put(s, FMT_COUNTS_FUNC, &func, sizeof(func)), 0);
	}
	assert_int_equal(store_close(s, &e), 0);
	assert_int_equal(counts_record_load(r, path, &e), 0);
	unlink(path);
	assert_int_equal(r->funcs, FUNCS);
}

/* Shares of what time leads to. */
static void led(const struct went *went, int n, const double *time, double *share, uint32_t *dropped)
{
	struct counts_record r = { 0 };
	double sum = 0;

	load(&r, went, n, time);
	*dropped = r.dropped;
	for (int f = 0; f < FUNCS; f++)
		share[f] = time[f];
	assert_int_equal(burst_shares(&r, share), 0);
	for (int f = 0; f < FUNCS; f++)
		sum += share[f];
	for (int f = 0; f < FUNCS; f++)
		share[f] /= sum;
	counts_record_release(&r);
}

static bool near(double a, double b)
{
	return fabs(a - b) < 0.02;
}

/* The first function leads to the second, and the third to the fourth: by chance far more bursts began in the third
 * than its time asks for. Sums by function could not tell who leads where. */
TEST(samples_say_how_often)
{
	const struct went went[] = {
		{ 1, 1, 0.5, 100 }, { 1, 2, 0.5, 100 }, { 2, 2, 1, 100 }, { 3, 3, 0.2, 300 }, { 3, 4, 0.8, 300 },
	};
	const double time[FUNCS] = { 0.8, 0.1, 0.1, 0 };
	double share[FUNCS];
	uint32_t dropped;

	led(went, 5, time, share, &dropped);
	assert_int_equal(dropped, 0);
	assert_true(near(share[0], 0.4) && near(share[1], 0.5) && near(share[2], 0.02) && near(share[3], 0.08));
}

/* In the fourth none began: of its time as much stays as of others', and the rest goes where they lead. */
TEST(none_began)
{
	const struct went went[] = {
		{ 1, 1, 0.5, 100 },
		{ 1, 2, 0.5, 100 },
		{ 2, 2, 0.5, 100 },
		{ 2, 3, 0.5, 100 },
	};
	const double time[FUNCS] = { 0, 0, 0, 1 };
	double share[FUNCS];
	uint32_t dropped;

	led(went, 4, time, share, &dropped);
	/* of a burst that began elsewhere, half is in the second, and a quarter in the third */
	assert_true(near(share[0], 0) && near(share[1], 0.5 * 2 / 3) && near(share[2], 0.5 / 3) && near(share[3], 0.5));
}

/* What is solved lies between where samples fell and where bursts lead from there. */
TEST(both_are_heard)
{
	const struct went went[] = { { 1, 2, 1, 1000 }, { 2, 2, 1, 1000 } };
	const double time[FUNCS] = { 3e9, 1e9, 0, 0 };
	struct counts_record r = { 0 };
	struct counts_built b;
	struct err e = { 0 };

	load(&r, went, 2, time);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	assert_true(near(b.tree.group[0].time / 1e9, 0.4 * 3) && near(b.tree.group[1].time / 1e9, 1 + 0.6 * 3));
	counts_built_release(&b);
	counts_record_release(&r);
}

TEST(too_few)
{
	const struct went went[] = { { 1, 2, 1, 20 }, { 2, 2, 1, 9 } };
	const double time[FUNCS] = { 1, 1, 1, 1 };
	double share[FUNCS];
	uint32_t dropped;

	led(went, 2, time, share, &dropped);
	for (int f = 0; f < FUNCS; f++)
		assert_true(near(share[f], 0.25));
}

/* What ran in no known function belongs to none; what began in none says nothing of functions; the rest is damage. */
TEST(of_no_function)
{
	const struct went went[] = {
		{ 1, 1, 0.2, 50 }, { 1, 0, 0.6, 50 }, { 1, 2, 0.2, 50 },     { 0, 3, 1, 500 }, { 2, 2, 1, 50 },
		{ 9, 1, 1, 5 },    { 1, 9, 0, 3 },    { 1, 1, NAN, 1 },      { 1, 1, -1, 1 },  { 1, 1, 2, 1 },
		{ 1, 1, 1e30, 1 }, { 9, 9, 1, 2 },    { 1, 1, INFINITY, 1 },
	};
	const double time[FUNCS] = { 1, 0, 0, 0 };
	double share[FUNCS];
	uint32_t dropped;

	led(went, 13, time, share, &dropped);
	/* of pairs that are no pair each counts once */
	assert_int_equal(dropped, 5 + 3);
	assert_true(share[0] > 0.4 && share[0] < 0.6 && near(share[0] + share[1], 1) && share[2] <= 0);
}
