// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of functions and edges. */
#include <math.h>

#include "flow/diff.h"
#include "flow/estimators.h"
#include "flow/flow.h"
#include "unit/unit.h"
#include "util/normal.h"
#include "util/random.h"

TEST(table_adds_up)
{
	struct flow f;
	uint32_t a, b, again;

	flow_init(&f);
	a = flow_func(&f, "parse", "app");
	b = flow_func(&f, "deflate", "libz.so");
	again = flow_func(&f, "parse", "app");
	assert_int_equal(a, again);
	assert_int_not_equal(a, flow_func(&f, "parse", "other"));
	flow_edge(&f, a, b)->bytes += 64;
	flow_edge(&f, b, b)->bytes += 16;
	flow_edge(&f, a, b)->bytes += 20;
	flow_finish(&f);
	assert_int_equal(f.edge_count, 2);
	assert_true(f.funcs[b].in == 100 && f.funcs[a].out == 84 && f.funcs[b].out == 16 && f.funcs[a].in == 0);
	assert_true(flow_total(&f) == 100);
	assert_int_equal(f.edges[0].producer, a);
	assert_ptr_equal(flow_get(&f, a, b), &f.edges[0]);
	assert_null(flow_get(&f, a, a));
	assert_int_equal(flow_find(&f, "nobody", NULL), FLOW_NONE);
	assert_true(isnan(f.funcs[a].calls) && isnan(f.edges[0].unique));
	flow_release(&f);
}

#define ROUNDS 4000
#define DRAWN 200 /* chances to be sampled: of accesses, and of computation */

/* Nineteen intervals of twenty hold what samples were drawn of. */
TEST(ops_a_byte_have_an_interval)
{
	static const double sizes[] = { 1, 4, 8, 32 };
	struct flow f = { .engine = FLOW_SOFT };
	struct flow_range of;
	uint64_t seed = 7;
	unsigned held = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct flow_func n = { .unit_compute = NAN };
		double half;

		for (unsigned i = 0; i < 4 * DRAWN; i++) {
			double size = sizes[i % 4];

			/* one in four is met, and stands for four; of the computation one in eight, for eight */
			if (random_next(&seed) % 4 == 0) {
				n.load_bytes += 4 * size;
				n.moved_variance += 16 * size * size;
			}
			n.compute += random_next(&seed) % 8 == 0;
		}
		half = Z95 * sqrt(n.compute);
		n.compute *= 8;
		n.compute_low = n.compute - 8 * half;
		n.compute_high = n.compute + 8 * half;
		of = flow_ops_per_byte(&f, &n);
		/* as many operations as accesses, of 11.25 bytes in the mean */
		held += of.low <= 1 / 11.25 && 1 / 11.25 <= of.high;
	}
	/* drawn one by one: what is drawn varies a little less than by Poisson's law, which intervals are of */
	assert_in_range(held, ROUNDS * 95 / 100, ROUNDS * 99 / 100);
	of = flow_ops_per_byte(&f, &(struct flow_func){ .compute = 3,
							.load_bytes = 6,
							.unit_compute = NAN,
							.compute_low = NAN,
							.compute_high = NAN });
	assert_true(of.value == .5 && isnan(of.low) && isnan(of.high));
	/* two bytes, which may be ten times as many: a factor of e to the tenth is no interval */
	of = flow_ops_per_byte(&f, &(struct flow_func){ .compute = 3,
							.load_bytes = 2,
							.moved_variance = 100,
							.unit_compute = NAN,
							.compute_low = 2,
							.compute_high = 4 });
	assert_true(isnan(of.value) && isnan(of.low) && isnan(of.high));
	f.engine = FLOW_EXACT;
	of = flow_ops_per_byte(&f, &(struct flow_func){ .compute = 3, .load_bytes = 6, .unit_compute = NAN });
	assert_true(of.low == .5 && of.high == .5);
}

/* No fewer distinct bytes than were met, no more than were read. */
TEST(distinct_bytes_have_bounds)
{
	struct flow f;
	struct flow_edge *e;
	struct flow_range of;
	uint32_t a;

	flow_init(&f);
	a = flow_func(&f, "parse", "app");
	e = flow_edge(&f, a, a);
	e->bytes = 100;
	e->low = 80;
	e->high = 120;
	of = flow_edge_unique(&f, e);
	assert_true(isnan(of.value) && isnan(of.low) && isnan(of.high));
	e->unique = 50;
	e->unique_met = 30;
	of = flow_edge_unique(&f, e);
	assert_true(of.value == 50 && of.low == 30 && of.high == 120);
	f.engine = FLOW_EXACT;
	e->unique_met = 50;
	of = flow_edge_unique(&f, e);
	assert_true(of.low == 50 && of.high == 50);
	flow_release(&f);
}

