// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows for ratios begin where time is spent: those of slow code stand for fewer runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "flow/counts_windows.h"
#include "store/write.h"

static char path[256];

static int set_path(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	snprintf(path, sizeof(path), "%s/u-counts-speed.%d.data", dir ? dir : "/tmp", getpid());
	return 0;
}

static int remove_path(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

#define TRAP_NS 10000

static void put_window(struct store_writer *w, uint32_t i, uint32_t entries, uint32_t turns, uint64_t between)
{
	uint64_t armed = 1000000000ull + i * 10000000ull;
	struct fmt_counts_window k = { .armed = armed, .ended = armed + (entries + turns) * TRAP_NS + between, .anchor = entries, .child = turns, .link = 1 };

	store_put(w, FMT_COUNTS_WINDOW, &k, sizeof(k));
}

/* Two out of three windows meet one entry and 48 turns, as fast as traps follow each other; `slow` of 100 meet 32
 * entries, with `between` ns of other code. */
static double ratio_with(uint32_t slow, uint64_t between)
{
	struct fmt_counts_func f = { .id = 1, .module = 1, .start = 0x1000, .end = 0x1100, .self_ns = 1e9, .samples = 100,
				     .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE };
	struct fmt_counts_node n[] = { { .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 5 },
				       { .id = 2, .function = 1, .kind = FMT_CN_LOOP, .addr = 0x1010, .instructions = 5, .depth = 1 } };
	struct fmt_counts_link l = { .id = 1, .parent = 1, .child = 2, .how = FMT_CL_RATIO };
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct counts_record r;
	struct counts_built b;
	double ratio = 0;

	assert_non_null(w);
	store_put(w, FMT_COUNTS_FUNC, &f, sizeof(f));
	for (int i = 0; i < 2; i++)
		store_put(w, FMT_COUNTS_NODE, &n[i], sizeof(n[i]));
	store_put(w, FMT_COUNTS_LINK, &l, sizeof(l));
	for (uint32_t i = 0; i < 100; i++)
		put_window(w, i, i < slow ? 32 : i % 3 > 0, 48, i < slow ? between : 0);
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(counts_record_load(&r, path, &e), 0);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	for (size_t i = 0; i < b.tree.links; i++)
		if (b.tree.link[i].ratio.how == COUNTS_RATIO)
			ratio = b.tree.link[i].ratio.ratio;
	counts_built_release(&b);
	counts_record_release(&r);
	return ratio;
}

static void slow_windows_count_less(void **state)
{
	double none = ratio_with(0, 0), fast = ratio_with(10, 0), slow = ratio_with(10, 3000000);

	(void)state;
	assert_true(none > 65 && none < 80);
	/* as fast as all others they count as much */
	assert_true(fast > 10 && fast < 15);
	assert_true(slow > 2 * fast && slow < none);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(slow_windows_count_less) };

	return cmocka_run_group_tests(tests, set_path, remove_path);
}
