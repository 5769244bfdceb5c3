// SPDX-License-Identifier: GPL-2.0-or-later
/* How often bursts entered functions, and what that tells of their calls. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counts/burst_entries.h"
#include "counts/counts_report.h"

#define INSTRUCTIONS 1000000u

static const struct counts_record long_bursts = { .bursts = 100, .burst_instructions = INSTRUCTIONS };

static void a_rate_from_three_on(void **state)
{
	struct burst_entries_rate few = burst_entries_rate(&long_bursts, 3),
				  many = burst_entries_rate(&long_bursts, 60);

	assert_true(fabs(many.value * INSTRUCTIONS - 60) < 1e-9);
	assert_true(many.low < many.value / 2 && many.high > many.value * 2);
	assert_true(few.high / few.low > many.high / many.low);
}

/* Below, only that there are no more; the truth may be nothing at all. */
static void an_end_below(void **state)
{
	for (int n = 0; n < 3; n++) {
		struct burst_entries_rate r = burst_entries_rate(&long_bursts, n);

		assert_true(isnan(r.value) && r.low == 0 && r.high * INSTRUCTIONS >= n + 3);
	}
}

/* What comes first behind a system call no burst enters, which begin in user code. */
static void short_bursts_know_less(void **state)
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
static void ways_that_lead_in(void **state)
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

static void no_figure_but_an_end(void **state)
{
	struct counts_figure known = { 10, 5, 20 }, most = { NAN, 0, 7 }, unknown = { NAN, NAN, NAN };

	assert_true(!counts_at_most(&known) && counts_at_most(&most) && !counts_at_most(&unknown));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_from_three_on),   cmocka_unit_test(an_end_below),
		cmocka_unit_test(short_bursts_know_less), cmocka_unit_test(ways_that_lead_in),
		cmocka_unit_test(no_figure_but_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
