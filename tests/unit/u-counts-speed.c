// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording without a speed says to do, by what it saw of rates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counts/counts_report.h"
#include "counts/counts_speed.h"
#include "counts/counts_windows.h"
#include "store/write.h"
#include "unit/unit.h"

/* What bursts ran of the function in the model of a processor, and this machine's cycle; cycle NULL: unknown. */
static struct {
	double timed, cycles;
	const char *cycle;
	const char *switches; /* per ns of CPU time; NULL: unknown */
} modelled = { .switches = "1e-8" };

struct seen {
	uint32_t how; /* enum fmt_counts_how of the link */
	unsigned windows;
	double child; /* hits of each, of a hundredth of a second */
};

static int put_link(struct store_writer *s, uint32_t id, const struct seen *seen)
{
	/* a burst stands beside the ratio that asks for the same */
	struct fmt_counts_link l = { .id = id,
				     .parent = seen->how == FMT_CL_RATE ? 0 : 1,
				     .child = 2,
				     .how = seen->how,
				     .rival = seen->how == FMT_CL_REPLAY ? 100 : 0 };
	int err = store_put(s, FMT_COUNTS_LINK, &l, sizeof(l));

	for (unsigned i = 0; i < seen->windows && !err; i++) {
		struct fmt_counts_window w = {
			.armed = 1000 * (i + 1), .anchor = 0.01, .child = seen->child, .link = id
		};

		err = store_put(s, FMT_COUNTS_WINDOW, &w, sizeof(w));
	}
	return err;
}

/* A record of ten seconds, in which one function ran. */
static void record_of(const struct seen *seen, unsigned n, const struct fmt_segment *seg, size_t segs,
		      struct counts_record *r, struct counts_built *b)
{
	const struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };
	const struct fmt_counts_func f = { .id = 1,
					   .module = 1,
					   .start = 0x1000,
					   .end = 0x1100,
					   .self_ns = 1e10,
					   .samples = 1000,
					   .flags = FMT_CF_GRAPH,
					   .timed = modelled.timed,
					   .cycles = modelled.cycles };
	const struct fmt_counts_node node[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 10 },
		{ .id = 2, .function = 1, .kind = FMT_CN_LOOP, .addr = 0x1020, .instructions = 1e6 },
	};
	const struct seen ratio = { .how = FMT_CL_RATIO };
	char path[] = "/tmp/accperf-u-speed.XXXXXX";
	struct store_writer *s;
	struct err e = { 0 };

	close(mkstemp(path));
	s = store_create(path, 0, &e);
	assert_non_null(s);
	store_put(s, FMT_MODULE, &m, sizeof(m));
	if (modelled.cycle)
		store_meta(s, "cycle_ns", modelled.cycle);
	if (modelled.switches)
		store_meta(s, "switches_per_cpu_ns", modelled.switches);
	store_put(s, FMT_COUNTS_FUNC, &f, sizeof(f));
	for (int i = 0; i < 2; i++)
		store_put(s, FMT_COUNTS_NODE, &node[i], sizeof(node[i]));
	assert_int_equal(put_link(s, 100, &ratio), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(put_link(s, i + 1, &seen[i]), 0);
	for (size_t i = 0; i < segs; i++)
		store_put(s, FMT_SEGMENT, &seg[i], sizeof(seg[i]));
	assert_int_equal(store_close(s, &e), 0);
	assert_int_equal(counts_record_load(r, path, &e), 0);
	unlink(path);
	assert_int_equal(counts_record_tree(r, b, &e), 0);
	assert_int_equal(counts_solve(&b->tree), 0);
}

static struct counts_speed speed_of(const struct seen *seen, unsigned n, uint64_t duration_ns)
{
	struct profile p = { .duration_ns = duration_ns };
	struct counts_record r = { 0 };
	struct counts_speed speed;
	struct counts_built b;

	record_of(seen, n, NULL, 0, &r, &b);
	r.profile = &p;
	speed = counts_speed(&r, &b);
	counts_built_release(&b);
	counts_record_release(&r);
	return speed;
}

#define STRETCHES 8
#define CARRIED 5

/* What lies between system calls ran at 3 instructions a ns: all amounts follow, as counts shows them. Rates that are
 * there weigh by how closely they know it. */
