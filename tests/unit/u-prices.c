// SPDX-License-Identifier: GPL-2.0-or-later
/* Prices kept from one recording to the next. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kmod-free/uprobe.h"
#include "kmod-free/uprobe_self.h"
#include "measure/prices.h"
#include "offload/kept_price.h"
#include "unit/unit.h"

#define SECOND 1000000000ull
#define NOW (100000 * SECOND)
#define ME "accperf prices 1 here"

TEST(nothing_is_known_at_first)
{
	struct prices p;
	double v[3] = { 1, 2, 3 };

	prices_read(&p, NULL, ME, NOW);
	assert_false(prices_known(&p, "tick", v, 1));
	prices_read(&p, "", ME, NOW);
	assert_false(prices_known(&p, "tick", v, 1));
}

TEST(three_measurements_are_enough_and_their_median_counts)
{
	struct prices p;
	double v;

	prices_read(&p, NULL, ME, NOW);
	v = 30;
	prices_add(&p, "tick", &v, 1);
	assert_true(v == 30);
	assert_false(prices_known(&p, "tick", &v, 1));
	v = 10;
	prices_add(&p, "tick", &v, 1);
	assert_true(v == 20);
	v = 11;
	prices_add(&p, "tick", &v, 1);
	assert_true(v == 11);
	v = 0;
	assert_true(prices_known(&p, "tick", &v, 1));
	assert_true(v == 11);
	/* the oldest go */
	for (int i = 0; i < PRICES_KEPT; i++) {
		v = 50;
		prices_add(&p, "tick", &v, 1);
	}
	assert_true(v == 50);
}

TEST(what_cannot_be_measured_is_not_kept_as_a_price)
{
	struct prices p;
	double v[2] = { NAN, NAN };

	prices_read(&p, NULL, ME, NOW);
	prices_add(&p, "watch", v, 2);
	assert_int_equal(p.count, 0);
	for (int i = 0; i < PRICES_ENOUGH; i++) {
		v[0] = 7;
		v[1] = i ? NAN : 5;
		prices_add(&p, "watch", v, 2);
	}
	assert_true(prices_known(&p, "watch", v, 2));
	assert_true(v[0] == 7 && v[1] == 5);
}

#define LINES(name, at, value)                                                                                         \
	name " " at " " value " nan nan\n" name " " at " " value " nan nan\n" name " " at " " value " nan nan\n"

TEST(only_the_same_machine_and_program_count)
{
	struct prices p;
	double v;

	prices_read(&p, ME "\n" LINES("tick", "99990000000000", "9"), ME, NOW);
	assert_true(prices_known(&p, "tick", &v, 1));
	prices_read(&p, ME "\n" LINES("tick", "99990000000000", "9"), ME " rebooted", NOW);
	assert_false(prices_known(&p, "tick", &v, 1));
	prices_read(&p, ME " longer\n" LINES("tick", "99990000000000", "9"), ME, NOW);
	assert_false(prices_known(&p, "tick", &v, 1));
}

TEST(one_is_measured_again_the_oldest)
{
	struct prices p;
	double v;

	/* both older than ten minutes */
	prices_read(&p, ME "\n" LINES("tick", "99200000000000", "9") LINES("watch", "99100000000000", "5"), ME, NOW);
	assert_true(prices_known(&p, "tick", &v, 1));
	assert_false(prices_known(&p, "watch", &v, 1));
	/* of the last ten minutes, and of more than a day ago, and of the future */
	prices_read(&p,
		    ME "\n" LINES("tick", "99500000000000", "9") LINES("watch", "10000000000000", "5")
			    LINES("counts", "100001000000000", "5"),
		    ME, NOW);
	assert_true(prices_known(&p, "tick", &v, 1));
	assert_int_equal(p.count, 1);
}

TEST(odd_lines_are_left_out)
{
	struct prices p;
	double v;

	prices_read(&p,
		    ME "\n\n \ntick\ntick x\ntick 1 2\ntick 99990000000000 9 nan\ntick 99990000000000 1e300 nan nan\n"
		       "tick 99990000000000 9 nan nan more\ntick 99990000000000 inf nan nan\n"
		       "a-name-that-is-longer-than-any-name-of-a-price 99990000000000 1 1 1\n"
		       "tick 99990000000000 8 nan nan\n",
		    ME, NOW);
	assert_false(prices_known(&p, "tick", &v, 1));
	for (unsigned i = 0; i < p.count; i++)
		assert_true(strcmp(p.of[i].name, "tick") || (p.of[i].count == 1 && p.of[i].value[0][0] == 8));
}

TEST(more_names_than_there_is_room_for)
{
	char text[8192] = ME "\n";
	struct prices p;
	double v = 1;

	for (int i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "n%d 99990000000000 1 1 1\n", i);
	prices_read(&p, text, ME, NOW);
	assert_int_equal(p.count, PRICES_MOST);
	prices_add(&p, "another", &v, 1);
	assert_false(prices_known(&p, "another", &v, 1));
}