/* What system calls took was counted; bytes of code go with its speed. */
TEST(shares_of_both_kinds_go_with_the_speed)
{
	static const struct {
		double low, high;         /* of the speed; NaN: not measured */
		double least[2], most[2]; /* of the call's share, its ends */
	} of[] = {
		{ 1, 1, { .189, .209 }, { .191, .211 } },
		{ .5, 2, { .10, .32 }, { .12, .35 } },
		{ NAN, NAN, { .04, .7 }, { .07, .9 } },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct flow f;
		uint32_t a, b, call;
		struct flow_range r, code;

		flow_init(&f);
		f.speed_low = of[i].low;
		f.speed_high = of[i].high;
		a = flow_func(&f, "fill", "app");
		b = flow_func(&f, "sum", "app");
		call = flow_func(&f, "(kernel:write)", "");
		*flow_edge(&f, a, b) = (struct flow_edge){ a, b, 800, 8, NAN, 700, 900, 50, 100, false };
		*flow_edge(&f, a, call) = (struct flow_edge){ a, call, 200, 8, NAN, 190, 210, 5, 100, false };
		flow_finish(&f);
		assert_true(f.funcs[a].out == 1000 && f.funcs[a].taken == 200);
		r = flow_edge_share(&f, flow_get(&f, a, call));
		assert_true(fabs(r.value - .2) < 1e-9);
		assert_true(r.low > of[i].least[0] && r.high > of[i].least[1]);
		assert_true(r.low < of[i].most[0] && r.high < of[i].most[1]);
		/* a call's bytes are surer than their share */
		r = flow_edge_bytes(&f, flow_get(&f, a, call));
		assert_true(r.value == 200 && r.low == 190 && r.high == 210);
		/* so are the bytes of who wrote for calls, and of them what the calls took is sure */
		r = flow_amounts_taken(&f, (struct flow_range){ 1000, 1000, 1000 }, 200);
		if (i == 2)
			assert_true(isnan(r.value) && r.low == 200 && isnan(r.high));
		else
			assert_true(r.value == 1000 && r.low == 200 + 800 * of[i].low &&
				    r.high == 200 + 800 * of[i].high);
		r = flow_amounts_taken(&f, (struct flow_range){ 200, 190, 210 }, 200);
		assert_true(r.value == 200 && r.low == 190 && r.high == 210);
		/* the rest is what the calls leave */
		code = flow_edge_share(&f, flow_get(&f, a, b));
		assert_true(fabs(code.value - .8) < 1e-9 && code.low < .71 && code.high > .89 && code.high <= 1);
		assert_true(i < 2 || code.low < .25);
		/* of all there is no more and no less */
		r = flow_share(&f, (struct flow_range){ 1000, 1000, 1000 }, 200);
		assert_true(fabs(r.low - 1) < 1e-9 && fabs(r.high - 1) < 1e-9);
		flow_release(&f);
	}
}

/* What a system call took was counted, bytes of code go with its speed: where one recording knows it and the other does
 * not, their shares differ for that alone. */
TEST(differences_of_speed_are_none)
{
	static const struct {
		double speed[2];
		const char *verdict;
	} of[] = { { { NAN, NAN }, "real" },
		   { { 1.5, NAN }, "noise" },
		   { { NAN, 1.5 }, "noise" },
		   { { 2, 2 }, "noise" },
		   { { 1, 1 }, "real" } };
	struct flow_input empty = { 0 };
	struct in_function_time none = { 0 };
	struct err e = { 0 };

	empty.times = &none;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct flow f[2];
		struct flow_diff d;

		for (int k = 0; k < 2; k++) {
			uint32_t a, b, call;

			flow_init(&f[k]);
			f[k].loads = 1e6;
			f[k].time_bias = true;
			f[k].speed_low = 1 / of[i].speed[k];
			f[k].speed_high = of[i].speed[k];
			a = flow_func(&f[k], "fill", "app");
			b = flow_func(&f[k], "sum", "app");
			call = flow_func(&f[k], "(kernel:write)", "");
			*flow_edge(&f[k], a, b) =
				(struct flow_edge){ a, b, k ? 800 : 850, NAN, NAN, 0, 0, 1, 100, false };
			*flow_edge(&f[k], a, call) =
				(struct flow_edge){ a, call, k ? 200 : 150, NAN, NAN, 0, 0, 1, 100, false };
			flow_finish(&f[k]);
		}
		assert_int_equal(flow_diff(&f[0], &f[1], &empty, &empty, &d, &e), 0);
		assert_int_equal(d.edge_count, 2);
		for (size_t k = 0; k < 2; k++)
			assert_string_equal(diff_verdict(&d.edges[k]), of[i].verdict);
		flow_diff_release(&d);
		flow_release(&f[0]);
		flow_release(&f[1]);
	}
}