TEST(segments_tell_where_no_rate_does)
{
	static const struct seen rate = { FMT_CL_RATE, 20, 30 }, ratio = { FMT_CL_RATIO, 2, 30 };
	struct fmt_segment seg[STRETCHES * CARRIED];
	double runs, by_segments = 0;

	for (int k = 0; k < 4; k++) {
		struct counts_record r = { 0 };
		struct counts_built b;
		struct counts_speed s;
		double all = 0;

		for (uint32_t i = 0; i < STRETCHES * CARRIED; i++)
			seg[i] =
				(struct fmt_segment){ .stretch = 1 + i / CARRIED,
						      .weight = 100,
						      .ns = 20000 + (i / CARRIED % 2 ? 1 : -1) * (k == 3 ? 1000 : 6000),
						      .instructions = 60000,
						      .state = FMT_SEG_VERIFIED };
		record_of(k >= 2 ? &rate : &ratio, 1, seg, k ? STRETCHES * CARRIED : 0, &r, &b);
		runs = b.tree.runs[1];
		/* nothing but segments tells the level: what is off by that is in their interval alone */
		assert_true(k == 2 || b.tree.total_var < 1);
		s = counts_speed(&r, &b);
		for (size_t i = 0; i < b.tree.groups; i++)
			all += b.tree.group[i].instructions * s.times;
		assert_int_equal(s.known, k > 0);
		assert_int_equal(s.by, !k ? SPEED_BY_NOTHING : k == 2 ? SPEED_BY_RATES : SPEED_BY_SEGMENTS);
		assert_true(b.tree.runs[1] == runs);
		if (k) {
			assert_true(fabs(all / 3e9 - 1) < (k == 1 ? 1e-6 : 0.01));
			assert_true(s.low > 0.3 && s.low < 1 && s.high > 1 && s.high < 3);
		}
		/* two that agree tell more than one */
		assert_true(k != 2 || s.high < by_segments);
		by_segments = k == 1 ? s.high : by_segments;
		counts_built_release(&b);
		counts_record_release(&r);
	}
}

static struct counts_speed speed_by_model(double timed, double per_cycle, const char *cycle, double segment_ns,
					  double *all)
{
	static const struct seen ratio = { FMT_CL_RATIO, 2, 30 };
	struct fmt_segment seg[STRETCHES * CARRIED];
	struct counts_record r = { 0 };
	struct counts_built b;
	struct counts_speed s;

	modelled.timed = timed;
	modelled.cycles = timed / per_cycle;
	modelled.cycle = cycle;
	for (uint32_t i = 0; i < STRETCHES * CARRIED; i++)
		seg[i] = (struct fmt_segment){ .stretch = 1 + i / CARRIED,
					       .weight = 100,
					       .ns = segment_ns + (i / CARRIED % 2 ? 1 : -1) * segment_ns / 20,
					       .instructions = 60000,
					       .state = FMT_SEG_VERIFIED };
	record_of(&ratio, 1, seg, segment_ns > 0 ? STRETCHES * CARRIED : 0, &r, &b);
	s = counts_speed(&r, &b);
	*all = 0;
	for (size_t i = 0; i < b.tree.groups; i++)
		*all += b.tree.group[i].instructions * s.times;
	counts_built_release(&b);
	counts_record_release(&r);
	modelled.timed = modelled.cycles = 0;
	modelled.cycle = NULL;
	return s;
}

/* A recording without a rate has amounts, within errors that say how far the model is off between programs. */
TEST(a_model_tells_where_nothing_was_measured)
{
	double all, twice, mixed, far;
	struct counts_speed s = speed_by_model(1e6, 2, "0.25", 0, &all), t, few;

	assert_true(s.known && s.by == SPEED_BY_MODEL && s.added_var > 0);
	assert_true(s.low > 0.35 && s.low < 0.7 && s.high > 1.5 && s.high < 2.8);
	assert_true(all > 8e9 &&
		    all < 16e9); /* 2 instructions in a quarter of a nanosecond, and what the model lacks */
	t = speed_by_model(1e6, 4, "0.5", 0, &twice);
	assert_true(t.known && fabs(twice / all - 1) < 0.01);
	/* a single burst tells less than a hundred */
	few = speed_by_model(1e4, 2, "0.25", 0, &twice);
	assert_true(!few.known || few.high > 1.1 * s.high);
	/* what was measured comes before it; where they differ by more than chance both are unsure */
	t = speed_by_model(1e6, 2, "0.25", 60000 / (all * 1e-9), &mixed);
	assert_true(t.known && t.by == SPEED_BY_SEGMENTS && fabs(mixed / all - 1) < 0.02 && t.high < 1.5);
	t = speed_by_model(1e6, 2, "0.25", 60000 / (all * 1e-9) * 2.2, &far);
	assert_true(t.known && far > all / 2.2 && far < all / 1.3 && far * t.low < all / 2.2 &&
		    far * t.high > all / 1.3);
	t = speed_by_model(1e6, 2, "0.25", 60000 / (all * 1e-9) * 6, &far);
	/* then no amount is told, but what calls moved is weighed against code of that speed, and of no other */
	assert_true(!t.known && t.guessed && isnan(t.low) && far < all / 1.3 && far > all / 6);
	/* nothing without the machine's cycle, or with one that is none */
	t = speed_by_model(1e6, 2, NULL, 0, &all);
	assert_true(!t.known && !t.guessed && t.times == 1);
	assert_false(speed_by_model(1e6, 2, "nan", 0, &all).known);
	assert_false(speed_by_model(1e6, 2, "-1", 0, &all).known);
	assert_false(speed_by_model(0, 2, "0.25", 0, &all).known);
}

