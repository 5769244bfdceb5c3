// SPDX-License-Identifier: GPL-2.0-or-later
/* The planner holds a speed for measured when what reads the recording does: too many hits are no rate. */
#include <stdlib.h>

#include "counts/counts.h"
#include "proc/module.h"
#include "record/counts_plan_priv.h"
#include "unit/unit.h"

#define WINDOWS 4

/* One function of one node, timed in so many windows of a millisecond. */
static bool planner_has_it(double hits)
{
	struct runs_node node = { .addr = 0x1000, .loop = CFG_NONE };
	double recent = 1e6, need, region;
	uint32_t rate = 0;
	struct plan_link link = { .rec.how = FMT_CL_RATE, .replay = PLAN_NONE };
	struct module module = { .id = 1 };
	struct plan_func func = { .module = &module,
				  .rec.flags = FMT_CF_GRAPH,
				  .runs = { .node = &node, .nodes = 1 },
				  .recent = recent,
				  .node_recent = &recent,
				  .need = &need,
				  .region = &region,
				  .rate = &rate,
				  .clock = PLAN_NONE };
	struct plan p = { .func = &func, .funcs = 1, .link = &link, .links = 1, .total = recent, .near = 1 };
	bool measured;

	for (unsigned i = 0; i < WINDOWS; i++)
		counts_sums_add(&link.sums, 1e-3, hits);
	plan_worth(&p);
	assert_int_equal(p.timings, 1);
	measured = p.speed_measured;
	free(p.timing);
	map_release(&p.lines);
	return measured;
}

static bool reader_has_it(double hits)
{
	struct counts_window w[WINDOWS] = { 0 };
	struct counts_ratio r;

	for (unsigned i = 0; i < WINDOWS; i++) {
		w[i].anchor = 1e-3;
		w[i].child = hits;
	}
	counts_ratio_of(w, WINDOWS, COUNTS_RATE, &r);
	return r.how == COUNTS_RATE;
}

TEST(both_believe_alike)
{
	static const double hits[] = { 0, 2, 4, 12, 24, 26, 50, 90 };

	(void)state;
	for (unsigned i = 0; i < sizeof(hits) / sizeof(hits[0]); i++)
		assert_int_equal(planner_has_it(hits[i]), reader_has_it(hits[i]));
	assert_true(planner_has_it(12));
	assert_false(planner_has_it(50));
}
