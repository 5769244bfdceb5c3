// SPDX-License-Identifier: GPL-2.0-or-later
/* Which store has gone over an address since its last recorded writer: planted sweeps over memory. */
#include <stdlib.h>
#include <string.h>

#include "flow/overwrite.h"
#include "unit/unit.h"
#include "util/random.h"

enum { INIT, WORK, HIT, SITES };
enum { PID = 7, WORDS = 512, MOST = 40000 };
#define BASE 0x100000ull

struct planted {
	struct flow_input in;
	struct in_site site[SITES];
	struct in_access *access;
	bool complete[SITES];
	struct overwrite *ow;
	uint64_t random;
};

static void begin(struct planted *p)
{
	*p = (struct planted){ .random = 1, .access = calloc(MOST, sizeof(struct in_access)) };
	assert_non_null(p->access);
	p->in.sites = p->site;
	p->in.site_count = SITES;
	p->in.access = p->access;
}

static void store(struct planted *p, uint64_t time, uint32_t site, uint64_t addr, double weight)
{
	assert_true(p->in.access_count < MOST);
	p->access[p->in.access_count++] = (struct in_access){ .time = time,
							      .addr = addr,
							      .weight = weight,
							      .site = site,
							      .func = site,
							      .pid = PID,
							      .size = 8,
							      .flags = FMT_A_STORE };
}

/* `site` goes over all words from `from` on, `passes` times, a pass takes WORDS; one store in `every` is sampled. */
static uint64_t sweep(struct planted *p, uint64_t from, uint32_t site, unsigned passes, unsigned every)
{
	for (unsigned k = 0; k < passes * WORDS; k++, from++)
		if (random_next(&p->random) % every == 0)
			store(p, from, site, BASE + 8 * (k % WORDS), every);
	return from;
}

/* Everything planted happens. */
static void run(struct planted *p)
{
	p->ow = overwrite_new(&p->in, false, true, p->complete);
	assert_non_null(p->ow);
	for (size_t i = 0; i < p->in.access_count; i++)
		overwrite_store(p->ow, &p->access[i]);
}

static void end(struct planted *p)
{
	overwrite_free(p->ow);
	free(p->access);
}

TEST(a_sweep_since_then_has_gone_over_it)
{
	struct planted p;
	uint64_t pass = 0, t;

	begin(&p);
	sweep(&p, 0, INIT, 4, 2);
	t = 4 * WORDS;
	sweep(&p, t, WORK, 8, 4);
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, t - 1, INIT, &pass), WORK);
	/* its last pass is the eighth */
	assert_true(pass > t + 6 * WORDS);
	end(&p);
}

/* One store in eight is sampled of eight passes over all words but those of 4 KB in the middle: most words are met, and
 * what lies between two that were is written, too; beyond a half of NEIGHBOUR from either it is not. */
TEST(what_lies_between_is_written_unless_it_is_far_from_both)
{
	enum { FROM = 1000, TO = FROM + 4096 / 8, ALL = 2000 };
	struct planted p;
	uint64_t pass;
	bool met[ALL] = { false };
	unsigned between = 0;

	begin(&p);
	for (unsigned k = 0; k < 8 * ALL; k++)
		if ((k % ALL < FROM || k % ALL >= TO) && random_next(&p.random) % 8 == 0) {
			store(&p, k, WORK, BASE + 8 * (k % ALL), 8);
			met[k % ALL] = true;
		}
	run(&p);
	for (unsigned k = 100; k < FROM - 100; k++) {
		assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * k, 0, INIT, &pass), WORK);
		between += !met[k];
	}
	assert_true(between > 100);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * ((FROM + TO) / 2), 0, INIT, &pass), FLOW_NONE);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * (FROM + 70), 0, INIT, &pass), FLOW_NONE);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * (TO - 70), 0, INIT, &pass), FLOW_NONE);
	end(&p);
}

TEST(who_wrote_last_itself_is_not_replaced)
{
	struct planted p;
	uint64_t pass, t;

	begin(&p);
	t = sweep(&p, 0, HIT, 8, 4);
	sweep(&p, t, WORK, 8, 4);
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, 0, INIT, &pass), WORK);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, 0, WORK, &pass), FLOW_NONE);
	end(&p);
}

/* A part of a pass, after passes before: [from, from + count) of the words. */
static uint64_t part(struct planted *p, uint64_t time, uint32_t site, unsigned from, unsigned count)
{
	for (unsigned k = from; k < from + count; k++, time++)
		if (k % 4 == 0)
			store(p, time, site, BASE + 8 * k, 4);
	return time;
}

