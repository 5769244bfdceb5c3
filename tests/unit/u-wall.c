// SPDX-License-Identifier: GPL-2.0-or-later
/* Shares that are sped up, powers of sizes, trees of paths: by hand where the answer is known. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "flow/input.h"
#include "flow/paths.h"
#include "model/growth.h"
#include "model/wall.h"
#include "unit/unit.h"

static uint32_t function(struct flow *f, const char *name, double compute)
{
	uint32_t id = flow_func(f, name, "app");

	f->funcs[id].compute = f->funcs[id].compute_low = f->funcs[id].compute_high = compute;
	return id;
}

static void edge(struct flow *f, uint32_t from, uint32_t to, double bytes)
{
	struct flow_edge *e = flow_edge(f, from, to);

	e->bytes = e->low = e->high = bytes;
}

/* a computes 60 and reads 40 of its own; b computes 20, reads 40 of a and 40 of nobody's. A byte costs one. */
static void make_flow(struct flow *f)
{
	uint32_t a, b, outside;

	flow_init(f);
	a = function(f, "a", 60);
	b = function(f, "b", 20);
	outside = flow_func(f, FLOW_OUTSIDE, NULL);
	edge(f, a, a, 40);
	edge(f, a, b, 40);
	edge(f, outside, b, 40);
	flow_finish(f);
}

static const struct wall_curve *find(const struct wall *w, const char *label)
{
	for (unsigned i = 0; i < w->count; i++)
		if (!strcmp(w->curves[i].label, label))
			return &w->curves[i];
	fail_msg("no curve %s", label);
	return NULL;
}

TEST(shares_are_those_of_the_costs)
{
	const struct wall_opts o = { .op = 1, .byte = 1, .largest = 4 };
	struct err e = { 0 };
	struct flow f;
	struct wall w;

	make_flow(&f);
	assert_int_equal(wall_build(&f, &o, &w, &e), 0);
	assert_float_equal(find(&w, "computation")->share.value, 80.0 / 200, 1e-9);
	assert_float_equal(find(&w, "computation and local communication")->share.value, 120.0 / 200, 1e-9);
	assert_float_equal(find(&w, "global communication")->share.value, 80.0 / 200, 1e-9);
	assert_float_equal(find(&w, "a")->share.value, 100.0 / 200, 1e-9);
	assert_float_equal(find(&w, "b")->share.value, 20.0 / 200, 1e-9);
	assert_float_equal(find(&w, "a + b, private stores")->share.value, 120.0 / 200, 1e-9);
	assert_float_equal(find(&w, "a + b, shared store")->share.value, 160.0 / 200, 1e-9);
	assert_float_equal(find(&w, "a")->share.low, 0.5, 1e-9);
	wall_release(&w);
	flow_release(&f);
}

TEST(intervals_hold_the_share)
{
	const struct wall_opts o = { .op = 1, .byte = 1, .largest = 4 };
	struct err e = { 0 };
	struct flow f;
	struct wall w;
	struct wall_range share;

	make_flow(&f);
	flow_edge(&f, 0, 1)->low = 20;
	flow_edge(&f, 0, 1)->high = 80;
	assert_int_equal(wall_build(&f, &o, &w, &e), 0);
	share = find(&w, "computation")->share;
	assert_float_equal(share.low, 80.0 / 240, 1e-9);
	assert_float_equal(share.high, 80.0 / 180, 1e-9);
	wall_release(&w);
	flow_release(&f);
}

TEST(speedups_have_their_limits)
{
	assert_float_equal(wall_speedup(0.5, 1), 1, 1e-12);
	assert_float_equal(wall_speedup(0.5, 2), 1 / 0.75, 1e-12);
	assert_float_equal(wall_speedup(0.5, INFINITY), 2, 1e-12);
	assert_true(isnan(wall_speedup(1, INFINITY)));
}

TEST(bad_questions_are_refused)
{
	const char *twice[] = { "a", "*" }, *none[] = { "aa_" };
	struct wall_opts o = { .op = 1, .byte = 1, .functions = twice, .function_count = 2 };
	struct err e = { 0 };
	struct flow f;
	struct wall w;

	make_flow(&f);
	assert_int_equal(wall_build(&f, &o, &w, &e), -EINVAL);
	o.functions = none;
	o.function_count = 1;
	assert_int_equal(wall_build(&f, &o, &w, &e), -ENOENT);
	o = (struct wall_opts){ .op = -1, .byte = 1 };
	assert_int_equal(wall_build(&f, &o, &w, &e), -EINVAL);
	for (uint32_t i = 0; i < f.func_count; i++)
		f.funcs[i].compute = NAN;
	o.op = 1;
	assert_int_equal(wall_build(&f, &o, &w, &e), -ENODATA);
	flow_release(&f);
}