TEST(the_file_brings_them_to_the_next)
{
	char dir[] = "/tmp/u-prices.XXXXXX", clean[64];
	struct prices p, q;
	double v;

	assert_non_null(mkdtemp(dir));
	setenv("XDG_CACHE_HOME", dir, 1);
	prices_open(&p);
	for (int i = 0; i < PRICES_ENOUGH; i++) {
		v = 40.5;
		prices_add(&p, "tick", &v, 1);
	}
	prices_close(&p);
	prices_open(&q);
	v = 0;
	assert_true(prices_known(&q, "tick", &v, 1));
	assert_true(v == 40.5);
	/* nowhere to keep them: they are measured each time */
	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	prices_open(&q);
	assert_false(prices_known(&q, "tick", &v, 1));
	prices_add(&q, "tick", &v, 1);
	prices_close(&q);
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	assert_int_equal(system(clean), 0);
}

TEST(every_price_has_a_row)
{
	for (unsigned i = 0; i < PRICE_IDS; i++) {
		const struct price_row *row = price_row(i), *before = i ? price_row(i - 1) : NULL;

		assert_true(row->name && row->unit && row->assumed > 0);
		/* what is kept is measured, and what is measured together is kept together */
		assert_true(row->measure || !row->kept);
		if (before && row->measure && before->measure == row->measure)
			assert_true(row->kept == before->kept || !strcmp(row->kept, before->kept));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(row->name, price_row(k)->name);
	}
}

/* Measured by earlier recordings, so that nothing is measured here. */
TEST(a_price_is_measured_or_assumed)
{
	struct prices p;

	prices_read(&p, NULL, ME, NOW);
	assert_true(isnan(price_measured(&p, PRICE_WATCH_ARM)));
	assert_true(price_of(&p, PRICE_WATCH_ARM) == price_assumed(PRICE_WATCH_ARM));
	for (int i = 0; i < PRICES_ENOUGH; i++) {
		double v[3] = { 2000, NAN, -300 };

		prices_add(&p, "watch", v, 3);
	}
	/* those that are measured together are known together */
	assert_true(isnan(price_measure(&p, PRICE_WATCH_ARM, NULL, NULL)));
	assert_true(price_measured(&p, PRICE_WATCH_HIT) == 2000 && price_of(&p, PRICE_WATCH_HIT) == 2000);
	/* could not be measured; a difference that came out below 0 */
	assert_true(price_of(&p, PRICE_WATCH_ARM) == price_assumed(PRICE_WATCH_ARM));
	assert_true(price_of(&p, PRICE_WATCH_WAKE) == price_assumed(PRICE_WATCH_WAKE));
	for (int i = 0; i < PRICES_ENOUGH; i++)
		prices_add(&p, "tick-512-0", &(double){ 7000 }, 1);
	assert_true(price_measure(&p, PRICE_TICK, "512-0", NULL) == 7000);
}

static struct uprobe_cost probe_cost(double call, enum fmt_probe_class endbr)
{
	struct uprobe_cost c = { .nop_ns = call / 8, .hot_ns = call - 100, .rounds = 16 };

	c.of[FMT_PROBE_STEPPED] = (struct uprobe_class_cost){ call, call - 200, call + 300, call / 2 };
	c.of[FMT_PROBE_EMULATED] = (struct uprobe_class_cost){ call / 2, call / 2 - 200, call / 2 + 300, call / 4 };
	c.class_of[SELF_STEPPED] = FMT_PROBE_STEPPED;
	c.class_of[SELF_PUSH] = FMT_PROBE_EMULATED;
	c.class_of[SELF_ENDBR] = endbr;
	uprobe_cost_of_unknown(&c);
	return c;
}

TEST(what_a_probe_costs_is_kept_whole)
{
	const double calls[] = { 4000, 9000, 5000 };
	struct uprobe_cost c, known = { 0 };
	struct prices p;

	prices_read(&p, NULL, ME, NOW);
	for (int i = 0; i < 3; i++) {
		assert_false(kept_price_known(&p, &known));
		c = probe_cost(calls[i], FMT_PROBE_EMULATED);
		kept_price_add(&p, &c);
	}
	assert_true(kept_price_known(&p, &known));
	c = probe_cost(5000, FMT_PROBE_EMULATED);
	assert_memory_equal(known.of, c.of, sizeof(c.of));
	assert_memory_equal(known.class_of, c.class_of, sizeof(c.class_of));
	assert_true(known.nop_ns == c.nop_ns && known.hot_ns == c.hot_ns && known.rounds > 0);
	/* measurements that disagree on a class leave it unknown: two of each */
	c = probe_cost(5000, FMT_PROBE_STEPPED);
	prices_read(&p, NULL, ME, NOW);
	for (int i = 0; i < 4; i++) {
		c = probe_cost(5000, i % 2 ? FMT_PROBE_STEPPED : FMT_PROBE_EMULATED);
		kept_price_add(&p, &c);
	}
	assert_true(kept_price_known(&p, &known));
	assert_int_equal(known.class_of[SELF_ENDBR], FMT_PROBE_UNKNOWN);
}
