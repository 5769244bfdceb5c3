// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits drawn by chance and in stretches tell the time off the CPU right on average, within what the account pays;
 * and a profile's waits become shares of functions with intervals.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "profile/time_shares.h"
#include "profile/waits.h"
#include "record/wait_pace.h"
#include "store/write.h"
#include "unit/unit.h"
#include "util/random.h"

#define SECOND 1000000000ull

/* ---- the pace ---- */

struct run {
	double truth, told_ns, told, stretches, cost, seconds;
};

/* A thread that works for `work` ns and waits for a time drawn evenly up to twice `wait`, for so many seconds. */
static struct run simulate(double seconds, double work, double wait, double pays, double passing_each, uint64_t seed)
{
	struct run r = { .seconds = seconds };
	struct wait_pace p;
	double now = 0, looked = 0, told = 0, cost = 0, switches = 0;
	uint64_t random = seed * 0x9e3779b97f4a7c15ull;

	wait_pace_init(&p, 500, 5000, seed);
	while (now < seconds * 1e9) {
		double off = 2 * wait * random_unit(&random);

		now += work;
		switches++;
		r.truth += off;
		if (p.on && random_unit(&random) * p.one_in < 1) {
			r.told_ns += off * p.one_in * p.factor;
			r.told++;
			told++;
			cost += 5000;
		}
		r.cost += p.on ? passing_each : 0;
		now += off;
		if (now - looked < 5e7)
			continue;
		r.cost += cost;
		if (p.on)
			wait_pace_told(&p, told, cost, (now - looked) / 1e9, pays);
		if (wait_pace_poll(&p, (uint64_t)now, passing_each * switches / ((now - looked) / 1e9), pays))
			r.stretches += p.on;
		looked = now;
		told = cost = switches = 0;
	}
	return r;
}

TEST(test_right_on_average)
{
	static const struct {
		double work, wait, pays;
		const char *what;
	} cases[] = {
		{ 1e6, 4e6, 5e6, "few switches: all are told" },
		{ 2e4, 3e4, 1e6, "many: some are drawn" },
		{ 1e4, 1e4, 1e6, "so many that switches are seen in stretches" },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double told = 0, truth = 0;

		for (uint64_t seed = 1; seed <= 200; seed++) {
			struct run r = simulate(30, cases[i].work, cases[i].wait, cases[i].pays, 200, seed * 7919);

			told += r.told_ns;
			truth += r.truth;
			/* the first second is before anything is known; a wait's cost is not known before it is told */
			assert_true(r.cost / r.seconds < 1.3 * fmax(cases[i].pays, 1e5) + 1e6 * 2 / r.seconds);
			assert_true(i > 0 || r.told > 0.95 * 30 * 1e9 / 5e6 - 50);
			assert_true(i != 2 || r.stretches > 0);
		}
		if (fabs(told / truth - 1) > (i ? .06 : .01))
			fail_msg("%s: %.3f of the truth", cases[i].what, told / truth);
	}
}

TEST(test_only_what_is_paid)
{
	struct run r = simulate(20, 1e4, 1e4, 2e5, 1, 5);

	assert_true(r.told < 20 * 2e5 / 5000 * 1.3 + 400);
	assert_true(r.told > 20 * 2e5 / 5000 * .5);
}

/* ---- a profile ---- */

static void put_wait(struct store_writer *w, uint32_t stack, uint64_t ns, double weight, uint32_t flags)
{
	struct fmt_wait r = {
		.time = 5, .ns = ns, .weight = weight, .pid = 1, .tid = 1, .stack = stack, .flags = flags
	};

	assert_int_equal(store_put(w, FMT_WAIT, &r, sizeof(r)), 0);
}

/* Two functions, "leaf" called by "root": stack 1 both, stack 2 root alone. */
static struct profile *profile_of(const char *path, void (*fill)(struct store_writer *w))
{
	static const char *const names[] = { "root", "leaf" };
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_frame frames[2] = { { .addr = 32, .module = 1 }, { .addr = 16, .module = 1 } };
	struct fmt_stack both = { .id = 1, .count = 2 }, root = { .id = 2, .count = 1 };
	struct fmt_sample s = { .time = 5, .period = 1000, .pid = 1, .tid = 1, .stack = 1 };
	struct profile *p;

