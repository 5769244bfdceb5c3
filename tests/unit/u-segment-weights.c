// SPDX-License-Identifier: GPL-2.0-or-later
/*/* Returns of two calls in turn, of which one is carried on twenty times as often: what those that were drawn stand
 * for. */
#include <math.h>

#include "abi.h"
#include "record/segment_weights.h"
#include "unit/unit.h"
#include "util/random.h"

#define STRETCHES 20000
#define RETURNS 400
#define SELDOM 0.05 /* kept of the returns of the first call */
#define CARRIED 4   /* wanted of a stretch */
#define TIMED 40

static uint64_t chance = 3;

TEST(each_call_gets_its_share)
{
	double kept[WIRE_CALLS], sum[2][2] = { { 0 } };
	struct stretch_drawn d = { .returns = RETURNS, .as_long = 1, .kept = kept, .usually = (SELDOM + 1) / 2 };
	struct fmt_segment s[RETURNS];
	(void)state;

	for (unsigned i = 0; i < WIRE_CALLS; i++)
		kept[i] = i == 1 ? SELDOM : 1;
	for (unsigned h = 0; h < STRETCHES; h++) {
		size_t n = 0;

		d.timed = 0;
		for (int i = 0; i < RETURNS; i++) {
			int nr = 1 + i % 2;
			double u = random_unit(&chance);

			if (u < CARRIED / (RETURNS * d.usually) && random_unit(&chance) < kept[nr])
				s[n++] = (struct fmt_segment){ .nr = nr, .state = FMT_SEG_VERIFIED };
			else if (u > 1 - (double)TIMED / RETURNS) {
				s[n++] = (struct fmt_segment){ .nr = nr, .state = FMT_SEG_TIMED };
				d.timed++;
			}
		}
		segment_weights(s, n, &d);
		for (size_t i = 0; i < n; i++)
			sum[s[i].state == FMT_SEG_TIMED][s[i].nr - 1] += s[i].weight;
	}
	for (int timed = 0; timed < 2; timed++)
		for (int nr = 0; nr < 2; nr++)
			/* one stretch in fifty has none that was carried on, so they stand for so much less */
			assert_true(fabs(sum[timed][nr] / (STRETCHES * RETURNS / 2.) - 1) < .06);
}

/* Where nothing was timed, what is usually kept tells. */
TEST(without_timed_ones)
{
	double kept[WIRE_CALLS];
	struct stretch_drawn d = { .returns = 100, .as_long = 2, .kept = kept, .usually = .5 };
	struct fmt_segment s[2] = { { .nr = 1, .state = FMT_SEG_VERIFIED }, { .nr = 2, .state = FMT_SEG_LOST } };
	(void)state;

	for (unsigned i = 0; i < WIRE_CALLS; i++)
		kept[i] = i == 1 ? .25 : 1;
	assert_true(fabs(segment_weights(s, 2, &d) - 50) < 1e-9);
	assert_true(fabs(s[0].weight - 200) < 1e-9 && fabs(s[1].weight - 50) < 1e-9);
	assert_true(segment_weights(s, 0, &d) == 100);
}
