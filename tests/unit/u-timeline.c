// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timelines of recordings whose truth is known: a steady program has one phase in 95 of 100, planted phases are found
 * where they lie, intervals hold the truth as often as they say, and what has no time stands in no slice. Fixed seeds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flow/timeline.h"
#include "unit/sized.h"
#include "unit/unit.h"
#include "util/random.h"

#define FUNCTIONS 6
#define SECONDS 15
#define RUNS SIZED(100, 20)
#define PLANTED_RUNS SIZED(30, 10)
#define MOST 4000

static struct in_func funcs[FUNCTIONS] = {
	{ .name = "receive", .object = "app" },  { .name = "parse", .object = "app" },
	{ .name = "checksum", .object = "app" }, { .name = "deflate", .object = "app" },
	{ .name = "store", .object = "app" },    { .name = "rare", .object = "app" },
};
static struct in_access access_of[2 * MOST];
static uint64_t rng;

/* What a thread does: its mix of functions, by part of the recording, in runs of about so many ms; 0: no runs. */
struct kind {
	const char *name;
	double rate, run, idle; /* samples a second; idle: part of the time, in pauses of 0.1 to 0.4 s */
	uint32_t parts;
	double until[4];
	double mix[4][FUNCTIONS];
};

#define MIX                                                                                                            \
	{                                                                                                              \
		.1, .15, .2, .4, .1, .05                                                                               \
	}
static const struct kind steady[] = {
	{ "each sample anew", 60, 0, 0, 1, { 1 }, { MIX } }, { "few samples", 8, 0, 0, 1, { 1 }, { MIX } },
	{ "many samples", 250, 0, 0, 1, { 1 }, { MIX } },    { "work in runs", 60, 40, 0, 1, { 1 }, { MIX } },
	{ "long runs", 60, 150, 0, 1, { 1 }, { MIX } },      { "runs and pauses", 60, 40, .4, 1, { 1 }, { MIX } },
};

static const struct kind phased[] = {
	{ "another mix from the middle on", 60, 0, 0, 2, { .5, 1 }, { MIX, { .1, .4, .2, .15, .1, .05 } } },
	{ "one function, then another", 20, 40, 0, 2, { .3, 1 }, { { 0, 1, 0, 0, 0, 0 }, { 0, 0, 0, 1, 0, 0 } } },
	{ "there and back", 60, 40, 0, 3, { .4, .6, 1 }, { MIX, { .7, 0, .3, 0, 0, 0 }, MIX } },
	{ "read, work, write", 60, 40, 0, 3, { .2, .7, 1 }, { { 1 }, { 0, 0, .5, .5 }, { 0, 0, 0, 0, 1, 0 } } },
};

static double uniform(void)
{
	return random_unit(&rng);
}

static uint32_t drawn(const double *mix)
{
	double u = uniform();

	for (uint32_t f = 0; f + 1 < FUNCTIONS; f++) {
		if (u < mix[f])
			return f;
		u -= mix[f];
	}
	return FUNCTIONS - 1;
}

/* A recording: each sample with a load of 8 bytes and a store of 4. */
static struct flow_input record(const struct kind *k, uint64_t seed)
{
	struct flow_input in = { .funcs = funcs, .func_count = FUNCTIONS, .access = access_of };
	double run_ends = 0, pause_ends = 0, next_pause = k->idle > 0 ? uniform() : INFINITY;
	uint32_t f = 0, part = 0;

	rng = seed * 0x9e3779b97f4a7c15 + 1;
	for (double at = 0; (at += -log(uniform()) / k->rate) < SECONDS;) {
		while (part + 1 < k->parts && at > k->until[part] * SECONDS) {
			part++;
			run_ends = 0;
		}
		while (at > next_pause) {
			double length = .1 + .3 * uniform();

			pause_ends = next_pause + length;
			next_pause = pause_ends - log(uniform()) * length * (1 - k->idle) / k->idle;
		}
		if (at < pause_ends)
			continue;
		if (at >= run_ends) {
			f = drawn(k->mix[part]);
			run_ends = at - log(uniform()) * k->run / 1e3;
		}
		for (int store = 0; store < 2 && in.access_count < 2 * MOST; store++)
			access_of[in.access_count++] =
				(struct in_access){ .time = (uint64_t)(at * 1e9),
						    .func = f,
						    .tid = 7,
						    .weight = 1000,
						    .size = store ? 4 : 8,
						    .flags = FMT_A_TIME | (store ? FMT_A_STORE : FMT_A_LOAD) };
	}
	return in;
}

TEST(steady_programs_have_one_phase)
{
	for (size_t k = 0; k < sizeof(steady) / sizeof(steady[0]); k++) {
		int one = 0;

		for (uint64_t seed = 1; seed <= RUNS; seed++) {
			struct flow_input in = record(&steady[k], seed);
			struct timeline t;
			struct err e = { 0 };

			assert_int_equal(timeline_build(&in, 0, false, &t, &e), 0);
			one += t.phases == 1;
			timeline_release(&t);
		}
		print_message("%s: one phase in %d of %d\n", steady[k].name, one, RUNS);
		assert_true(100 * one >= 95 * RUNS);
	}
}