	for (uint32_t i = 0; i < 2; i++) {
		struct fmt_symbol sym = { .addr = 16 * (i + 1), .module = 1, .count = 1 };
		struct fmt_inline line = { .function = 900 + i };
		struct fmt_function f = { .id = 900 + i, .name = store_string(w, names[i]) };

		store_put(w, FMT_FUNCTION, &f, sizeof(f));
		store_put_var(w, FMT_SYMBOL, &sym, sizeof(sym), &line, sizeof(line));
	}
	store_put_var(w, FMT_STACK, &both, sizeof(both), frames, sizeof(frames));
	store_put_var(w, FMT_STACK, &root, sizeof(root), &frames[1], sizeof(frames[1]));
	for (int i = 0; i < 100; i++)
		store_put(w, FMT_SAMPLE, &s, sizeof(s));
	if (fill)
		fill(w);
	assert_int_equal(store_close(w, &e), 0);
	p = profile_load(path, &e);
	assert_non_null(p);
	unlink(path);
	return p;
}

static const struct function_wait *of(const struct profile *p, const struct function_wait *all, const char *name)
{
	for (size_t i = 0; i < p->function_count; i++)
		if (!strcmp(p->functions[i].name, name))
			return &all[i];
	fail_msg("no function %s", name);
	return NULL;
}

static void some_waits(struct store_writer *w)
{
	for (int i = 0; i < 50; i++)
		put_wait(w, 1, 1000, 2, i % 2 ? FMT_WAIT_READY : 0);
	put_wait(w, 2, 50000, 4, 0);
	/* hostile */
	put_wait(w, 2, 50000, -1, 0);
	put_wait(w, 2, 50000, NAN, 0);
	put_wait(w, 2, UINT64_MAX, INFINITY, 0);
	put_wait(w, 77, 1000, 1, 0);
}

TEST(test_shares)
{
	struct profile *p = profile_of("u-waits.data", some_waits);
	struct function_wait *all = waits_by_function(p, false, NULL);
	const struct function_wait *leaf = of(p, all, "leaf"), *root = of(p, all, "root");
	struct wait_share s;

	assert_true(waits_observed(p));
	assert_int_equal(leaf->count, 50);
	assert_float_equal(leaf->ns, 100000, 1e-6);
	assert_float_equal(leaf->ready_ns, 50000, 1e-6);
	assert_float_equal(root->ns, 300000, 1e-6);
	s = wait_share(p, leaf, 100000, 100000, 100000);
	assert_float_equal(s.value, .5, 1e-9);
	/* of 50 alike: within some 28 % of the sum */
	assert_true(s.low > .40 && s.low < .5 && s.high > .5 && s.high < .60);
	/* one wait that makes two thirds tells little, however many the others are */
	s = wait_share(p, root, 100000, 100000, 100000);
	assert_float_equal(s.value, .75, 1e-9);
	assert_true(s.low < .5 && s.high > .88);
	free(all);
	profile_free(p);
}

static void no_waits(struct store_writer *w)
{
	struct fmt_counter c = { .name = store_string(w, COUNTER_WAITS_OPEN) };

	store_put(w, FMT_COUNTER, &c, sizeof(c));
}

TEST(test_none_is_not_unknown)
{
	struct profile *p = profile_of("u-waits.data", no_waits);
	struct function_wait *all = waits_by_function(p, false, NULL);
	struct wait_share s = wait_share(p, of(p, all, "leaf"), 100, 100, 100);

	assert_true(waits_observed(p));
	assert_float_equal(s.value, 0, 0);
	assert_true(isnan(s.high)); /* how long a wait is here, nothing tells */
	free(all);
	profile_free(p);
	p = profile_of("u-waits.data", NULL);
	assert_false(waits_observed(p));
	profile_free(p);
}
