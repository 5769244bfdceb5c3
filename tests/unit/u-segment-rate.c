// SPDX-License-Identifier: GPL-2.0-or-later
/* A made process with a known speed, seen through segments: what is told of it, and when nothing is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/segment_rate.h"
#include "unit/unit.h"
#include "util/random.h"

#define STRETCHES 24
#define CARRIED 6 /* in each */
#define TIMED 30
#define MOST (STRETCHES * (CARRIED + TIMED))
#define TAKEN 6000 /* ns, for pages; a segment is longer by as much, at most */

static uint64_t chance = 1;

static double draw(void)
{
	return random_unit(&chance);
}

/* Long ones run at .5 instructions a ns, short ones, three times as often, at 2: time would tell far too few. */
struct piece {
	double insns, ns;
};

static struct piece one(void)
{
	struct piece p;

	if (draw() < 0.25)
		p = (struct piece){ .insns = 20000 + 20000 * draw() };
	else
		p = (struct piece){ .insns = 4000 + 8000 * draw() };
	p.ns = p.insns / (p.insns > 19000 ? 0.5 : 2) * (0.9 + 0.2 * draw());
	return p;
}

static const double TRUTH = (0.25 * 30000 + 0.75 * 8000) / (0.25 * 60000 + 0.75 * 4000);

static size_t made(struct fmt_segment *s, double diverge)
{
	size_t n = 0;
	double disturbs = TAKEN * draw();

	for (uint32_t h = 1; h <= STRETCHES; h++)
		for (unsigned i = 0; i < CARRIED + TIMED; i++) {
			bool carried = i < CARRIED;
			bool diverged = draw() < diverge;
			struct piece p = one();

			s[n++] = (struct fmt_segment){
				.stretch = h,
				.weight = carried ? 100 : 20,
				.ns = p.ns + (carried ? disturbs : 0),
				.instructions = carried && !diverged ? (uint64_t)p.insns : 0,
				.state = !carried   ? FMT_SEG_TIMED
					 : diverged ? FMT_SEG_DIVERGED
						    : FMT_SEG_VERIFIED,
				.cause = carried && diverged ? FMT_SEGC_BRANCH : FMT_SEGC_NONE,
				.taken_ns = carried ? TAKEN : 0,
				.gap_ns = 300,
			};
		}
	return n;
}

static struct segment_rate rate_of(const struct fmt_segment *s, size_t n)
{
	uint64_t dropped = 0;
	struct segment_rate r = segment_rate(s, n, NAN, &dropped);

	assert_int_equal(dropped, 0);
	return r;
}

TEST(intervals_hold)
{
	struct fmt_segment s[MOST];
	unsigned held = 0, rounds = 400;
	double mean = 0, width = 0;

	for (unsigned i = 0; i < rounds; i++) {
		struct segment_rate r = rate_of(s, made(s, 0));

		assert_true(r.known);
		assert_null(r.why);
		assert_int_equal(r.count[FMT_SEG_VERIFIED], STRETCHES * CARRIED);
		assert_int_equal(r.stretches, STRETCHES);
		held += r.low <= TRUTH && TRUTH <= r.high;
		mean += r.per_ns / rounds;
		width += log(r.high / r.low) / rounds;
	}
	/* with the disturbed times it would be a tenth less */
	assert_true(fabs(mean / TRUTH - 1) < 0.04);
	assert_in_range(held, rounds * 92 / 100, rounds * 99 / 100);
	assert_true(width < 0.6);
}

/* Diverged ones are as fast as others here; that they might not be makes the interval wider. */
TEST(what_diverged_widens)
{
	struct fmt_segment s[MOST];
	struct segment_rate whole = rate_of(s, made(s, 0)), part = rate_of(s, made(s, 0.4)), none;

	assert_true(part.known);
	assert_true(part.low <= TRUTH && TRUTH <= part.high);
	assert_true(part.verified < 0.8 && part.verified > 0.3);
	assert_true(part.var_unverified > 0);
	assert_true(whole.var_unverified < 1e-9);
	assert_true(part.high / part.low > whole.high / whole.low);
	assert_true(part.cause[FMT_SEGC_BRANCH] > 20);
	none = rate_of(s, made(s, 0.9));
	assert_false(none.known);
	assert_true(isnan(none.per_ns) && isnan(none.low) && isnan(none.high));
	assert_non_null(none.why);
}