/* The model's factor was found with programs that run for milliseconds: of one that runs for some microseconds after
 * each switch less is known, as of one whose switches are not known. */
TEST(a_model_tells_less_of_what_runs_on_caches_of_others)
{
	static const char *const often[] = { "5e-5", NULL, "nan", "-1" };
	const char *usual = modelled.switches;
	struct counts_speed long_runs = speed_by_model(1e6, 2, "0.25", 0, &(double){ 0 }), s;

	modelled.switches = "2e-7"; /* others keep it off the CPU every 5 ms */
	s = speed_by_model(1e6, 2, "0.25", 0, &(double){ 0 });
	assert_true(s.known && long_runs.known && s.high < long_runs.high * 1.01);
	for (size_t i = 0; i < sizeof(often) / sizeof(*often); i++) {
		modelled.switches = often[i];
		s = speed_by_model(1e6, 2, "0.25", 0, &(double){ 0 });
		assert_true(!s.known || (s.low < long_runs.low / 1.4 && s.high > long_runs.high * 1.4));
	}
	modelled.switches = usual;
}

#define SPEED_OF(ns, ...)                                                                                              \
	speed_of((const struct seen[]){ __VA_ARGS__ },                                                                 \
		 sizeof((const struct seen[]){ __VA_ARGS__ }) / sizeof(struct seen), ns)
#define TEN 10000000000ull

TEST(test_seconds)
{
	struct counts_speed s = SPEED_OF(TEN, { FMT_CL_RATE, 20, 30 });

	assert_true(s.known && isnan(s.seconds) && s.low < 1 && s.high > 1);
	/* one window of three: as many hits need five times the time */
	s = SPEED_OF(TEN, { FMT_CL_RATE, 1, 3 });
	assert_true(!s.known && isnan(s.low) && isnan(s.high));
	assert_true(fabs(s.seconds - 50) < 1e-6);
	/* hits enough: it is the windows that are too few */
	s = SPEED_OF(TEN, { FMT_CL_RATE, 1, 60 });
	assert_true(fabs(s.seconds - 30) < 1e-6);
	/* the nearest of several, and never hardly longer than what did not do */
	s = SPEED_OF(TEN, { FMT_CL_RATE, 1, 3 }, { FMT_CL_RATE, 7, 2 });
	assert_true(fabs(s.seconds - 15) < 1e-6);
	s = SPEED_OF(2 * TEN, { FMT_CL_RATE, 1, 3 });
	assert_true(fabs(s.seconds - 100) < 1e-6);
	/* of none that was hit, or of an unknown time, nothing follows */
	assert_true(isnan(SPEED_OF(TEN, { FMT_CL_RATE, 5, 0 }).seconds));
	assert_true(isnan(SPEED_OF(TEN, { FMT_CL_RATIO, 5, 5 }).seconds));
	assert_true(isnan(SPEED_OF(0, { FMT_CL_RATE, 1, 3 }).seconds));
	/* without breakpoints there is no rate, however long it takes */
	assert_true(isinf(SPEED_OF(TEN, { FMT_CL_REPLAY, 50, 5 }).seconds));
}

TEST(test_note)
{
	struct counts_speed_note n;

	assert_non_null(strstr(counts_speed_note(&n, 42), "; record for about 50 s"));
	assert_non_null(strstr(counts_speed_note(&n, 90), "about 90 s"));
	assert_non_null(strstr(counts_speed_note(&n, 130), "about 180 s"));
	assert_non_null(strstr(counts_speed_note(&n, 5000), "--effort high"));
	assert_non_null(strstr(counts_speed_note(&n, NAN), "record for 30 s or longer"));
	assert_null(strstr(counts_speed_note(&n, INFINITY), "record for"));
	assert_non_null(strstr(n.text, "accperf doctor --breakpoints"));
}

/* Objects and timelines showed amounts by a speed that is known within a factor of two, and not a word of that. */
TEST(amounts_say_how_wide_they_are)
{
	struct counts_speed_note n;

	assert_non_null(strstr(counts_speed_spread(&n, 0.57, 1.77), "0.57 to 1.77 times"));
	assert_null(counts_speed_spread(&n, 1, 1));
	assert_null(counts_speed_spread(&n, NAN, NAN));
}

