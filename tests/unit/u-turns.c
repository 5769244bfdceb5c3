// SPDX-License-Identifier: GPL-2.0-or-later
/* Which hits of a window of execute breakpoints tell a ratio, and how much windows count beside each other. */
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counts/counts.h"
#include "counts/counts_windows.h"
#include "kmod-free/execbp.h"
#include "store/write.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

#define HIT_NS 12000.0
#define WITHIN_NS 20000

static struct exec_span turns(const char *slots, enum exec_end end)
{
	struct execwin_hit hit[64] = { 0 };
	struct exec_window w = { .end = end, .hit = hit, .count = (uint32_t)strlen(slots) };

	for (uint32_t i = 0; i < w.count; i++)
		hit[i].slot = (uint32_t)(slots[i] - 'a');
	return execbp_turns(&w);
}

static uint32_t hits_in(const char *slots, struct exec_span s, char slot)
{
	uint32_t n = 0;

	for (uint32_t i = s.from; i < s.to; i++)
		n += slots[i] == slot;
	return n;
}

TEST(test_turns)
{
	static const char *const alike[] = { "abababab", "babababa", "abcabcabcabc" };
	struct exec_span s;

	for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++) {
		s = turns(alike[i], EXEC_HITS);
		assert_int_equal(hits_in(alike[i], s, 'a'), hits_in(alike[i], s, 'b'));
		assert_true(s.to - s.from >= strlen(alike[i]) - 4);
	}
	/* b four times for each a, whatever it begins with */
	s = turns("bbabbbbabbbbabb", EXEC_HITS);
	assert_int_equal(s.from, 1);
	assert_int_equal(hits_in("bbabbbbabbbbabb", s, 'b'), 11);
	assert_int_equal(hits_in("bbabbbbabbbbabb", s, 'a'), 3);
	/* ended by time, or nothing twice: all of it */
	s = turns("abab", EXEC_TIME);
	assert_int_equal(s.to - s.from, 4);
	s = turns("abc", EXEC_HITS);
	assert_int_equal(s.to - s.from, 3);
	s = turns("", EXEC_LATE);
	assert_int_equal(s.to - s.from, 0);
}

/* Of the time one part runs a child each 5 ns and an anchor every 80 of them, the other a child each 50 us and two
 * anchors every three: windows begin in either by its time. */
static struct fmt_counts_window window(double slow_part, bool told)
{
	bool slow = uniform() < slow_part;
	double child = 15, anchor = slow ? 10 : uniform() < 15.0 / 80, hits = child + anchor;
	double took = child * (slow ? 50000 : 5) + hits * HIT_NS * (0.97 + 0.06 * uniform());
	struct fmt_counts_window w = { .link = 1, .anchor = anchor, .child = child };

	/* an early hit is what slow code seldom has */
	if (slow && uniform() > -expm1(-25 / (15 * 50000.0) * (WITHIN_NS - HIT_NS)))
		return window(slow_part, told);
	if (told) {
		w.took_ns = (uint64_t)took;
		w.hits = (uint32_t)hits;
		w.within_ns = WITHIN_NS;
	}
	return w;
}

static bool cost_seen; /* by windows of another link */

static void load(struct counts_record *r, uint32_t how, const struct fmt_counts_window *w, unsigned windows)
{
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };
	struct fmt_counts_func f = {
		.id = 1, .module = 1, .start = 0x1000, .end = 0x1100, .self_ns = 1e9, .samples = 100
	};
	struct fmt_counts_node n[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 5 },
		{ .id = 2, .function = 1, .kind = FMT_CN_LOOP, .addr = 0x1010, .instructions = 5 }
	};
	struct fmt_counts_link l = { .id = 1, .parent = 1, .child = 2, .how = how },
			       other = { .id = 2, .parent = 1, .child = 2, .how = FMT_CL_RATIO };
	struct fmt_counts_window cost = {
		.link = 2, .anchor = 8, .child = 8, .took_ns = (uint64_t)(16 * HIT_NS), .hits = 16
	};
	char path[] = "/tmp/accperf-u-turns.XXXXXX";
	struct store_writer *s;
	struct err e = { 0 };

	close(mkstemp(path));
	s = store_create(path, 0, &e);
	assert_non_null(s);
	store_put(s, FMT_MODULE, &m, sizeof(m));
	store_put(s, FMT_COUNTS_FUNC, &f, sizeof(f));
	store_put(s, FMT_COUNTS_NODE, &n[0], sizeof(n[0]));
	store_put(s, FMT_COUNTS_NODE, &n[1], sizeof(n[1]));
	store_put(s, FMT_COUNTS_LINK, &l, sizeof(l));
	for (unsigned i = 0; i < windows; i++)
		store_put(s, FMT_COUNTS_WINDOW, &w[i], sizeof(w[i]));
	if (cost_seen) {
		store_put(s, FMT_COUNTS_LINK, &other, sizeof(other));
		store_put(s, FMT_COUNTS_WINDOW, &cost, sizeof(cost));
	}
	assert_int_equal(store_close(s, &e), 0);
	assert_int_equal(counts_record_load(r, path, &e), 0);
	unlink(path);
}

