// SPDX-License-Identifier: GPL-2.0-or-later
/* Which sampled access gets the next window: bytes against evidence, patience, the table's end. */
#include <stdlib.h>

#include "record/window_choice.h"
#include "unit/unit.h"

#define MODULE 3
#define HOT 0x1000
#define WARM 0x2000
#define COLD 0x3000
#define MOST_SITES 65536

TEST(what_was_never_sampled_is_worth_nothing)
{
	struct window_choice d = { 0 };

	assert_true(window_choice_worth(&d, MODULE, HOT) == 0);
	window_choice_sampled(&d, MODULE, HOT, 0, 8);
	assert_true(window_choice_worth(&d, MODULE, HOT) > 0);
	assert_true(window_choice_worth(&d, MODULE + 1, HOT) == 0);
	assert_true(window_choice_worth(&d, MODULE, WARM) == 0);
	window_choice_release(&d);
}

TEST(more_bytes_are_worth_more_until_windows_saw_them)
{
	struct window_choice d = { 0 };
	double before;

	window_choice_sampled(&d, MODULE, HOT, 0, 600);
	window_choice_sampled(&d, MODULE, HOT, 0, 400);
	window_choice_sampled(&d, MODULE, WARM, 0, 200);
	assert_true(window_choice_worth(&d, MODULE, HOT) > 4.99 * window_choice_worth(&d, MODULE, WARM));
	before = window_choice_worth(&d, MODULE, HOT);
	window_choice_seen(&d, MODULE, HOT, 1, 0);
	assert_true(window_choice_worth(&d, MODULE, HOT) < before / 2);
	window_choice_seen(&d, MODULE, HOT, 3, 0);
	/* four windows there, none here, five times the bytes: the next goes here */
	assert_true(window_choice_worth(&d, MODULE, HOT) < window_choice_worth(&d, MODULE, WARM));
	window_choice_release(&d);
}

TEST(what_is_always_written_by_the_same_needs_fewer)
{
	struct window_choice d = { 0 };

	window_choice_sampled(&d, MODULE, HOT, 0, 100);
	window_choice_sampled(&d, MODULE, WARM, 0, 100);
	for (int i = 0; i < 8; i++) {
		window_choice_seen(&d, MODULE, HOT, 1, 0xaaa);
		window_choice_seen(&d, MODULE, WARM, 1, i & 1 ? 0xaaa : 0xbbb);
	}
	/* as much evidence, and no doubt: 8 of 8 against 4 of 8 */
	assert_true(window_choice_worth(&d, MODULE, HOT) < 0.6 * window_choice_worth(&d, MODULE, WARM));
	window_choice_release(&d);
}

/* Ten instructions of one group have as many bytes as one hot one of another: the first windows go to both groups
 * alike, and what they tell of one instruction makes its group worth less. */
TEST(a_group_of_which_nothing_is_known_comes_first)
{
	struct window_choice d = { 0 };
	double one, before;

	window_choice_sampled(&d, MODULE, HOT, 1, 1000);
	for (uint64_t i = 0; i < 10; i++)
		window_choice_sampled(&d, MODULE, COLD + i, 2, 100);
	for (int i = 0; i < 3; i++)
		window_choice_seen(&d, MODULE, HOT, 1, 0);
	one = window_choice_worth(&d, MODULE, COLD + 3);
	assert_true(one > window_choice_worth(&d, MODULE, HOT));
	before = one;
	window_choice_seen(&d, MODULE, COLD + 5, 3, 0);
	one = window_choice_worth(&d, MODULE, COLD + 3);
	assert_true(one < before / 2);
	/* its own bytes still wait to be seen */
	assert_true(one > window_choice_worth(&d, MODULE, COLD + 5));
	window_choice_release(&d);
}

TEST(windows_spread_over_instructions)
{
	struct window_choice d = { 0 };
	unsigned hot = 0, cold = 0;

	window_choice_sampled(&d, MODULE, HOT, 0, 1000);
	window_choice_sampled(&d, MODULE, COLD, 0, 1);
	/* samples come by in proportion to bytes, windows by a lower power of them */
	for (unsigned turn = 0; turn < 20000; turn++) {
		bool rare = turn % 1000 == 999;
		uint64_t ip = rare ? COLD : HOT;

		if (!window_choice_take(&d, window_choice_worth(&d, MODULE, ip)))
			continue;
		window_choice_seen(&d, MODULE, ip, 1, 0);
		hot += !rare;
		cold += rare;
	}
	assert_int_equal(cold, 20);
	assert_true(hot > 50 * cold && hot < 500 * cold);
	window_choice_release(&d);
}

TEST(a_rare_best_does_not_keep_the_slots_empty)
{
	struct window_choice d = { 0 };
	unsigned passed = 0;

	window_choice_sampled(&d, MODULE, HOT, 0, 1e6);
	window_choice_sampled(&d, MODULE, COLD, 0, 1);
	assert_true(window_choice_take(&d, window_choice_worth(&d, MODULE, HOT)));
	while (!window_choice_take(&d, window_choice_worth(&d, MODULE, COLD)) && passed < 1000)
		passed++;
	assert_in_range(passed, 20, 200);
	/* and having been taken once it has to wait again */
	assert_false(window_choice_take(&d, window_choice_worth(&d, MODULE, COLD)));
	window_choice_release(&d);
}

TEST(nearly_as_good_is_good_enough)
{
	struct window_choice d = { 0 };

	window_choice_sampled(&d, MODULE, HOT, 0, 100);
	window_choice_sampled(&d, MODULE, WARM, 0, 50);
	window_choice_sampled(&d, MODULE, COLD, 0, 5);
	assert_true(window_choice_take(&d, window_choice_worth(&d, MODULE, WARM)));
	assert_false(window_choice_take(&d, window_choice_worth(&d, MODULE, COLD)));
	window_choice_release(&d);
}

TEST(misses_double_the_patience_of_what_lies_close_by)
{
	struct window_choice d = { 0 };
	double most;

	assert_true(window_choice_patience(&d, 0x7f0000001040) == 1);
	window_choice_missed(&d, 0x7f0000001040);
	window_choice_missed(&d, 0x7f0000001ff8);
	assert_true(window_choice_patience(&d, 0x7f0000001000) == 4);
	assert_true(window_choice_patience(&d, 0x7f0000002000) == 1);
	for (int i = 0; i < 100; i++)
		window_choice_missed(&d, 0x7f0000001040);
	most = window_choice_patience(&d, 0x7f0000001040);
	assert_true(most >= 16 && most <= 64);
	window_choice_release(&d);
}

TEST(a_full_table_counts_what_it_turns_away)
{
	struct window_choice d = { 0 };

	for (uint32_t i = 0; i < MOST_SITES; i++)
		window_choice_sampled(&d, MODULE, 16ull * i, 0, 4);
	assert_int_equal(d.count, MOST_SITES);
	assert_int_equal(d.past, 0);
	window_choice_sampled(&d, MODULE, 16ull * MOST_SITES, 0, 4);
	assert_int_equal(d.past, 1);
	assert_true(window_choice_worth(&d, MODULE, 16ull * MOST_SITES) == 0);
	/* what it holds goes on being counted */
	window_choice_sampled(&d, MODULE, 16, 0, 4);
	assert_int_equal(d.past, 1);
	assert_true(window_choice_worth(&d, MODULE, 16) > 1.99 * window_choice_worth(&d, MODULE, 32));
	window_choice_release(&d);
}
