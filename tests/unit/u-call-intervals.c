// SPDX-License-Identifier: GPL-2.0-or-later
/* Intervals of bytes and median times of offload calls hold what they are of nine times in ten, and say what they do
 * not know. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "offload/call_intervals.h"
#include "unit/unit.h"
#include "util/random.h"

#define ROUNDS 2000 /* 90 % of them: 1,800 and 13 */
#define ALL 4000u   /* calls of a recording */

/* Sizes of 64 bytes to 64 kilobytes, evenly in the logarithm. */
static double draw_size(uint64_t *state)
{
	return floor(exp2(6 + 10 * random_unit(state)));
}

/* A quarter of a recording's calls is seen, how many there are is known: how often is what all took held? */
TEST(bytes_of_calls_not_seen)
{
	uint64_t seed = 12345;
	unsigned held = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct offload_item it = { .calls = ALL / 4, .estimate = ALL, .low = ALL, .high = ALL };
		double seen = 0, all = 0;
		struct call_interval of;

		for (unsigned i = 0; i < ALL; i++) {
			double size = draw_size(&seed);
			struct offload_octave *o = &it.octave[(int)log2(size) + 1];

			all += size;
			if (i % 4)
				continue;
			seen += size;
			o->calls++;
			o->bytes += size;
		}
		of = offload_bytes_interval(&it, seen);
		held += of.low <= all && all <= of.high;
		assert_true(of.low >= seen);
	}
	assert_in_range(held, ROUNDS * 84 / 100, ROUNDS * 97 / 100);
}

TEST(bytes_that_are_known)
{
	struct offload_item it = { .calls = 10, .estimate = 10, .low = 10, .high = 10 };
	struct call_interval of;

	it.octave[8] = (struct offload_octave){ .calls = 10, .bytes = 2000 };
	of = offload_bytes_interval(&it, 2000);
	assert_float_equal(of.low, 2000, 1e-9);
	assert_float_equal(of.high, 2000, 1e-9);
	of = offload_bytes_interval(&it, 0);
	assert_float_equal(of.high, 0, 0);
	/* some of the counted calls did not tell */
	it.unknown_bytes = 4;
	of = offload_bytes_interval(&it, 1200);
	assert_float_equal(of.low, 1200, 1e-9);
	assert_true(of.high > 1200 + 4 * 200);
	it.unknown_bytes = 10;
	of = offload_bytes_interval(&it, 0);
	assert_true(isnan(of.low) && isnan(of.high));
	/* nobody knows how many there were */
	it.unknown_bytes = 0;
	it.estimate = it.high = NAN;
	of = offload_bytes_interval(&it, 2000);
	assert_true(of.low >= 2000 && isnan(of.high));
}

static void put(struct spread *s, double v, double weight)
{
	s->total += weight;
	s->squares += weight * weight;
	s->bins[(int)(log2(v) * SPREAD_FINE)] += weight;
}

TEST(medians)
{
	uint64_t seed = 99;
	unsigned held = 0;
	struct spread none = { 0 };

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct spread s = { .bins = calloc(SPREAD_BINS, sizeof(double)) };
		struct call_interval of;

		for (unsigned i = 0; i < 100; i++)
			put(&s, draw_size(&seed), 7);
		of = spread_median_interval(&s);
		held += of.low <= exp2(11) && exp2(11) <= of.high;
		assert_true(of.low < spread_quantile(&s, .5) && spread_quantile(&s, .5) < of.high);
		free(s.bins);
	}
	assert_in_range(held, ROUNDS * 86 / 100, ROUNDS * 97 / 100);
	assert_true(isnan(spread_median_interval(&none).low));
	none.total = 7;
	none.squares = 49; /* of one call */
	assert_true(isnan(spread_median_interval(&none).high));
}
