// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions under the machine's roof: planted ones, and what is not known of them; the roof as text and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/placed.h"
#include "unit/unit.h"
#include "util/normal.h"

/* 1e9 operations a second; from 8e9 bytes a second in the nearest cache to 1e9 in memory. */
static const struct roofline roof = {
	"a machine, 2 cores",
	1e9,
	9e8,
	{ { 16384, 8e9, 5e9 }, { 262144, 4e9, 4e9 }, { 4194304, 2e9, 2e9 }, { 67108864, 1e9, 1e9 } }
};

static struct flow_func func(const char *name, double ops, double bytes, double ns)
{
	return (struct flow_func){ .name = name,
				   .object = "app",
				   .compute = ops,
				   .compute_low = ops,
				   .compute_high = ops,
				   .unit_compute = NAN,
				   .moved_variance = NAN,
				   .load_bytes = bytes,
				   .stack_bytes = 0,
				   .self_ns = ns };
}

TEST(functions_are_placed)
{
	struct flow_func funcs[] = { func("streams", 1e6, 1e8, 1e7), func("computes", 4e6, 1e6, 8e6),
				     func("between", 1e6, 2e6, 2e6), func("timeless", 1e6, 2e6, NAN),
				     func("nothing", NAN, NAN, 1e9), func("(outside)", 1, 1, 1) };
	struct flow f = { .funcs = funcs, .func_count = 6, .speed_low = .9, .speed_high = 1.1 };
	struct placed *p;

	funcs[1].moved_variance = pow(1e6 * log(2) / Z95, 2);
	assert_int_equal(place_functions(&f, &roof, &p), 4);
	/* by time */
	assert_string_equal(p[0].name, "streams");
	assert_string_equal(p[1].name, "computes");
	assert_string_equal(p[2].name, "between");
	assert_string_equal(p[3].name, "timeless");
	assert_int_equal(p[0].bound, PLACED_MEMORY);
	assert_true(fabs(p[0].ops_per_byte - .01) < 1e-9 && fabs(p[0].ops_per_s - 1e8) < 1);
	/* .01 a byte of 8e9 bytes a second are 8e7: it does more, as its bytes may come faster than by plain loads */
	assert_true(fabs(p[0].part - 1.25) < 1e-9);
	/* nothing is known of how well its bytes are, so the part has no ends */
	assert_true(isnan(p[0].part_low) && isnan(p[0].part_high));
	assert_int_equal(p[1].bound, PLACED_COMPUTATION);
	assert_true(fabs(p[1].part - .5) < 1e-9);
	assert_true(fabs(p[1].low - 4.5e8) < 1 && fabs(p[1].high - 5.5e8) < 1);
	/* 4 [2..8] operations a byte: the roof is the core's, at most 1e9, usually 9e8 */
	assert_true(fabs(p[1].per_byte_low - 2) < .01 && fabs(p[1].per_byte_high - 8) < .01);
	assert_true(fabs(p[1].part_low - .45) < 1e-9 && fabs(p[1].part_high - 5.5 / 9) < 1e-9);
	assert_int_equal(p[2].bound, PLACED_DEPENDS);
	assert_true(isnan(p[3].ops_per_s) && isnan(p[3].part) && p[3].bound == PLACED_DEPENDS);
	free(p);
	/* no roof: no bound; shares alone: no operations a second */
	f.speed_low = f.speed_high = NAN;
	assert_int_equal(place_functions(&f, NULL, &p), 4);
	for (int i = 0; i < 4; i++)
		assert_true(p[i].bound == PLACED_UNKNOWN && isnan(p[i].part) && isnan(p[i].ops_per_s) &&
			    p[i].ops_per_byte > 0);
	free(p);
	/* time under the exact engine is not the machine's */
	f.engine = FLOW_EXACT;
	f.speed_low = f.speed_high = 1;
	assert_int_equal(place_functions(&f, &roof, &p), 4);
	for (int i = 0; i < 4; i++)
		assert_true(isnan(p[i].ops_per_s) && p[i].ops_per_byte > 0);
	free(p);
}

TEST(a_roof_is_kept)
{
	struct roofline back;
	AUTO_BUF(text);

	roofline_write(&roof, &text);
	buf_addch(&text, 0);
	assert_true(roofline_read(text.data, &back));
	assert_string_equal(back.machine, roof.machine);
	assert_true(back.ops_per_s == 1e9 && back.level[3].bytes == 67108864 && back.level[3].bytes_per_s == 1e9);
	assert_true(back.usual_ops == 9e8 && back.level[0].usual_bytes == 5e9);
	/* a few digits less of the last figure are a figure, too */
	for (size_t n = 0; n + 12 < text.len; n++) {
		char *cut = strndup(text.data, n);

		assert_false(roofline_read(cut, &back));
		free(cut);
	}
	assert_false(roofline_read("", &back));
	assert_false(roofline_read("accperf.peaks/2\nm\nops nan 1\n", &back));
	assert_false(roofline_read("accperf.peaks/2\nm\nops 1 1\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 -1\nlevel 1 1 1\n",
				   &back));
	assert_true(roofline_read("accperf.peaks/2\nm\nops 1 1\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 1\n",
				  &back));
	/* the fastest pass is no slower than the middle one */
	assert_false(roofline_read("accperf.peaks/2\nm\nops 1 2\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 1\n",
				   &back));
	/* what an older version kept is measured anew */
	assert_false(roofline_read("accperf.peaks/1\nm\nops 1\nlevel 1 1\nlevel 1 1\nlevel 1 1\nlevel 1 1\n", &back));
	assert_false(
		roofline_read("accperf.peaks/2\nm\nops 1 1\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 1\nlevel 1 1 1\nmore",
			      &back));
}

TEST(a_machine_has_a_roof)
{
	struct roofline r;

	assert_true(roofline_measure("here", &r));
	assert_true(r.ops_per_s > 1e7 && r.ops_per_s < 1e13 && r.usual_ops <= r.ops_per_s);
	for (int l = 0; l < ROOFLINE_LEVELS; l++)
		assert_true(r.level[l].bytes_per_s > 1e7 && r.level[l].bytes_per_s < 1e14 &&
			    r.level[l].usual_bytes <= r.level[l].bytes_per_s);
}
