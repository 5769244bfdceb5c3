// SPDX-License-Identifier: GPL-2.0-or-later
/* Comparisons whose answers were worked out by hand, and the exact sections as an edge table. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/compare.h"
#include "flow/estimators.h"
#include "store/write.h"
#include "unit/unit.h"
#include "view/compare.h"

#define NEAR(got, want) assert_true(fabs((got) - (want)) < 1e-9)

static struct flow truth, estimate;
static struct flow_compare r;
static struct err e;

static int setup(void **state)
{
	flow_init(&truth);
	flow_init(&estimate);
	memset(&r, 0, sizeof(r));
	memset(&e, 0, sizeof(e));
	return 0;
}

static int teardown(void **state)
{
	flow_compare_release(&r);
	flow_release(&truth);
	flow_release(&estimate);
	return 0;
}

static void edge(struct flow *f, const char *producer, const char *consumer, double bytes, double half)
{
	uint32_t p = flow_func(f, producer, producer[0] == '(' ? "" : "app");
	uint32_t c = flow_func(f, consumer, consumer[0] == '(' ? "" : "app");
	struct flow_edge *to = flow_edge(f, p, c);

	to->bytes += bytes;
	to->low = to->bytes - half;
	to->high = to->bytes + half;
}

static int run(const struct compare_opts *o)
{
	static const struct compare_opts none;

	flow_compare_release(&r);
	flow_finish(&truth);
	flow_finish(&estimate);
	return flow_compare(&truth, &estimate, o ? o : &none, &r, &e);
}

TEST_WITH(equal_flows, setup, teardown)
{
	for (int side = 0; side < 2; side++) {
		struct flow *f = side ? &estimate : &truth;
		double scale = side ? 7 : 1; /* totals differ, shares do not */

		edge(f, "a", "b", 60 * scale, 0);
		edge(f, "b", "c", 30 * scale, 0);
		edge(f, "c", "c", 10 * scale, 0);
	}
	assert_int_equal(run(NULL), 0);
	NEAR(r.tv, 0);
	NEAR(r.tv_off, 0);
	NEAR(r.rel90, 0);
	NEAR(r.worst90, 0);
	assert_int_equal(r.rel90_edges, 2);
	assert_int_equal(r.top5.found, 3);
	assert_int_equal(r.top5.top, 3);
	assert_int_equal(r.covered, 3);
	assert_int_equal(r.coverable, 3);
	NEAR(r.spearman_in, 1);
	NEAR(r.true_bytes, 100);
	NEAR(r.estimated_bytes, 700);
	assert_int_equal(r.missed + r.invented + r.unresolved, 0);
}

TEST_WITH(disjoint_flows, setup, teardown)
{
	edge(&truth, "a", "b", 5, 0);
	edge(&estimate, "b", "a", 5, 0);
	assert_int_equal(run(NULL), 0);
	NEAR(r.tv, 1);
	assert_int_equal(r.top5.found, 0);
	assert_int_equal(r.missed, 1);
	assert_int_equal(r.invented, 1);
	NEAR(r.rel90, 1);
	NEAR(r.spearman_in, -1);
}

/* truth: ab .5, bc .3, cd .2; estimate: ab .4, bc .3, dd .3 -> sum |diff| = .1 + 0 + .2 + .3 */
TEST_WITH(figures_by_hand, setup, teardown)
{
	edge(&truth, "a", "b", 50, 0);
	edge(&truth, "b", "c", 30, 0);
	edge(&truth, "c", "d", 20, 0);
	edge(&estimate, "a", "b", 40, 11); /* .29 .. .51 holds .5 */
	edge(&estimate, "b", "c", 30, 1);  /* .29 .. .31 holds .3 */
	edge(&estimate, "d", "d", 30, 5);
	assert_int_equal(run(NULL), 0);
	NEAR(r.tv, 0.3);
	/* without dd: ab 4/7, bc 3/7 against .5 .3 .2: .0714 + .1286 + .2 */
	NEAR(r.tv_off, (4 / 7.0 - 0.5 + 3 / 7.0 - 0.3 + 0.2) / 2);
	/* the three edges hold 90 %: errors .2, 0, 1 */
	assert_int_equal(r.rel90_edges, 3);
	NEAR(r.rel90, 0.2);
	NEAR(r.worst90, 1);
	assert_int_equal(r.top5.top, 3);
	assert_int_equal(r.top5.found, 2);
	assert_int_equal(r.coverable, 3); /* a missing edge has no interval that could hold it */
	assert_int_equal(r.covered, 2);
	assert_int_equal(r.missed, 1);
	assert_int_equal(r.invented, 1);
	/* IN: b .5/.4, c .3/.3, d .2/.3: ranks 2 1 0 against 2 .5 .5 */
	assert_int_equal(r.ranked_in, 3);
	NEAR(r.spearman_in, 1.5 / sqrt(2 * 1.5));
	/* the worst offender stands first */
	assert_string_equal(r.names[r.pairs[0].producer].name, "d");
	NEAR(r.pairs[0].estimate - r.pairs[0].truth, 0.3);
}