/* Children for each anchor, and hits in all. */
static double ratio_of(uint32_t how, const struct fmt_counts_window *w, unsigned windows, double *hits)
{
	struct counts_record r;
	double anchor = 0, child = 0;

	load(&r, how, w, windows);
	assert_int_equal(r.links, 1 + cost_seen);
	for (size_t i = 0; i < r.windows && !r.window[i].link; i++) {
		anchor += r.window[i].anchor;
		child += r.window[i].child;
	}
	*hits = anchor + child;
	counts_record_release(&r);
	return child / anchor;
}

TEST(test_phases)
{
	struct fmt_counts_window w[400];
	double hits, ratio;

	for (rng = 77; rng < 82; rng++) {
		uint64_t seed = rng;

		for (int i = 0; i < 400; i++)
			w[i] = window(0.3, false);
		/* without telling how long they took they all count alike */
		assert_true(ratio_of(FMT_CL_RATIO, w, 400, &hits) < 20);
		rng = seed;
		for (int i = 0; i < 400; i++)
			w[i] = window(0.3, true);
		ratio = ratio_of(FMT_CL_RATIO, w, 400, &hits);
		print_message("%.1f children an anchor, truly 80\n", ratio);
		assert_true(ratio > 40 && ratio < 160);
		/* and no more hits than there were */
		assert_true(hits > 0 && hits < 400 * 25);
		rng = seed;
	}
	/* where all are alike, nothing changes */
	for (int i = 0; i < 400; i++)
		w[i] = (struct fmt_counts_window){
			.link = 1, .anchor = 8, .child = 8, .took_ns = (uint64_t)(HIT_NS * (16 + uniform())), .hits = 16
		};
	assert_true(fabs(ratio_of(FMT_CL_RATIO, w, 400, &hits) - 1) < 1e-9);
	assert_true(fabs(hits - 400 * 16) < 1e-6);
}

/* Half of the time a loop turns 8 times each 0.4 us, the other half 1000 times each ms: once in 2500 it does so. */
TEST(test_trips_in_phases)
{
	struct fmt_counts_window w[100] = { 0 };
	double hits;

	for (int i = 0; i < 100; i++)
		w[i] = (struct fmt_counts_window){ .link = 1, .anchor = 24, .child = 24.0 * (i % 2 ? 8 : 1000) };
	assert_true(fabs(ratio_of(FMT_CL_TRIPS, w, 100, &hits) - 504) < 1e-6);
	for (int i = 0; i < 100; i++) {
		w[i].hits = 48;
		w[i].took_ns = (uint64_t)(48 * HIT_NS + 24 * (i % 2 ? 400 : 1e6));
	}
	assert_true(ratio_of(FMT_CL_TRIPS, w, 100, &hits) < 40);
	/* hits that cost somewhat more than the cheapest hide how quick the short ones are: their turns tell */
	cost_seen = true;
	for (int i = 0; i < 100; i++)
		w[i].took_ns += (uint64_t)(48 * 0.4 * HIT_NS);
	assert_true(ratio_of(FMT_CL_TRIPS, w, 100, &hits) < 9);
	cost_seen = false;
	/* one that was met within says nothing of how long it took: all count alike */
	w[7].hits = 0;
	assert_true(fabs(ratio_of(FMT_CL_TRIPS, w, 100, &hits) - 504) < 1e-6);
}

TEST(test_hostile)
{
	const struct fmt_counts_window bad[] = {
		{ .link = 1,
		  .anchor = 1,
		  .child = 1,
		  .took_ns = UINT64_MAX,
		  .hits = UINT32_MAX,
		  .within_ns = UINT32_MAX },
		{ .link = 1, .anchor = 1, .child = 1, .took_ns = 0, .hits = 8, .within_ns = 1 },
		{ .link = 1, .anchor = 1e17, .child = 1e17, .took_ns = 1, .hits = UINT32_MAX },
		{ .link = 1, .anchor = 0, .child = 0, .took_ns = UINT64_MAX, .hits = 1 },
	};
	double hits;

	for (unsigned n = 1; n <= 4; n++)
		for (unsigned k = 0; k + n <= 4; k++)
			for (uint32_t how = FMT_CL_TRIPS; how <= FMT_CL_RATIO; how++)
				if (ratio_of(how, bad + k, n, &hits), !(k == 3 && n == 1))
					assert_true(isfinite(hits));
}
