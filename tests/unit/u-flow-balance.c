// SPDX-License-Identifier: GPL-2.0-or-later
/* Executions from the time of blocks: the laws of flow hold, a stall does not spread, nonsense is refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unit/sized.h"
#include "unit/unit.h"
#include "unit/xorshift.h"
#include "volume/flow_balance.h"

#define PERIOD 1e6

static void about(double value, double want, double tolerance)
{
	if (fabs(value - want) > tolerance * want)
		fail_msg("%g is not within %g %% of %g", value, 100 * tolerance, want);
}

/* Entry, loop of a header and a body, exit; the body's load takes all of the loop's samples. */
TEST(a_loop_runs_as_one)
{
	struct flow_balance_node node[] = { { 10e6, 10, 0 }, { 0, 6, 0 }, { 120e6, 6, 0 }, { 10e6, 10, 0 } };
	struct flow_balance_edge edge[] = { { 0, 0, 0 }, { 1, 1, 0 }, { 2, 2, 0 }, { 3, 2, 0 }, { 1, 3, 0 } };
	struct flow_balance_group group[] = { { SMOOTH_NONE }, { 0 }, { 1 }, { 2 } };
	struct flow_balance s = { node, 4, edge, 5, group, 4, PERIOD };

	assert_int_equal(flow_balance_solve(&s), 0);
	about(node[0].runs, node[3].runs, 0.05);
	about(node[1].runs, node[2].runs + node[3].runs, 0.05);
	/* twelve instructions took 120 ms together */
	assert_true(node[1].runs > 5e6 && node[1].runs < 15e6);
}

/* A caller without a sample runs as often as what it calls. */
TEST(calls_tie_functions)
{
	struct flow_balance_node node[] = { { 0, 8, 0 }, { 100e6, 5, 0 } };
	struct flow_balance_edge edge[] = { { 0, 0, 0 }, { 1, 1, 0 }, { 1, 2, 100 } };
	struct flow_balance_group group[] = { { SMOOTH_NONE }, { 0 }, { SMOOTH_NONE } };
	struct flow_balance s = { node, 2, edge, 3, group, 3, PERIOD };

	assert_int_equal(flow_balance_solve(&s), 0);
	about(node[0].runs, node[1].runs, 0.2);
	assert_true(node[0].runs > 1e6);
}

/* Two ways of which only one has samples: nothing may flow backwards on the other. */
TEST(nothing_runs_less_than_never)
{
	struct flow_balance_node node[] = { { 1e6, 10, 0 }, { 0, 1, 0 }, { 300e6, 2, 0 }, { 2e6, 7, 0 } };
	struct flow_balance_edge edge[] = {
		{ 0, 0, 0 }, { 1, 1, 0 }, { 2, 1, 0 }, { 3, 2, 0 }, { 3, 3, 0 }, { 2, 3, 0 }
	};
	struct flow_balance_group group[] = { { SMOOTH_NONE }, { 0 }, { 1 }, { 2 } };
	struct flow_balance s = { node, 4, edge, 6, group, 4, PERIOD };

	assert_int_equal(flow_balance_solve(&s), 0);
	for (int i = 0; i < 4; i++)
		assert_true(node[i].runs >= 0);
	/* the law holds to a part of what passes, not of what leaves: 150 million passes of the loop */
	assert_true(fabs(node[3].runs - node[0].runs) < 0.01 * node[2].runs);
	assert_true(node[2].runs > 5 * node[0].runs);
}

TEST(nonsense_is_refused)
{
	struct flow_balance_node node[] = { { 1, 1, 0 } };
	struct flow_balance_edge edge[] = { { 0, 0, 0 } };
	struct flow_balance_group group[] = { { SMOOTH_NONE } };
	struct flow_balance s = { node, 1, edge, 1, group, 1, PERIOD };

	assert_int_equal(flow_balance_solve(&s), 0);
	edge[0].to = 1;
	assert_int_not_equal(flow_balance_solve(&s), 0);
	edge[0].to = 0;
	group[0].from = 7;
	assert_int_not_equal(flow_balance_solve(&s), 0);
	group[0].from = SMOOTH_NONE;
	node[0].time = NAN;
	assert_int_not_equal(flow_balance_solve(&s), 0);
	node[0].time = 1;
	s.period = 0;
	assert_int_not_equal(flow_balance_solve(&s), 0);
}