TEST_WITH(intervals_miss_on_both_sides, setup, teardown)
{
	edge(&truth, "a", "b", 50, 0);
	edge(&truth, "b", "a", 50, 0);
	edge(&estimate, "a", "b", 80, 10); /* all above */
	edge(&estimate, "b", "a", 20, 10); /* all below */
	assert_int_equal(run(NULL), 0);
	assert_int_equal(r.coverable, 2);
	assert_int_equal(r.covered, 0);
}

TEST_WITH(tops_are_cut, setup, teardown)
{
	char name[8];

	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		edge(&truth, "p", name, 100 - i, 0);
		/* the estimate has the first five right and swaps the next five with the five after them */
		edge(&estimate, "p", name, i < 5 ? 100 - i : i < 10 ? 90 - i : i < 15 ? 100 - i + 5 : 50 - i, 0);
	}
	assert_int_equal(run(NULL), 0);
	assert_int_equal(r.top5.found, 5);
	assert_int_equal(r.top10.top, 10);
	assert_int_equal(r.top10.found, 5);
}

TEST_WITH(names_are_matched, setup, teardown)
{
	struct compare_opts fold = { .fold_outside = true }, only = { .functions_only = true };

	edge(&truth, "(kernel:read)", "a", 30, 0);
	edge(&truth, "(outside)", "a", 30, 0);
	edge(&truth, "a", "b", 40, 0);
	edge(&estimate, "(kernel)", "a", 30, 0);
	edge(&estimate, "(before attach)", "a", 30, 0);
	/* an object given as a path, and none at all */
	flow_edge(&estimate, flow_func(&estimate, "a", "/usr/bin/app"), flow_func(&estimate, "b", ""))->bytes = 40;
	assert_int_equal(run(NULL), 0);
	NEAR(r.tv, 0.3); /* the kernel matches, outside and before attach do not */
	assert_int_equal(run(&fold), 0);
	NEAR(r.tv, 0);
	assert_int_equal(run(&only), 0);
	NEAR(r.tv, 0);
	NEAR(r.true_bytes, 40);
}

TEST_WITH(the_incomparable_is_refused, setup, teardown)
{
	edge(&truth, "a", "b", 1, 0);
	assert_int_equal(run(NULL), -EINVAL);
	assert_non_null(strstr(e.text, "estimate holds no bytes"));
	edge(&estimate, "a", "b", 1, 0);
	estimate.semantics = FLOW_KE;
	assert_int_equal(run(NULL), -EINVAL);
	assert_non_null(strstr(e.text, "semantics"));
	estimate.semantics = FLOW_QUAD;
	estimate.stack = FLOW_STACK_INCLUDE;
	assert_int_equal(run(NULL), -EINVAL);
	estimate.stack = FLOW_STACK_EXCLUDE;
	estimate.main_image = true;
	assert_int_equal(run(NULL), -EINVAL);
	estimate.main_image = false;
	flow_edge(&estimate, 0, 0)->bytes = NAN;
	assert_int_equal(run(NULL), -EINVAL);
}

TEST_WITH(uma_is_judged, setup, teardown)
{
	edge(&truth, "a", "b", 100, 0);
	edge(&truth, "b", "a", 100, 0);
	edge(&estimate, "a", "b", 100, 0);
	edge(&estimate, "b", "a", 100, 0);
	truth.funcs[0].in_uma = 1000;
	truth.funcs[1].in_uma = 1000;
	assert_int_equal(run(NULL), 0);
	assert_int_equal(r.uma_functions, 0);
	assert_true(isnan(r.uma_within2)); /* unknown is not zero */
	estimate.funcs[flow_find(&estimate, "a", NULL)].in_uma = 501;
	estimate.funcs[flow_find(&estimate, "b", NULL)].in_uma = 2100;
	assert_int_equal(run(NULL), 0);
	assert_int_equal(r.uma_functions, 2);
	NEAR(r.uma_within2, 0.5);
	assert_int_equal(r.uma_bounds, 0);
	assert_true(isnan(r.uma_bounds_held));
	/* a bound is judged as one as well: 501 of 1000 holds, 2100 does not */
	for (uint32_t i = 0; i < estimate.func_count; i++)
		estimate.funcs[i].in_uma_bound = true;
	assert_int_equal(run(NULL), 0);
	assert_int_equal(r.uma_bounds, 2);
	NEAR(r.uma_bounds_held, 0.5);
	NEAR(r.uma_within2, 0.5);
}