/* User time for each of the stretches, as CPUs, if all of it lies in segments. */
static double running_in(const struct fmt_segment *s, size_t n)
{
	double ns = 0;

	for (size_t i = 0; i < n; i++)
		ns += s[i].state == FMT_SEG_TIMED ? s[i].weight * s[i].ns : 0;
	return ns / (STRETCHES * FMT_SEGMENT_STRETCH_NS);
}

/* Every second stretch has none: half of the time code ran that calls nobody, at a speed of its own. */
TEST(what_no_segment_met_widens)
{
	struct fmt_segment s[MOST];
	size_t n = made(s, 0);
	struct segment_rate all, half, idle;
	double running = running_in(s, n);
	uint64_t dropped = 0;

	all = segment_rate(s, n, running, &dropped);
	assert_true(all.met > 0.999 && all.var_unverified < 1e-5);
	for (size_t i = 0; i < n; i++)
		s[i].stretch *= 2;
	half = segment_rate(s, n, running, &dropped);
	assert_true(half.met > 0.45 && half.met < 0.6);
	assert_true(half.var_unverified > 0.02);
	assert_true(!half.known || half.high / half.low > 1.3 * all.high / all.low);
	/* or it did not run */
	idle = segment_rate(s, n, running / 2, &dropped);
	assert_true(idle.met > 0.95 && idle.var_unverified < 1e-3);
	for (size_t i = 0; i < n; i++)
		s[i].stretch *= 5;
	half = segment_rate(s, n, running, &dropped);
	assert_false(half.known);
	assert_non_null(strstr(half.why, "in no segment"));
}

/* A compressor reads its input in small pieces and then works for long on all of them: calls came back in each stretch,
 * and a tenth of the time lies between them. */
TEST(a_long_phase_is_not_met)
{
	struct fmt_segment s[MOST];
	size_t n = made(s, 0);
	uint64_t dropped = 0;
	struct segment_rate r = segment_rate(s, n, 10 * running_in(s, n), &dropped);

	assert_true(r.met > 0.09 && r.met < 0.11);
	assert_false(r.known);
	assert_non_null(strstr(r.why, "in no segment"));
}

/* The same time in segments that nobody saw end. */
/* One in ten of the timed ones is as long as none that was carried on: nearly all time is in those, and unknown. */
TEST(long_ones_that_were_not_carried_on)
{
	struct fmt_segment s[MOST];
	size_t n = made(s, 0);
	struct segment_rate r = rate_of(s, n);

	assert_true(r.known && r.verified > 0.99);
	for (size_t i = 0; i < n; i++)
		if (s[i].state == FMT_SEG_TIMED && !(i % 10))
			s[i].ns = 1e7;
	r = rate_of(s, n);
	assert_false(r.known);
	assert_true(r.verified < 0.1);
	assert_non_null(r.why);
}

#define LONG_NS 57000. /* from one call to the next, and back again in a third of a microsecond */
#define LONG_INSNS 800000.
#define SHORT_NS 300.
#define SHORT_INSNS 35.
#define PAGES_NS                                                                                                       \
	73000 /* that copying them takes: it disturbs a long one hardly, a short one by most of a microsecond */

/* A thread that calls two in turn. Those that follow the first are long, so they are carried on twenty times as often,
 * and by chance in most stretches they alone, which stand for all returns there. */
static size_t in_turns(struct fmt_segment *s, bool short_ones)
{
	size_t n = 0;

	for (uint32_t h = 1; h <= STRETCHES; h++)
		for (unsigned i = 0; i < CARRIED + TIMED; i++) {
			bool carried = i < CARRIED, is_long = carried ? !short_ones || h % 8 || i : i % 2;
			double ns = (is_long ? LONG_NS : SHORT_NS) * (.97 + .06 * draw());

			s[n++] = (struct fmt_segment){
				.stretch = h,
				.weight = carried ? 55 : 11,
				.ns = ns + (carried ? 800 : 0),
				.instructions = !carried ? 0 : (uint64_t)(is_long ? LONG_INSNS : SHORT_INSNS),
				.state = carried ? FMT_SEG_VERIFIED : FMT_SEG_TIMED,
				.taken_ns = carried ? PAGES_NS : 0,
				.nr = is_long ? 17 : 18,
				.entry_nr = is_long ? 18 : 17,
			};
		}
	return n;
}