TEST(powers_are_found)
{
	const double n[] = { 16, 64, 256 }, square[] = { 256 * 3, 4096 * 3, 65536 * 3 }, noisy[] = { 10, 45, 150 };
	struct growth_fit fit = growth_fit(n, square, 3);

	assert_float_equal(fit.power, 2, 1e-9);
	assert_float_equal(fit.scale, 3, 1e-9);
	assert_float_equal(fit.high - fit.low, 0, 1e-6);
	fit = growth_fit(n, noisy, 3);
	/* one degree of freedom: t is 12.7, so that an error of a tenth spans more than a half */
	assert_float_equal(fit.power, log(15) / log(16), 1e-9);
	assert_true(fit.low < fit.power && fit.power < fit.high && fit.high - fit.low > 0.5);
	fit = growth_fit(n, square, 2);
	assert_float_equal(fit.power, 2, 1e-9);
	assert_true(isnan(fit.low));
	assert_true(isnan(growth_fit(n, square, 1).power));
}

TEST(sizes_must_ascend)
{
	const double n[] = { 2, 1 }, same[] = { 1, 4 };
	struct err e = { 0 };
	struct flow f[2];
	struct growth g;
	const struct flow *flows[] = { &f[0], &f[1] };

	make_flow(&f[0]);
	make_flow(&f[1]);
	assert_int_equal(growth_build(flows, n, 2, &g, &e), -EINVAL);
	assert_int_equal(growth_build(flows, same, 1, &g, &e), -EINVAL);
	assert_int_equal(growth_build(flows, same, 2, &g, &e), 0);
	for (size_t i = 0; i < g.count; i++)
		assert_float_equal(g.rows[i].power, 0, 1e-9);
	growth_release(&g);
	flow_release(&f[0]);
	flow_release(&f[1]);
}

TEST(paths_fold_into_their_callers)
{
	struct in_func funcs[] = { { .name = "main", .object = "app" },
				   { .name = "f", .object = "app" },
				   { .name = "g", .object = "app" } };
	struct fmt_x_path path[] = { { .id = 1, .function = 0 },
				     { .id = 2, .parent = 1, .function = 1, .compute = 5 },
				     { .id = 3, .parent = 2, .function = 2, .compute = 7 } };
	struct fmt_x_path_edge edges[] = { { 1, 2, { 100, 1 }, { 50, 0 }, { 25, 0 } },
					   { 3, 2, { 8, 0 }, { 8, 0 }, { 2, 0 } },
					   { 0, 2, { 30, 0 }, { 30, 0 }, { 8, 0 } } };
	struct flow_input in = { .funcs = funcs,
				 .func_count = 3,
				 .x_path = path,
				 .x_path_count = 3,
				 .x_path_edge = edges,
				 .x_path_edge_count = 3 };
	struct est_opts o = EST_OPTS_DEFAULT;
	struct err e = { 0 };
	struct flow_paths p;

	assert_int_equal(flow_paths_build(&in, &o, 10, &p, &e), 0);
	assert_int_equal(p.count, 3);
	assert_float_equal(p.total, 138, 0);
	assert_float_equal(p.at[1].in, 138, 0);
	assert_float_equal(p.at[2].out, 8, 0);
	flow_paths_release(&p);
	/* two are kept: what g does is f's own, and no traffic between paths */
	assert_int_equal(flow_paths_build(&in, &o, 2, &p, &e), 0);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.at[1].folded, 1);
	assert_float_equal(p.at[1].compute, 12, 0);
	assert_float_equal(p.at[1].local, 8, 0);
	assert_float_equal(p.at[1].in, 130, 0);
	flow_paths_release(&p);
	path[2].parent = 3; /* its own parent */
	assert_int_equal(flow_paths_build(&in, &o, 2, &p, &e), -EBADMSG);
	path[2].parent = 2;
	edges[0].producer = 77;
	assert_int_equal(flow_paths_build(&in, &o, 2, &p, &e), -EBADMSG);
}