TEST_WITH(views_say_unknown, setup, teardown)
{
	struct compare_view v = { &r, &truth, &estimate, "t", "e", 5, { "p", "" }, { 0 } };
	struct text_style style = { .width = 80 };
	AUTO_BUF(out);

	edge(&truth, "a", "a", 100, 0);
	edge(&estimate, "a", "a", 100, 0);
	estimate.edges[0].low = estimate.edges[0].high = NAN;
	assert_int_equal(run(NULL), 0);
	assert_true(isnan(r.tv_off)); /* there are self edges only */
	compare_text(&v, &style, &out);
	assert_non_null(strstr(out.data, "without self edges unknown"));
	assert_non_null(strstr(out.data, "no intervals"));
	assert_null(strstr(out.data, "Two programs")); /* one is unknown */
	buf_clear(&out);
	compare_json(&v, &out);
	assert_non_null(strstr(out.data, "\"programs\":[\"p\",null],\"same_program\":null"));
	assert_non_null(strstr(out.data, "\"tv\":0"));
	assert_non_null(strstr(out.data, "\"tv_off\":null"));
	assert_non_null(strstr(out.data, "\"covered\":0,\"of\":0"));
}

TEST_WITH(exact_sections_become_edges, setup, teardown)
{
	char path[] = "/tmp/accperf-u-compare-XXXXXX";
	int fd = mkstemp(path);
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_x_run x = { .chunk = 4, .has = FMT_X_HAS_QUAD | FMT_X_HAS_KE };
	struct fmt_function f1 = { .id = 9, .name = store_string(w, "f"), .object = store_string(w, "app") };
	struct fmt_function f2 = { .id = 3, .name = store_string(w, "(outside)") };
	struct fmt_x_edge e1 = { .producer = 3,
				 .consumer = 9,
				 .bytes = { 10, 20 },
				 .ke_chunks = { 1, 2 },
				 .unique = { FMT_X_UNKNOWN, FMT_X_UNKNOWN, FMT_X_UNKNOWN } };
	struct fmt_x_edge e2 = { .producer = 9, .consumer = 9, .bytes = { 0, 7 }, .unique = { 0, 5, 5 } };
	struct fmt_x_edge e3 = { .producer = 77, .consumer = 9, .bytes = { 1, 0 } }; /* a function nobody named */
	struct fmt_x_func fn = { .function = 9, .scope = FMT_X_SELF, .instructions = 42, .cycles = FMT_X_UNKNOWN };
	struct fmt_x_func twin = { .function = 10, .scope = FMT_X_SELF, .instructions = 8 };
	struct fmt_function f3 = { .id = 10, .name = f1.name, .object = f1.object, .file = store_string(w, "other.c") };
	struct est_opts o = EST_OPTS_DEFAULT;
	struct flow_input in;

	assert_true(fd >= 0);
	close(fd);
	assert_non_null(w);
	store_put(w, FMT_X_RUN, &x, sizeof(x));
	store_put(w, FMT_FUNCTION, &f1, sizeof(f1));
	store_put(w, FMT_FUNCTION, &f2, sizeof(f2));
	store_put(w, FMT_FUNCTION, &f3, sizeof(f3));
	store_put(w, FMT_X_EDGE, &e1, sizeof(e1));
	store_put(w, FMT_X_EDGE, &e2, sizeof(e2));
	store_put(w, FMT_X_EDGE, &e3, sizeof(e3));
	store_put(w, FMT_X_FUNC, &fn, sizeof(fn));
	store_put(w, FMT_X_FUNC, &twin, sizeof(twin));
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(flow_input_load(&in, path, NULL, &e), 0);
	flow_release(&truth);
	assert_int_equal(flow_estimate(&in, NULL, &o, &truth, &e), 0);
	assert_int_equal(truth.engine, FLOW_EXACT);
	assert_int_equal(truth.edge_count, 2); /* the stack's own edge is none here */
	NEAR(flow_total(&truth), 11);
	assert_true(
		isnan(flow_get(&truth, flow_find(&truth, "(outside)", NULL), flow_find(&truth, "f", "app"))->unique));
	NEAR(truth.funcs[flow_find(&truth, "f", "app")].instructions, 50); /* two static functions of one name */
	o.ke = o.stack = true;
	flow_release(&estimate);
	assert_int_equal(flow_estimate(&in, NULL, &o, &estimate, &e), 0);
	NEAR(flow_total(&estimate), 12);
	flow_input_release(&in);
	unlink(path);
}

TEST_WITH(who_began_late_is_told, setup, teardown)
{
	struct compare_opts fold = { .fold_outside = true };

	edge(&truth, "a", "b", 900, 0);
	edge(&truth, FLOW_OUTSIDE, "b", 100, 0);
	edge(&estimate, "a", "b", 700, 10);
	edge(&estimate, FLOW_BEFORE, "b", 300, 10);
	assert_int_equal(run(NULL), 0);
	NEAR(r.true_before, 0);
	NEAR(r.estimated_before, 0.3);
	assert_true(flow_compare_one_began_late(&r));
	assert_int_equal(run(&fold), 0);
	assert_false(flow_compare_one_began_late(&r));
	edge(&truth, FLOW_BEFORE, "b", 10, 0);
	assert_int_equal(run(NULL), 0);
	assert_false(flow_compare_one_began_late(&r)); /* both did */
}