TEST(kinds_that_are_carried_on_unevenly)
{
	const double truth = (LONG_INSNS + SHORT_INSNS) / (LONG_NS + SHORT_NS);
	struct fmt_segment s[MOST];
	struct segment_rate r;
	(void)state;

	/* some short ones among them, and none */
	for (int some = 1; some >= 0; some--) {
		r = rate_of(s, in_turns(s, some));
		assert_true(r.known && fabs(r.per_ns / truth - 1) < .02);
		assert_true(!some || (r.low <= truth && truth <= r.high));
		assert_true(r.verified > .95);
	}
	/* a long kind of which none was carried on is not known to run as fast */
	for (size_t i = 0; i < MOST; i++)
		if (s[i].state == FMT_SEG_TIMED && s[i].nr == 18) {
			s[i].nr = 1;
			s[i].ns = 3 * LONG_NS;
		}
	r = rate_of(s, MOST);
	assert_true(r.verified < .3);
	assert_true(!r.known || r.high > 1.5 * r.per_ns);
}

TEST(long_ones_are_told)
{
	struct fmt_segment s[MOST];
	size_t n = made(s, 0);
	struct segment_rate r;

	for (size_t i = 0; i < n; i++)
		if (s[i].state == FMT_SEG_VERIFIED && i % 2) {
			s[i].state = FMT_SEG_CENSORED;
			s[i].cause = FMT_SEGC_LONG;
			s[i].ns = 3e7;
		}
	r = rate_of(s, n);
	assert_false(r.known);
	assert_non_null(strstr(r.why, "longer than any"));
	assert_true(r.verified < 0.01);
	for (size_t i = 0; i < n; i++)
		if (s[i].state == FMT_SEG_CENSORED) {
			s[i].state = FMT_SEG_LOST;
			s[i].cause = FMT_SEGC_UNSEEN;
			s[i].ns = 0;
		}
	r = rate_of(s, n);
	assert_true(r.verified > 0.4 && r.verified < 0.6);
}

TEST(too_little_is_unknown)
{
	struct fmt_segment s[MOST];
	size_t n = made(s, 0);
	struct segment_rate r = rate_of(NULL, 0);

	assert_false(r.known);
	assert_non_null(strstr(r.why, "no segment"));
	assert_true(isnan(r.verified));
	/* of one piece of time the scatter between pieces is unknown */
	for (size_t i = 0; i < n; i++)
		s[i].stretch = 1;
	r = rate_of(s, n);
	assert_false(r.known);
	assert_non_null(strstr(r.why, "too few"));
	/* the gap is all there is */
	n = made(s, 0);
	for (size_t i = 0; i < n; i++)
		s[i].ns = i % 2 ? 20 : -20;
	r = rate_of(s, n);
	assert_false(r.known);
	assert_true(isnan(r.per_ns));
}

TEST(faults_are_the_kernels)
{
	struct fmt_segment s[MOST];
	size_t n;
	struct segment_rate r;
	double plain;

	chance = 7;
	n = made(s, 0);
	plain = rate_of(s, n).per_ns;
	for (size_t i = 0; i < n; i++) {
		s[i].faults = 2;
		s[i].ns += 2000;
	}
	r = rate_of(s, n);
	assert_true(r.known);
	assert_true(fabs(r.per_ns / plain - 1) < 1e-9);
	assert_true(r.var_prices > 0.001);
}

TEST(damage_is_passed_over)
{
	struct fmt_segment s[MOST];
	size_t n;
	uint64_t dropped = 0;
	struct segment_rate r;

	chance = 9;
	n = made(s, 0);
	s[0].weight = NAN;
	s[1].ns = INFINITY;
	s[2].state = 77;
	s[3].cause = 1000;
	s[4].instructions = UINT64_MAX;
	s[5].instructions = 0; /* verified */
	s[6].weight = -1;
	s[7].state = 0;
	r = segment_rate(s, n, NAN, &dropped);
	assert_int_equal(dropped, 8);
	assert_true(r.known);
	assert_true(r.low <= TRUTH && TRUTH <= r.high);
	for (int i = 0; i < FMT_SEG_STATES + 2; i++)
		assert_non_null(segment_state_str((enum fmt_segment_state)i));
	for (int i = 0; i < FMT_SEGCS + 2; i++)
		assert_non_null(segment_cause_str((enum fmt_segment_cause)i));
}
