// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of functions and edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "flow/flow.h"

static void table_adds_up(void **state)
{
	struct flow f;
	uint32_t a, b, again;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(table_adds_up) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