TEST(half_a_pass_of_another_is_doubt)
{
	struct planted p;
	uint64_t pass, t0, t;

	begin(&p);
	t0 = sweep(&p, 0, HIT, 8, 4);
	t = sweep(&p, t0, WORK, 8, 4);
	part(&p, t, HIT, 0, WORDS * 3 / 4);
	run(&p);
	/* the record is of WORK, which has gone on: of others not even one pass went by */
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, t0, WORK, &pass), FLOW_NONE);
	end(&p);
}

TEST(a_quarter_of_a_pass_is_no_candidate)
{
	struct planted p;
	uint64_t pass, t0, t;

	begin(&p);
	t0 = sweep(&p, 0, HIT, 8, 4);
	t = sweep(&p, t0, WORK, 8, 4);
	part(&p, t, HIT, WORDS / 8, WORDS / 4);
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, t0, INIT, &pass), WORK);
	end(&p);
}

TEST(less_than_a_pass_since_then_is_not_enough)
{
	struct planted p;
	uint64_t pass, t = 4 * WORDS;

	begin(&p);
	sweep(&p, 0, INIT, 4, 2);
	sweep(&p, t, WORK, 8, 4);
	run(&p);
	/* asked about a record so new that WORK has stored a quarter of its words since */
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, t + 8 * WORDS - WORDS / 4, INIT, &pass), FLOW_NONE);
	end(&p);
}

TEST(memory_that_it_does_not_sweep_is_untouched)
{
	struct planted p;
	uint64_t pass;

	begin(&p);
	sweep(&p, 0, WORK, 8, 4);
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * WORDS + 8192, 0, INIT, &pass), FLOW_NONE);
	assert_int_equal(overwrite_test(p.ow, PID + 1, BASE + 8 * 100, 0, INIT, &pass), FLOW_NONE);
	end(&p);
}

TEST(of_several_the_latest_pass_counts)
{
	struct planted p;
	uint64_t pass, t;

	begin(&p);
	t = sweep(&p, 0, WORK, 8, 4);
	sweep(&p, t, HIT, 8, 4);
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, 0, INIT, &pass), HIT);
	end(&p);
}

TEST(few_words_are_no_sweep)
{
	struct planted p;
	uint64_t pass;

	begin(&p);
	for (unsigned i = 0; i < 200; i++)
		store(&p, i, WORK, BASE + 8 * (i % 3), 1);
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE, 0, INIT, &pass), FLOW_NONE);
	end(&p);
}

TEST(stack_and_census_count_as_asked_for)
{
	struct planted p;
	uint64_t pass;

	begin(&p);
	sweep(&p, 0, WORK, 8, 4);
	for (size_t i = 0; i < p.in.access_count; i++)
		p.access[i].flags |= FMT_A_STACK;
	run(&p);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, 0, INIT, &pass), FLOW_NONE);
	overwrite_free(p.ow);
	p.ow = overwrite_new(&p.in, true, true, p.complete);
	assert_non_null(p.ow);
	for (size_t i = 0; i < p.in.access_count; i++)
		overwrite_store(p.ow, &p.access[i]);
	assert_int_equal(overwrite_test(p.ow, PID, BASE + 8 * 100, 0, INIT, &pass), WORK);
	end(&p);
}

TEST(what_was_not_seen_may_still_be_written)
{
	struct planted p;

	begin(&p);
	sweep(&p, 0, WORK, 1, 4); /* most words were met once: most of its stores go to words not seen yet */
	for (unsigned i = 0; i < 400; i++)
		store(&p, 1000 + i, HIT, BASE + 8 * (i % 20) * 2, 1); /* twenty words, each seen often */
	run(&p);
	assert_true(overwrite_plausible(p.ow, WORK, PID, 0xdead0000));
	assert_true(overwrite_plausible(p.ow, HIT, PID, BASE + 16));
	assert_false(overwrite_plausible(p.ow, HIT, PID, BASE + 8));
	assert_false(overwrite_plausible(p.ow, HIT, PID, 0xdead0000));
	end(&p);
}

TEST(a_complete_census_leaves_nothing_unseen)
{
	struct planted p;

	begin(&p);
	sweep(&p, 0, WORK, 1, 4);
	p.complete[WORK] = true;
	run(&p);
	assert_false(overwrite_plausible(p.ow, WORK, PID, 0xdead0000));
	end(&p);
}
