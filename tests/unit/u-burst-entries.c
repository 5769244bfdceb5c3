// SPDX-License-Identifier: GPL-2.0-or-later
/* How often bursts entered functions, and what that tells of their calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/burst_entries.h"
#include "counts/counts_report.h"
#include "unit/unit.h"

#define INSTRUCTIONS 1000000u

static const struct counts_record long_bursts = { .bursts = 100, .burst_instructions = INSTRUCTIONS };

TEST(a_rate_from_three_on)
{
	struct burst_entries_rate few = burst_entries_rate(&long_bursts, 3),
				  many = burst_entries_rate(&long_bursts, 60);

	assert_true(fabs(many.value * INSTRUCTIONS - 60) < 1e-9);
	assert_true(many.low < many.value / 2 && many.high > many.value * 2);
	assert_true(few.high / few.low > many.high / many.low);
}

/* Below, only that there are no more; the truth may be nothing at all. */
TEST(an_end_below)
{
	for (int n = 0; n < 3; n++) {
		struct burst_entries_rate r = burst_entries_rate(&long_bursts, n);

		assert_true(isnan(r.value) && r.low == 0 && r.high * INSTRUCTIONS >= n + 3);
	}
}

/* What comes first behind a system call no burst enters, which begin in user code. */
TEST(short_bursts_know_less)
{
	struct counts_record cut = long_bursts, few_cut = long_bursts;
	struct burst_entries_rate usual = burst_entries_rate(&long_bursts, 10), r;

	cut.bursts_cut = 90;
	few_cut.bursts_cut = 10;
	r = burst_entries_rate(&cut, 10);
	assert_true(r.value == usual.value && r.high > 2 * usual.high && r.low < usual.low / 2);
	assert_true(isnan(burst_entries_rate(&cut, 1).value) && isnan(burst_entries_rate(&cut, 1).high));
	assert_true(burst_entries_rate(&few_cut, 1).high > 0);
}

/* Two functions in one module: ways that lead to where they begin, from elsewhere. */
TEST(ways_that_lead_in)
{
	struct profile p = { 0 };
	struct fmt_counts_func func[] = { { .start = 0x100, .end = 0x200 }, { .start = 0x200, .end = 0x300 } };
	struct branch way[] = {
		{ .kind = FMT_BRANCH_TAKEN, .from_addr = 0x250, .to_addr = 0x100, .times = 5 },
		{ .kind = FMT_BRANCH_TAKEN, .from_addr = 0x280, .to_addr = 0x110, .times = 70 },  /* into its middle */
		{ .kind = FMT_BRANCH_TAKEN, .from_addr = 0x280, .to_addr = 0x200, .times = 900 }, /* a loop */
		{ .kind = FMT_BRANCH_STRAIGHT, .from_addr = 0x100, .to_addr = 0x100, .times = 30 },
	};
	struct counts_record r = { .func = func, .funcs = 2, .branches = { way, 4, 4 }, .profile = &p };
	double *n;

	/* without a frame it is of no module, as these ways are */
	n = burst_entries(&r);
	assert_non_null(n);
	assert_true(n[0] == 5 && n[1] == 0);
	free(n);
	r.ways_lost = true;
	assert_null(burst_entries(&r));
}

TEST(no_figure_but_an_end)
{
	struct counts_figure known = { 10, 5, 20 }, most = { NAN, 0, 7 }, unknown = { NAN, NAN, NAN };

	assert_true(!counts_at_most(&known) && counts_at_most(&most) && !counts_at_most(&unknown));
}
