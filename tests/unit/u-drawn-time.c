// SPDX-License-Identifier: GPL-2.0-or-later
/* User time while segments are drawn: ticks that lie in the pieces of time, and what they say beside all others. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "counts/counts_windows.h"
#include "counts/drawn_time.h"
#include "counts/segment_rate.h"
#include "counts/counts_speed.h"
#include "record/stretch_ticks.h"
#include "unit/unit.h"

#define PERIOD 1000000ull /* ns of a tick */
#define LONG (uint64_t) FMT_SEGMENT_STRETCH_NS

static char path[64];

/* What a recorder writes that met such ticks, read again. */
static void read_back(struct store_writer *w, struct counts_record *r)
{
	struct err e = { 0 };

	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(counts_record_load(r, path, &e), 0);
}

static struct store_writer *writer(void)
{
	struct err e = { 0 };
	struct store_writer *w;

	snprintf(path, sizeof(path), "/tmp/accperf-drawn.%d", getpid());
	w = store_create(path, 0, &e);
	assert_non_null(w);
	return w;
}

static struct sample tick(uint64_t time, uint32_t flags)
{
	return (struct sample){ .kind = SAMPLE_TICK, .time = time, .period = PERIOD, .flags = flags };
}

/* Ten pieces, told before any of their samples comes; of five ticks in each one is the kernel's, one returns, one comes
 * before it and one behind it. */
TEST(ticks_lie_in_their_piece)
{
	struct store_writer *w = writer();
	struct stretch_ticks t = { 0 };
	struct counts_record r = { 0 };

	for (uint32_t i = 0; i < 10; i++)
		stretch_ticks_begin(&t, i + 1, i * 5 * LONG + LONG, i * 5 * LONG + 2 * LONG);
	for (uint32_t i = 0; i < 10; i++) {
		uint64_t from = i * 5 * LONG + LONG;
		const struct sample met[] = { tick(from - 1, 0), tick(from, 0), tick(from + 1, SF_KERNEL),
					      tick(from + 2, SF_RETURNS), tick(from + LONG + 1, 0) };

		for (size_t k = 0; k < 5; k++)
			assert_int_equal(stretch_ticks_sample(&t, w, &met[k]), 0);
	}
	assert_int_equal(t.count, 0);
	read_back(w, &r);
	assert_int_equal(r.dropped, 0);
	assert_true(r.drawn_time.stretches == 10 && r.drawn_time.ticks == 10);
	assert_true(fabs(r.drawn_time.running - 10. * PERIOD / LONG) < 1e-12);
	counts_record_release(&r);
	unlink(path);
}

/* Of one that was cut it is not known which ticks lie in it; of one that too many follow ticks were missed. */
TEST(cut_ones_tell_nothing)
{
	struct store_writer *w = writer();
	struct stretch_ticks t = { 0 };
	struct counts_record r = { 0 };
	struct sample late = tick(1000 * LONG, 0);

	for (uint32_t i = 0; i < STRETCH_TICKS_OPEN + 3; i++)
		stretch_ticks_begin(&t, i + 1, i * LONG + 1, i * LONG + LONG);
	assert_int_equal(t.count, STRETCH_TICKS_OPEN);
	assert_int_equal(t.open[0].stretch, 4);
	stretch_ticks_drop(&t, 7);
	stretch_ticks_drop(&t, 3);
	assert_int_equal(t.count, STRETCH_TICKS_OPEN - 1);
	assert_int_equal(stretch_ticks_sample(&t, w, &late), 0);
	assert_int_equal(t.count, 0);
	stretch_ticks_begin(&t, 100, 2000 * LONG, 2001 * LONG);
	assert_int_equal(stretch_ticks_flush(&t, w), 0);
	read_back(w, &r);
	assert_true(r.drawn_time.stretches == STRETCH_TICKS_OPEN && r.drawn_time.ticks == 0);
	counts_record_release(&r);
	unlink(path);
}

#define STRETCHES 40
#define IN_EACH 20 /* segments */

/* A thread that runs all its own code in segments has half a CPU in the mean. Of the pieces it has `part` of that. */
static struct segment_rate rate_where(double part, double told_part, struct segment_rate *untold)
{
	static struct fmt_segment s[STRETCHES * IN_EACH * 2];
	struct profile p = { .duration_ns = 10000000000ull };
	struct fmt_counts_func f = { .self_ns = 5e9, .samples = 5000 };
	struct counts_record r = { .profile = &p, .func = &f, .funcs = 1, .segment = s };
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < STRETCHES * IN_EACH * 2; i++)
		s[i] = (struct fmt_segment){ .begun = i,
					     .weight = i % 2 ? 40 : 10,
					     .ns = .5 * part * FMT_SEGMENT_STRETCH_NS / IN_EACH / 10,
					     .instructions = i % 2 ? 50000 : 0,
					     .stretch = i / (2 * IN_EACH) + 1,
					     .state = i % 2 ? FMT_SEG_VERIFIED : FMT_SEG_TIMED };
	r.segments = STRETCHES * IN_EACH * 2;
	*untold = counts_segments(&r, &dropped);
	/* one tick of 1 ms stands for a twentieth of a CPU in such a piece */
	r.drawn_time = (struct drawn_time){ .stretches = STRETCHES,
					    .running = STRETCHES * .5 * told_part,
					    .square = STRETCHES * .5 * told_part * .1,
					    .ticks = STRETCHES * 10 * told_part };
	assert_int_equal(dropped, 0);
	return counts_segments(&r, &dropped);
}

/* On a busy machine the recorder draws while it has a CPU, and the program has a quarter of what it has else. */
TEST(under_load_ticks_tell)
{
	struct segment_rate untold, told = rate_where(.25, .25, &untold);

	assert_true(untold.met > .2 && untold.met < .3);
	assert_true(told.met > .95);
	assert_true(told.known && told.var_unverified < untold.var_unverified / 10);
}

/* It ran as ever, and three quarters of its time lie in no segment: ticks must not hide that. */
TEST(what_lies_in_no_segment_stays_so)
{
	struct segment_rate untold, told = rate_where(.25, 1, &untold);

	assert_true(untold.met > .2 && untold.met < .3);
	assert_true(told.met > .2 && told.met < .3);
}

/* What may be chance is not believed, and where next to nothing was met nothing is. */
TEST(few_ticks_change_nothing)
{
	struct segment_rate untold, told = rate_where(1, .9, &untold);

	assert_true(untold.met > .99 && told.met == untold.met);
	told = rate_where(.25, .01, &untold);
	assert_true(told.met == untold.met);
}

/* Nor is what no machine can have counted. */
TEST(nonsense_is_dropped)
{
	const struct fmt_segment_stretch bad[] = { { .from = 5, .until = 5, .user_ns = 1, .ticks = 1 },
						   { .from = 9, .until = 5, .user_ns = 1, .ticks = 1 },
						   { .from = 1, .until = 5, .user_ns = NAN, .ticks = 1 },
						   { .from = 1, .until = 5, .user_ns = -1, .ticks = 1 },
						   { .from = 1, .until = 5, .user_ns = 1e300, .ticks = 1 },
						   { .from = 1, .until = 5, .user_ns = 3, .ticks = 0 } };
	struct store_writer *w = writer();
	struct counts_record r = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(store_put(w, FMT_SEGMENT_STRETCH, &bad[i], sizeof(bad[i])), 0);
	read_back(w, &r);
	assert_int_equal(r.dropped, sizeof(bad) / sizeof(bad[0]));
	assert_true(r.drawn_time.stretches == 0);
	counts_record_release(&r);
	unlink(path);
}
