// SPDX-License-Identifier: GPL-2.0-or-later
/* The share of the CPU time that offload calls take: by samples, and where their stacks end early. */
#include <math.h>

#include "unit/unit.h"
#include "view/offload.h"

#define NAME "encrypt"
#define LIBRARY "libcipher.so"

/* So many samples of a second in all, of which `shown` have the function on their stack, and `cut` of all stacks end
 * early. The calls themselves take 800 ms. */
static struct offload_share share_of_few(double shown, double cut, uint64_t samples)
{
	struct profile_function function = { .name = NAME, .object = LIBRARY };
	struct profile profile = { .functions = &function, .has_cost = true, .cost = { .target_cpu_ns = 1000000000 } };
	struct share row = { .inclusive = shown };
	struct shares shares = { .rows = &row,
				 .count = 1,
				 .samples = samples,
				 .effective = (double)samples,
				 .incomplete = cut,
				 .shown = 1 };
	struct offload_item item = { .part_of_ns = 1,
				     .name = NAME,
				     .library = "/usr/lib/" LIBRARY,
				     .calls = 1000,
				     .estimate = 1000,
				     .low = 900,
				     .high = 1100,
				     .host_cpu_ns = 800e6,
				     .early_ns = 1000,
				     .late_ns = 1000 };
	struct offload_summary summary = { .items = &item, .items_cnt = 1 };
	struct offload_view view = { .profile = &profile, .shares = &shares, .summary = &summary };

	return offload_cpu(&view, &item);
}

static struct offload_share share_of(double shown, double cut)
{
	return share_of_few(shown, cut, 1000);
}

/* Four samples stand for a second, which may have been .3 or more than 2: that calls took 800 ms says little. */
TEST(few_samples_hardly_tell_the_whole)
{
	struct offload_share s = share_of_few(.5, 0, 4);

	assert_true(!s.sampled && fabs(s.value - .8) < 1e-9);
	assert_true(s.low > .2 && s.low < .4 && s.high == 1);
}

TEST(stacks_that_end_early_may_hide_it)
{
	struct offload_share s = share_of(.8, 0);

	assert_true(s.sampled && s.value == .8 && s.low > .77 && s.high < .83);
	/* unknown without samples */
	s = share_of(.8, NAN);
	assert_true(s.sampled && s.high < .83);
	/* a tenth of all stacks may have it as well */
	s = share_of(.6, .1);
	assert_true(s.sampled && s.value == .6 && s.low > .56 && s.low < .6 && s.high > .7 && s.high < .74);
	s = share_of(.9, .5);
	assert_true(s.sampled && s.high == 1);
	/* most stacks end before they could show it: the calls tell */
	s = share_of(.17, .8);
	assert_true(!s.sampled && fabs(s.value - .8) < 1e-9 && s.low < .8 && s.high > .8);
}
