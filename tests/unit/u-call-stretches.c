// SPDX-License-Identifier: GPL-2.0-or-later
/* Stretches of system calls against a planted recording: totals, and whether intervals hold them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow/call_stretches.h"
#include "flow/resample.h"
#include "unit/unit.h"
#include "util/random.h"
#include "util/normal.h"

#define MOST 60

struct planted {
	struct call_stretches b;
	double of_kind[MOST]; /* weighted bytes of one of two calls, by stretch */
	double truth;         /* of that call, in all */
};

/* Bytes per millisecond swing by a factor of nine from stretch to stretch, and so does the part of them that is of the
 * kind. Stretches stand for what lies before them; `misjudged` scales their weights. */
static struct planted plant(unsigned stretches, double weight, double misjudged, uint64_t *chance)
{
	struct planted p = { .b.count = stretches, .b.stretch = calloc(stretches, sizeof(*p.b.stretch)) };

	for (unsigned i = 0; i < stretches; i++) {
		struct call_stretch *b = &p.b.stretch[i];

		b->begin = 1000000000ull * (i + 1);
		b->end = b->begin + 5000000;
		b->weight = 1 + (weight - 1) * misjudged;
		/* of what the stretch stands for, a part is seen, and is like the rest but for chance */
		for (int seen = 1; seen >= 0; seen--) {
			double part = seen ? 1 : weight - 1, rate = 0, kind = 0;
			int pieces = (int)(8 * part);

			for (int k = 0; k < pieces; k++) {
				double r = exp(2.2 * random_unit(chance)) / pieces, of = random_unit(chance);

				rate += r;
				kind += r * of;
			}
			if (seen) {
				b->seen[CALLS_TIME] = 5e6;
				b->seen[CALLS_READ] = rate * 5e6;
				p.of_kind[i] = b->weight * kind * 5e6;
			}
			p.b.total[CALLS_TIME] += part * 5e6;
			p.b.total[CALLS_READ] += part * rate * 5e6;
			p.truth += part * kind * 5e6;
		}
	}
	p.b.total[CALLS_WRITTEN] = NAN;
	return p;
}

static double estimate(const struct planted *p, enum call_measure m)
{
	double sum = 0;

	for (size_t i = 0; i < p->b.count; i++)
		sum += p->of_kind[i];
	return sum * call_scale(&p->b, m);
}

TEST(totals_follow_what_the_kernel_counted)
{
	uint64_t chance = 7;
	struct planted p = plant(20, 40, 0.5, &chance);
	double all = 0;

	for (size_t i = 0; i < p.b.count; i++)
		all += p.b.stretch[i].weight * p.b.stretch[i].seen[CALLS_READ];
	assert_true(all < 0.7 * p.b.total[CALLS_READ]);
	assert_true(fabs(all * call_scale(&p.b, CALLS_READ) / p.b.total[CALLS_READ] - 1) < 1e-9);
	/* where the kernel does not tell, time does */
	assert_true(call_scale(&p.b, CALLS_WRITTEN) == call_scale(&p.b, CALLS_TIME));
	assert_true(call_scale(&p.b, CALLS_TIME) > 1.5);
	call_stretches_release(&p.b);
	assert_true(call_scale(&p.b, CALLS_READ) == 1);
}

TEST(intervals_hold)
{
	static const unsigned counts[] = { 3, 8, 40 };

	for (int c = 0; c < 3; c++) {
		int held = 0;
		double width = 0;

		for (uint64_t seed = 1; seed <= 400; seed++) {
			uint64_t chance = seed * 0x9e3779b97f4a7c15ull;
			struct planted p = plant(counts[c], 30, 0.7, &chance);
			double half = call_half_width(&p.b, CALLS_READ, p.of_kind, Z95),
			       value = estimate(&p, CALLS_READ);

			held += fabs(value - p.truth) <= half;
			width += half / p.truth / 400;
			call_stretches_release(&p.b);
		}
		printf("# %u stretches: %d of 400 intervals hold, half width %.3f\n", counts[c], held, width);
		assert_true(held >= 360 && width < 1.2);
	}
}

/* A machine where much else runs: in the CPU time of the stretches half as much was done as in the rest. */
TEST(what_time_misjudges_of_one_call_it_does_of_others)
{
	struct call_stretch two[] = { { .weight = 10, .seen = { 1e6, 500, 0 } },
				      { .weight = 10, .seen = { 1e6, 500, 0 } } };
	struct call_stretches b = { .stretch = two, .count = 2, .total = { 2e7, 2e4, NAN } };

	assert_true(fabs(call_time_apart(&b) - 1) < 1e-9);
	b.total[CALLS_READ] = 1e4;
	assert_true(call_time_apart(&b) < 1e-9);
	b.total[CALLS_READ] = 5e3;
	assert_true(fabs(call_time_apart(&b) - 0.5) < 1e-9);
	b.total[CALLS_READ] = NAN;
	assert_true(call_time_apart(&b) == 0);
}

TEST(nothing_unseen_nothing_unsure)
{
	uint64_t chance = 3;
	struct planted p = plant(5, 1, 1, &chance), one = plant(1, 1, 1, &chance), part = plant(1, 9, 1, &chance);

	assert_true(call_half_width(&p.b, CALLS_READ, p.of_kind, Z95) < 1e-9);
	assert_true(fabs(estimate(&p, CALLS_READ) / p.truth - 1) < 1e-9);
	assert_true(call_half_width(&one.b, CALLS_READ, one.of_kind, Z95) < 1e-9);
	assert_true(isinf(call_half_width(&part.b, CALLS_READ, part.of_kind, Z95)));
	call_stretches_release(&p.b);
	call_stretches_release(&one.b);
	call_stretches_release(&part.b);
}

/* Whatever is drawn, the measure's own sum stays what it is. */
TEST(draws_keep_the_total)
{
	double factor[MOST][CALL_MEASURES], sum = 0, spread = 0;
	uint64_t chance = 5;
	struct planted p = plant(40, 1e9, 1, &chance);
	uint8_t times[MOST];

	for (int k = 0; k < 200; k++) {
		double drawn = 0, all = 0;

		resample_draw(times, p.b.count, &chance);
		call_draw(&p.b, times, factor);
		for (size_t i = 0; i < p.b.count; i++) {
			double x = p.b.stretch[i].weight * p.b.stretch[i].seen[CALLS_READ];

			drawn += x * factor[i][CALLS_READ];
			all += x;
			sum += factor[i][CALLS_READ] / 200 / 40;
			spread += pow(factor[i][CALLS_READ] - 1, 2) / 200 / 40;
		}
		assert_true(fabs(drawn / all - 1) < 0.05);
	}
	assert_true(fabs(sum - 1) < 0.05 && spread > 0.8 && spread < 1.4);
	call_stretches_release(&p.b);
}

TEST(calls_find_their_stretch)
{
	uint64_t chance = 9;
	struct planted p = plant(3, 2, 1, &chance);

	assert_true(call_stretch_at(&p.b, 0) == SIZE_MAX);
	assert_int_equal(call_stretch_at(&p.b, 1000000000), 0);
	assert_int_equal(call_stretch_at(&p.b, 2004999999), 1);
	assert_int_equal(call_stretch_at(&p.b, 9000000000), 2);
	call_stretches_release(&p.b);
	assert_true(call_stretch_at(&p.b, 5) == SIZE_MAX);
}