/* The letter of the middle of each part; as often as it was planted, and not of its neighbour. */
static bool as_planted(const struct kind *k, const struct timeline *t)
{
	double from = 0;
	uint8_t last = 0;

	for (uint32_t p = 0; p < k->parts; p++) {
		uint8_t letter = t->phase[(uint32_t)((from + k->until[p]) / 2 * t->slices)];

		if (p && letter == last)
			return false;
		last = letter;
		from = k->until[p];
	}
	return t->phases == (strcmp(k->name, "there and back") ? k->parts : 2);
}

TEST(planted_phases_are_found)
{
	for (size_t k = 0; k < sizeof(phased) / sizeof(phased[0]); k++) {
		int found = 0;

		for (uint64_t seed = 1; seed <= PLANTED_RUNS; seed++) {
			struct flow_input in = record(&phased[k], seed);
			struct timeline t;
			struct err e = { 0 };

			assert_int_equal(timeline_build(&in, 0, false, &t, &e), 0);
			found += as_planted(&phased[k], &t);
			timeline_release(&t);
		}
		print_message("%s: found in %d of %d\n", phased[k].name, found, PLANTED_RUNS);
		assert_true(found >= 0.9 * PLANTED_RUNS);
	}
}

TEST(phases_say_what_is_done)
{
	struct flow_input in = record(&phased[3], 5);
	struct timeline t;
	struct err e = { 0 };

	assert_int_equal(timeline_build(&in, 40, false, &t, &e), 0);
	assert_int_equal(t.phases, 3);
	assert_string_equal(t.phase_of[0].most[0], "receive");
	assert_int_equal(t.phase_of[0].first, 0);
	assert_true(t.phase_of[0].slices >= 7 && t.phase_of[0].slices <= 9);
	assert_int_equal(t.phase_of[1].most_count, 2);
	assert_string_equal(t.phase_of[2].most[0], "store");
	assert_true(fabs(t.phase_of[2].part[0] - 1) < 1e-9);
	assert_true(fabs(t.phase_of[1].reads - 2 * t.phase_of[1].writes) < 1e-6);
	timeline_release(&t);
}

/* Of each slice and function, the mean number of samples is known. */
TEST(intervals_hold_the_truth)
{
	const struct kind *k = &steady[0];
	int held = 0, all = 0;

	for (uint64_t seed = 1; seed <= SIZED(20, 8); seed++) {
		struct flow_input in = record(k, seed);
		struct timeline t;
		struct err e = { 0 };

		assert_int_equal(timeline_build(&in, 30, false, &t, &e), 0);
		for (uint32_t r = 0; r < t.row_count; r++) {
			uint32_t f = 0;
			double truth, low, high;

			while (strcmp(funcs[f].name, t.rows[r].name))
				f++;
			truth = k->rate * t.width / 1e9 * k->mix[0][f] * 8000;
			for (uint32_t s = 0; s < t.slices; s++) {
				timeline_interval(&t, &t.rows[r], s, t.rows[r].reads[s], &low, &high);
				held += low <= truth && truth <= high;
				all++;
			}
		}
		timeline_release(&t);
	}
	print_message("intervals of 90 %% hold %.1f %%\n", 100. * held / all);
	assert_true(held >= .88 * all && held < all);
}

/* Of code that no sample met it is known how often it ran, not when. */
TEST(what_has_no_time_is_in_no_slice_of_its_own)
{
	struct flow_input in = record(&phased[1], 3);
	struct timeline with, without;
	struct err e = { 0 };
	uint64_t last = in.access[in.access_count - 1].time;

	assert_int_equal(timeline_build(&in, 10, false, &without, &e), 0);
	in.access[in.access_count++] = (struct in_access){
		.time = last, .func = 1, .weight = 500, .size = 8, .flags = FMT_A_TIME | FMT_A_LOAD | IN_A_UNSAMPLED
	};
	in.access[in.access_count++] = (struct in_access){
		.time = last, .func = 5, .weight = 10, .size = 8, .flags = FMT_A_TIME | FMT_A_STORE | IN_A_UNSAMPLED
	};
	assert_int_equal(timeline_build(&in, 10, false, &with, &e), 0);
	assert_int_equal(with.row_count, without.row_count);
	assert_int_equal(with.phases, without.phases);
	for (uint32_t r = 0; r < with.row_count; r++) {
		bool grew = !strcmp(with.rows[r].name, "parse");

		assert_true(with.rows[r].reads[9] == without.rows[r].reads[9]); /* it did not run then */
		assert_true(fabs(with.rows[r].total - without.rows[r].total - (grew ? 4000 : 0)) < 1e-6);
	}
	assert_true(without.undated == 0 && with.undated == 80);
	timeline_release(&with);
	timeline_release(&without);
}

TEST(accesses_without_an_address_count)
{
	struct flow_input in = record(&steady[0], 2);
	struct timeline all, split;
	struct err e = { 0 };

	assert_int_equal(timeline_build(&in, 10, false, &all, &e), 0);
	in.access_count -= 100;
	in.blind = in.access + in.access_count;
	in.blind_count = 100;
	assert_int_equal(timeline_build(&in, 10, false, &split, &e), 0);
	assert_int_equal(split.row_count, all.row_count);
	for (uint32_t r = 0; r < all.row_count; r++)
		assert_true(fabs(split.rows[r].total - all.rows[r].total) < 1e-6);
	timeline_release(&all);
	timeline_release(&split);
}