/* Calls of `main` are once, at any speed: nothing tells how often, and advise said "4e-8 to 2e15 calls a second". */
TEST(what_may_be_anything_is_unknown)
{
	struct counts_figure sure = counts_figure_of(10, 1), wide = counts_figure_of(10, 400);
	struct counts_figure none = counts_figure_of(NAN, 1), open = counts_figure_of(10, INFINITY);

	assert_true(counts_figure_known(&sure));
	assert_false(counts_figure_known(&wide) || counts_figure_known(&none) || counts_figure_known(&open));
}

/* epoll_wait() of a server: entered in each turn, and by few samples seven times as long as its turns have it. */
TEST(entries_that_segments_count)
{
	struct counts_figure f = counts_entries_counted(65e3, .04, .136, .7);

	assert_float_equal(f.value, 65e3 / .7, 1);
	assert_true(f.low < 65e3 && f.low > 40e3 && f.high > 65e3 / .136);
	f = counts_entries_counted(65e3, .04, .9, .7); /* most of it is in them */
	assert_float_equal(f.value, 65e3 / .9, 1);
	assert_true(f.low > 45e3 && f.high < 120e3);
	assert_true(isnan(counts_entries_counted(65e3, .04, .136, .3).value)); /* they stand for less than half */
	assert_true(isnan(counts_entries_counted(65e3, .04, .01, .7).value));
}

/* Ten bursts of ten thousand instructions entered a function twenty times, and the model tells how fast it ran.
 * Repeats: of `rep` instructions, for each of its own. */
static struct counts_figure entries_beside_repeats(double repeats)
{
	const struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };
	const struct fmt_counts_func f = { .id = 1,
					   .module = 1,
					   .start = 0x1000,
					   .end = 0x1100,
					   .self_ns = 1e10,
					   .samples = 1000,
					   .flags = FMT_CF_GRAPH,
					   .timed = 1e6,
					   .cycles = 1e6 };
	const struct fmt_counts_node node = {
		.id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 10
	};
	const struct fmt_counts_repeats rep = { .function = 1,
						.seen = 10,
						.instructions = 1e5,
						.repeats = 1e5 * repeats,
						.instructions2 = 1e9,
						.both = 1e9 * repeats,
						.repeats2 = 1e9 * repeats * repeats };
	const struct fmt_counts_burst burst = { .instructions = 10000, .module = 1, .end_module = 1 };
	struct branch in = { .kind = FMT_BRANCH_TAKEN, .from_addr = 0x5000, .to_addr = 0x1000, .times = 20 };
	char path[] = "/tmp/accperf-u-speed.XXXXXX";
	struct counts_record r = { 0 };
	struct counts_report told;
	struct counts_figure out;
	struct store_writer *s;
	struct profile *p;
	struct err e = { 0 };

	close(mkstemp(path));
	s = store_create(path, 0, &e);
	assert_non_null(s);
	store_put(s, FMT_MODULE, &m, sizeof(m));
	store_meta(s, "cycle_ns", "0.25");
	store_meta(s, "switches_per_cpu_ns", "1e-8");
	store_put(s, FMT_COUNTS_FUNC, &f, sizeof(f));
	store_put(s, FMT_COUNTS_NODE, &node, sizeof(node));
	store_put(s, FMT_COUNTS_REPEATS, &rep, sizeof(rep));
	for (int i = 0; i < 10; i++)
		store_put(s, FMT_COUNTS_BURST, &burst, sizeof(burst));
	assert_int_equal(store_close(s, &e), 0);
	p = counts_record_and_profile(&r, path, &e);
	assert_non_null(p);
	unlink(path);
	in.to = p->frames[profile_counts_frame(p, f.id)].module;
	r.branches = (struct branches){ &in, 1, 1 };
	assert_int_equal(counts_report_make(&r, p, NULL, 1, &told, &e), 0);
	assert_true(told.speed.known && told.windows == 0);
	out = told.row[0].second;
	counts_report_release(&told);
	r.branches = (struct branches){ 0 };
	counts_record_release(&r);
	profile_free(p);
	return out;
}

/* deflateInit2_() of a compress() each: it clears 64 KB by `rep stos`. A burst takes that for one instruction, so what
 * it repeats makes nothing be called more often: 71,000 calls a second were told of some thousand. */
TEST(repeats_are_no_entries)
{
	struct counts_figure plain = entries_beside_repeats(0), rep = entries_beside_repeats(9);

	assert_true(counts_figure_known(&plain) && counts_figure_known(&rep));
	assert_float_equal(rep.value, plain.value, plain.value * 1e-6);
	assert_float_equal(rep.high, plain.high, plain.high * 1e-6);
}
