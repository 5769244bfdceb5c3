// SPDX-License-Identifier: GPL-2.0-or-later
/* Whom a function's stores go to, of pairs made up here: who writes for a reader alone is likelier to be its writer. */
#include <math.h>

#include "flow/passed_on.h"
#include "unit/unit.h"

enum { ALLOCATOR, PARSER, PRINTER, IDLE, FUNCS };

/* A site for each function. */
static struct in_site sites[FUNCS] = {
	{ .func = ALLOCATOR }, { .func = PARSER }, { .func = PRINTER }, { .func = IDLE }
};

static struct flow_input input(struct in_burst_pair *pair, size_t count)
{
	return (struct flow_input){
		.func_count = FUNCS, .sites = sites, .site_count = FUNCS, .burst_pair = pair, .burst_pair_count = count
	};
}

TEST(who_writes_for_a_reader_is_its_writer)
{
	struct in_burst_pair pair[] = { { .writer = ALLOCATOR, .reader = ALLOCATOR, .bytes = 6000 },
					{ .writer = PARSER, .reader = PRINTER, .bytes = 3000 },
					{ .writer = PARSER, .reader = PARSER, .bytes = 1000 },
					{ .writer = FLOW_NONE, .reader = PRINTER, .bytes = 50000 } };
	const struct flow_input in = input(pair, 4);
	struct passed_on p;

	assert_int_equal(passed_on_learn(&p, &in), 0);
	/* three quarters of what the parser wrote went there, of all that was written .3: the root of 2.5 */
	assert_true(fabs(passed_on_factor(&p, PARSER, PRINTER) - sqrt(2.5)) < .01);
	/* the allocator's went to itself alone, which takes .6 of all */
	assert_true(fabs(passed_on_factor(&p, ALLOCATOR, ALLOCATOR) - sqrt(1 / .6)) < .01);
	assert_true(passed_on_factor(&p, ALLOCATOR, PRINTER) < .1 && passed_on_factor(&p, ALLOCATOR, PRINTER) > 0);
	/* who was seen to write for nobody is told from nobody */
	assert_true(fabs(passed_on_factor(&p, IDLE, PRINTER) - 1) < 1e-9);
	/* a reader that read nothing of all this */
	assert_true(isfinite(passed_on_factor(&p, PARSER, IDLE)));
	passed_on_release(&p);
}

TEST(without_bursts_all_are_alike)
{
	const struct flow_input in = input(NULL, 0);
	struct passed_on p;

	assert_int_equal(passed_on_learn(&p, &in), 0);
	assert_true(passed_on_factor(&p, PARSER, PRINTER) == 1);
	assert_true(passed_on_factor(&p, FLOW_NONE, PRINTER) == 1);
	passed_on_release(&p);
}