/* Any graph: an answer without NaN or negative counts. */
TEST(any_graph_has_an_answer)
{
	uint64_t x = 88172645463325252ull;

	for (int run = 0; run < 200; run++) {
		struct flow_balance_node node[40];
		struct flow_balance_edge edge[120];
		struct flow_balance_group group[60];
		struct flow_balance s = { node, 40, edge, 120, group, 60, PERIOD };
		double sum = 0;

		for (int i = 0; i < 40; i++) {
			xorshift(&x);
			node[i] = (struct flow_balance_node){ x % 3 ? (double)(x % 1000) * 1e6 : 0,
							      (double)(x >> 20 & 15), 0 };
			sum += node[i].time;
		}
		for (int i = 0; i < 60; i++) {
			xorshift(&x);
			group[i].from = x % 10 ? (uint32_t)(x >> 8) % 40 : SMOOTH_NONE;
		}
		for (int i = 0; i < 120; i++) {
			xorshift(&x);
			edge[i] = (struct flow_balance_edge){ (uint32_t)(x % 40), (uint32_t)(x >> 20) % 60,
							      (double)(x >> 40 & 3) };
		}
		assert_int_equal(flow_balance_solve(&s), 0);
		for (int i = 0; i < 40; i++)
			assert_true(node[i].runs >= 0 && node[i].runs < 1e3 * sum);
	}
}

/* Functions of a loop each, 4 blocks of 5 edges, the loop's body calling the entries of three others. */
static double cpu_of(uint32_t functions)
{
	uint32_t nodes = 4 * functions, edges = 8 * functions;
	struct flow_balance_node *node = calloc(nodes, sizeof(*node));
	struct flow_balance_edge *edge = calloc(edges, sizeof(*edge));
	struct flow_balance_group *group = calloc(5 * functions, sizeof(*group));
	struct flow_balance s = { node, nodes, edge, edges, group, 5 * functions, PERIOD };
	uint64_t x = 88172645463325252ull;
	clock_t began;

	assert_true(node && edge && group);
	for (uint32_t f = 0; f < functions; f++) {
		uint32_t n = 4 * f, g = 5 * f;
		struct flow_balance_edge own[] = {
			{ n, g, 0 }, { n + 1, g + 1, 0 }, { n + 2, g + 2, 0 }, { n + 3, g + 2, 0 }, { n + 1, g + 3, 0 }
		};

		for (uint32_t b = 0; b < 4; b++) {
			xorshift(&x);
			node[n + b] = (struct flow_balance_node){ x % 3 ? 0 : (double)(x >> 8 & 31) * PERIOD, 6, 0 };
			group[g + 1 + b].from = n + b;
		}
		/* a function's first edge comes from nowhere known; its last group is of calls */
		group[g].from = SMOOTH_NONE;
		group[g + 4].from = n + 2;
		memcpy(&edge[8 * f], own, sizeof(own));
		for (uint32_t c = 0; c < 3; c++) {
			xorshift(&x);
			edge[8 * f + 5 + c] = (struct flow_balance_edge){ 4 * (uint32_t)(x % functions), g + 4, 0 };
		}
	}
	began = clock();
	assert_int_equal(flow_balance_solve(&s), 0);
	began = clock() - began;
	for (uint32_t n = 0; n < nodes; n++)
		assert_true(node[n].runs >= 0 && isfinite(node[n].runs));
	free(node);
	free(edge);
	free(group);
	return (double)began / CLOCKS_PER_SEC;
}

#define FEW SIZED(5000, 300)

/* The number of steps has a bound and a step passes each edge once: ten times as much code, 50,000 functions, takes at
 * most twenty times as long (caches, other load), where a solver that is quadratic would take a hundred. */
TEST(time_grows_with_the_code)
{
	double small = cpu_of(FEW), large = cpu_of(10 * FEW);

	if (large > 20 * small)
		small = fmax(small, cpu_of(FEW));
	if (large > 20 * small)
		large = fmin(large, cpu_of(10 * FEW));
	if (large > 20 * small)
		fail_msg("%d functions take %.2f s, %d %.2f s", 10 * FEW, large, FEW, small);
}
