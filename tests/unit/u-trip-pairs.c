// SPDX-License-Identifier: GPL-2.0-or-later
/* What pairs of hits claim of a loop (code/trip_pairs.h). Whether that is so, tests/cli/t-trips.sh asks a processor. */
#include "code/trip_pairs.h"
#include "unit/unit.h"

/* for (i = 0; i < n; i++): left with n in the register */
static const struct runs_trips counted = {
	.in = { .bits = 64, .stride = 1, .entry_known = true, .exit = { { .add = 1 } }, .exits = 1 }, .exits = 1
};
static const struct runs_trips skipped = {
	.in = { .bits = 64, .stride = 1, .entry_known = true, .exit = { { .add = 1 } }, .exits = 1 },
	.exits = 1,
	.may_skip = true
};
/* from a register */
static const struct runs_trips from = { .in = { .bits = 64, .stride = 1, .exit = { { .add = 1 } }, .exits = 1 },
					.exits = 1 };
/* p = *p until it is 0, and one behind another */
static const struct runs_trips list = { .in = { .bits = 64, .exit = { { .next = true } }, .exits = 1 }, .exits = 1 };

static struct trip_pairs p;

static bool next(void *ctx, uint64_t addr, uint64_t *value)
{
	*value = addr < 5 ? addr + 1 : 0;
	return true;
}

/* The number of turns that it claims, or else -1 less what it says. */
static int met(unsigned slot, uint64_t sp, uint64_t value, bool last)
{
	uint64_t n = 0;
	enum trip_pairs_said said = trip_pairs_hit(&p, slot, sp, value, last, next, NULL, &n);

	return said == TRIP_PAIRS_ONE || said == TRIP_PAIRS_WITHIN ? (int)n : -1 - (int)said;
}

static int in(uint64_t sp, uint64_t value)
{
	return met(0, sp, value, false);
}

static int out(uint64_t sp, uint64_t value)
{
	return met(1, sp, value, false);
}

#define NOTHING (-1 - (int)TRIP_PAIRS_NOTHING)
#define ODD (-1 - (int)TRIP_PAIRS_ODD)

TEST(pairs)
{
	trip_pairs_begin(&p, &counted, false);
	assert_int_equal(in(8, 0), NOTHING);
	assert_int_equal(out(8, 5), 5);
	assert_int_equal(out(8, 5), NOTHING);
	assert_int_equal(in(8, 0), NOTHING);
	assert_int_equal(out(8, 7), 7);
	/* in again, and there is no way past the loop */
	assert_int_equal(in(8, 0), NOTHING);
	assert_int_equal(in(8, 0), ODD);
	assert_int_equal(out(8, 2), 2);
	trip_pairs_begin(&p, &skipped, false);
	assert_int_equal(in(8, 0), NOTHING);
	assert_int_equal(in(8, 0), 0);
	assert_int_equal(out(8, 0), 0);
	/* calls within calls; and values that do not fit */
	trip_pairs_begin(&p, &from, false);
	assert_int_equal(in(80, 1), NOTHING);
	assert_int_equal(in(40, 2), NOTHING);
	assert_int_equal(out(40, 5), 3);
	assert_int_equal(out(80, 3), 2);
	assert_int_equal(out(40, 3), NOTHING);
	assert_int_equal(in(8, 45), NOTHING);
	assert_int_equal(out(8, 44), ODD);
}

TEST(begun_before)
{
	trip_pairs_begin(&p, &counted, true);
	assert_int_equal(out(8, 5), 5);
	assert_int_equal(out(8, 5), NOTHING);
	trip_pairs_begin(&p, &counted, true);
	assert_int_equal(out(8, TRIP_PAIRS_MOST), NOTHING);
	/* passed by, perhaps: not unless the header ran, in the same call */
	trip_pairs_begin(&p, &counted, false);
	assert_int_equal(out(8, 5), NOTHING);
	trip_pairs_begin(&p, &counted, false);
	assert_int_equal(met(TRIP_PAIRS_HEADER, 80, 0, false), NOTHING);
	assert_int_equal(out(8, 5), NOTHING);
	trip_pairs_begin(&p, &counted, false);
	assert_int_equal(met(TRIP_PAIRS_HEADER, 8, 0, false), NOTHING);
	assert_int_equal(out(8, 5), 5);
	/* too late, or from nobody knows where */
	trip_pairs_begin(&p, &counted, true);
	assert_int_equal(in(80, 0), NOTHING);
	assert_int_equal(out(8, 5), NOTHING);
	trip_pairs_begin(&p, &from, true);
	assert_int_equal(out(8, 5), NOTHING);
}

TEST(lists)
{
	trip_pairs_begin(&p, &list, false);
	assert_int_equal(in(8, 1), NOTHING);
	assert_int_equal(met(1, 8, 0, true), 5);
	/* somebody may have been there since */
	trip_pairs_begin(&p, &list, false);
	assert_int_equal(in(8, 1), NOTHING);
	assert_int_equal(out(8, 0), NOTHING);
	assert_int_equal(met(1, 8, 0, true), NOTHING);
}
