// SPDX-License-Identifier: GPL-2.0-or-later
/* What time says of instructions, by the model's pace and by where bursts lead. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counts/counts_guess.h"
#include "counts/counts_pace.h"
#include "counts/counts_report.h"
#include "counts/counts_windows.h"
#include "store/write.h"
#include "unit/unit.h"

TEST(test_pace)
{
	double unmet = counts_pace(0, 0, 0.5, 0);

	/* as many cycles an instruction as is usual, and three times as many */
	assert_true(fabs(counts_pace(1e7, 0.5e7, 0.5, 0) - 1) < 0.01);
	assert_true(fabs(counts_pace(1e7, 1.5e7, 0.5, 0) - 3) < 0.01);
	/* what bursts did not meet waits, whatever is usual; a little of it changes little */
	assert_true(unmet > 1.5 && counts_pace(0, 0, 5, 0) == unmet);
	assert_true(fabs(counts_pace(20, 10, 0.5, 0) / unmet - 1) < 0.02);
	/* a few bursts of it decide */
	assert_true(counts_pace(30000, 15000, 0.5, 0) < 1.3);
	/* nonsense is no division by zero */
	assert_true(counts_pace(1e9, 0, 0.5, 0) > 0);
}

TEST(test_bulk)
{
	/* a copy loop: 32 bytes in and out for eight instructions; a table of pointers moves no bulk */
	const struct counts_pace_moves copy = { 1, 1, 32, 32 }, table = { 2, 0, 16, 0 }, none = { 0 };
	double unmet = counts_pace(0, 0, 0.5, 0);

	assert_true(counts_pace_bulk(8, &copy) == 4);
	assert_true(counts_pace_bulk(8, &table) == 0);
	assert_true(counts_pace_bulk(8, &none) == 0 && counts_pace_bulk(0, &copy) == 0);
	/* two cycles an instruction, four times as long as is usual: unless bursts met it */
	assert_true(fabs(counts_pace(0, 0, 0.5, 4) - 4) < 0.01);
	assert_true(fabs(counts_pace(1e9, 0.5e9, 0.5, 4) - 1) < 0.01);
	/* some short copies tell little of it, as much of other code tells nearly all */
	assert_true(counts_pace(20000, 10000, 0.5, 4) > 3 && counts_pace(20000, 10000, 0.5, 0) < 1.3);
	/* where all wait as long, it does not wait less than other code that was not met */
	assert_true(counts_pace(0, 0, 5, 4) == unmet);
}

TEST(test_repeated)
{
	/* memset() of 64 KB by `rep stos`: ten instructions, of 4096 cycles together. One run of it in a burst tells:
	 * that code of which little ran goes at the usual pace would make 400 times as many bytes of that time. */
	double of_it = counts_pace_repeated(10, 4100, 0.5, 4, 409.6);

	assert_true(fabs(of_it / (counts_pace(10, 4, 0.5, 4) + 819.2) - 1) < 0.01);
	assert_true(counts_pace_repeated(10, 5, 0.5, 0, 0) == counts_pace(10, 5, 0.5, 0));
	/* a file whose sums do not fit each other */
	assert_true(counts_pace_repeated(10, 0, 0.5, 0, 409.6) > 0);
}

/* A profile of two functions, to which more may be added. */
static struct store_writer *begin_two(char *path, const struct fmt_counts_func *f, const struct fmt_counts_node *n,
				      int nodes)
{
	const struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE };
	struct store_writer *s;
	struct err e = { 0 };

	close(mkstemp(path));
	s = store_create(path, 0, &e);
	assert_non_null(s);
	store_put(s, FMT_MODULE, &m, sizeof(m));
	for (int i = 0; i < 2; i++)
		store_put(s, FMT_COUNTS_FUNC, &f[i], sizeof(f[i]));
	for (int i = 0; i < nodes; i++)
		store_put(s, FMT_COUNTS_NODE, &n[i], sizeof(n[i]));
	return s;
}

static void load(struct counts_record *r, const struct fmt_counts_func *f, const struct fmt_counts_node *n, int nodes,
		 const struct fmt_counts_link *l, int links)
{
	char path[] = "/tmp/accperf-u-pace.XXXXXX";
	struct store_writer *s;
	struct err e = { 0 };

	s = begin_two(path, f, n, nodes);
	for (int i = 0; i < links; i++)
		store_put(s, FMT_COUNTS_LINK, &l[i], sizeof(l[i]));
	assert_int_equal(store_close(s, &e), 0);
	assert_int_equal(counts_record_load(r, path, &e), 0);
	unlink(path);
}

/* Two functions with as much time, nothing measured: instructions of the first for each of the second. */
static double told(const struct fmt_counts_func *f, const struct fmt_counts_node *n)
{
	struct counts_record r = { 0 };
	struct counts_built b;
	struct err e = { 0 };
	double ratio;

	load(&r, f, n, 2, NULL, 0);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	assert_int_equal(counts_record_solve(&r, &b), 0);
	ratio = b.tree.group[0].instructions / b.tree.group[1].instructions;
	/* the time itself stays what it is, in all */
	assert_true(fabs(b.tree.group[0].time + b.tree.group[1].time - 2e9) < 1);
	counts_built_release(&b);
	counts_record_release(&r);
	return ratio;
}

/* Entries of two functions, of ten instructions and a second each. */
static const struct fmt_counts_node two_entries[] = {
	{ .id = 1,
	  .function = 1,
	  .kind = FMT_CN_ENTRY,
	  .addr = 0x1000,
	  .instructions = 10,
	  .self_ns = 1e9,
	  .samples = 1000 },
	{ .id = 2,
	  .function = 2,
	  .kind = FMT_CN_ENTRY,
	  .addr = 0x2000,
	  .instructions = 10,
	  .self_ns = 1e9,
	  .samples = 1000 },
};

TEST(test_by_time)
{
	struct fmt_counts_func f[] = {
		{ .id = 1, .module = 1, .start = 0x1000, .end = 0x1100, .self_ns = 1e9, .samples = 1000 },
		{ .id = 2, .module = 1, .start = 0x2000, .end = 0x2100, .self_ns = 1e9, .samples = 1000 }
	};
	struct fmt_counts_node n[2];
	double ratio;

	memcpy(n, two_entries, sizeof(n));
	/* a recording without bursts, or of before there was a model */
	assert_true(fabs(told(f, n) - 1) < 1e-9);
	/* an instruction of the first takes four times as long as one of the second */
	f[0].timed = f[1].timed = 1e6;
	f[0].cycles = 1.6e6;
	f[1].cycles = 0.4e6;
	ratio = told(f, n);
	assert_true(fabs(ratio - 0.25) < 0.01);
	/* but for its unit, which is the model's own */
	f[0].cycles *= 7;
	f[1].cycles *= 7;
	assert_true(fabs(told(f, n) - ratio) < 1e-6);
	/* no burst met the second: it is among those that wait */
	f[1].timed = f[1].cycles = 0;
	assert_true(told(f, n) > 1.5);
	/* what a damaged file may say */
	f[0].cycles = 0;
	assert_true(fabs(told(f, n) - 1) < 1e-9);
	f[0].timed = 1e15;
	f[1].timed = 1;
	f[1].cycles = 1e15;
	assert_true(isfinite(told(f, n)));
}

/* Code that may change has time alone, and nothing says how fast it runs. Where that was two fifths of the time, its
 * interval had no width. */
TEST(test_time_alone_is_wide)
{
	const struct fmt_counts_func f[] = {
		{ .id = 1, .module = 1, .start = 0x1000, .end = 0x1100, .self_ns = 6e8, .samples = 600 },
		{ .id = 2, .module = 1, .start = 0x2000, .flags = FMT_CF_VOLATILE, .self_ns = 4e8, .samples = 400 }
	};
	struct fmt_counts_node n[2];
	struct counts_record r = { 0 };
	struct counts_built b;
	struct err e = { 0 };

	memcpy(n, two_entries, sizeof(n));
	n[1] = (struct fmt_counts_node){ .id = 2,
					 .function = 1,
					 .kind = FMT_CN_BLOCK,
					 .addr = 0x1040,
					 .instructions = 5,
					 .self_ns = 1e8,
					 .samples = 100 };
	load(&r, f, n, 2, NULL, 0);
	assert_int_equal(counts_record_tree(&r, &b, &e), 0);
	assert_int_equal(counts_record_solve(&r, &b), 0);
	for (int g = 0; g < 2; g++) {
		const struct counts_group *at = &b.tree.group[g];

		assert_true(at->high > at->instructions * 1.1 && at->low < at->instructions / 1.1);
	}
	counts_built_release(&b);
	counts_record_release(&r);
}

/* Files of sums by function alone: FMT_COUNTS_WENT came later (u-burst-shares). */
TEST(test_by_bursts)
{
	struct fmt_counts_func f[] = { { .id = 1,
					 .module = 1,
					 .start = 0x1000,
					 .end = 0x1100,
					 .self_ns = 1e9,
					 .samples = 1000,
					 .begun = 40,
					 .replayed = 40 },
				       { .id = 2,
					 .module = 1,
					 .start = 0x2000,
					 .end = 0x2100,
					 .self_ns = 1e9,
					 .samples = 1000,
					 .begun = 60,
					 .replayed = 60 } };
	struct fmt_counts_node n[2];
	double ratio;

	memcpy(n, two_entries, sizeof(n));
	/* a file that does not say what of it stayed */
	assert_true(fabs(told(f, n) - 1) < 1e-6);
	/* neither is left: samples tell how often such places are met, and there are more of them than bursts */
	f[0].stayed = 40;
	f[1].stayed = 60;
	assert_true(fabs(told(f, n) - 1) < 1e-6);
	/* but where what is left at once leads, bursts tell: wherever they begin, they go on alike */
	f[0].replayed = f[1].replayed = 50;
	f[0].stayed = 20;
	f[1].stayed = 30;
	assert_true(fabs(told(f, n) - 1) < 1e-6);
	f[0].self_ns = n[0].self_ns = 1.5e9;
	f[1].self_ns = n[1].self_ns = 0.5e9;
	/* as samples say three to one, and bursts one to one, which count for six of ten */
	assert_true(fabs(told(f, n) - 1.5) < 1e-6);
	/* and of what is left halfway, both do: bursts that began elsewhere than samples lie, by chance, are made up
	 * for by half */
	f[0].replayed = 50;
	f[1].replayed = 50;
	f[0].stayed = 30;
	f[1].stayed = 40;
	f[0].self_ns = n[0].self_ns = f[1].self_ns = n[1].self_ns = 1e9;
	ratio = told(f, n);
	assert_true(ratio > 1.1 && ratio < 1.3);
	/* a small one, where by chance more of few bursts began than samples lie, still has time */
	f[0].begun = 4;
	f[1].begun = 36;
	f[0].replayed = f[0].stayed = 0.5;
	f[1].replayed = 39.5;
	f[1].stayed = 36;
	f[0].self_ns = n[0].self_ns = 0.02e9;
	f[1].self_ns = n[1].self_ns = 1.98e9;
	ratio = told(f, n);
	assert_true(ratio > 0.0005 && ratio < 0.01);
}

static struct counts_ratio guessed(const struct fmt_counts_node *n, const struct fmt_counts_link *l, int links)
{
	const struct fmt_counts_func f[2] = { { .id = 1, .module = 1, .start = 0x1000, .end = 0x1100 },
					      { .id = 2, .module = 1, .start = 0x2000, .end = 0x2100 } };
	struct counts_record r = { 0 };
	struct counts_ratio out = { .ratio = NAN };
	struct counts_guess g;

	load(&r, f, n, 3, l, links);
	assert_int_equal(counts_guess_begin(&g, &r), 0);
	for (size_t i = 0; i < r.links; i++)
		if (r.link[i].l.id == 1)
			counts_guess_link(&g, i, &out);
	counts_guess_end(&g);
	counts_record_release(&r);
	return out;
}

/* In a cycle that is no loop, one block stands for all others: it may go round any number of times for each entry. */
TEST(test_cycle)
{
	const struct fmt_counts_node n[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 8 },
		{ .id = 2, .function = 1, .kind = FMT_CN_BLOCK, .addr = 0x1010, .instructions = 8, .samples = 300 },
		{ .id = 3, .function = 1, .kind = FMT_CN_BLOCK, .addr = 0x1040, .instructions = 2 },
	};
	struct fmt_counts_link l[] = { { .id = 1, .parent = 1, .child = 2, .how = FMT_CL_RATIO },
				       { .id = 2, .parent = 2, .child = 3, .how = FMT_CL_RATIO } };
	struct counts_ratio cycle = guessed(n, l, 2), branch = guessed(n, l, 1);

	assert_true(cycle.ratio > 100 && cycle.log_var > 100);
	assert_true(branch.ratio < 1.1 && branch.log_var < 10);
	/* what turned out not to be measurable so says nothing */
	l[1].flags = FMT_CL_VOID;
	cycle = guessed(n, l, 2);
	assert_true(cycle.ratio < 1.1);
}

/* Two functions' report; rep: NULL or what the first repeated. */
static void report_of(const struct fmt_counts_func *f, const struct fmt_counts_node *n, int nodes,
		      const struct fmt_counts_repeats *rep, void (*look)(const struct counts_row *))
{
	char path[] = "/tmp/accperf-u-pace.XXXXXX";
	struct counts_record r = { 0 };
	struct counts_report told;
	struct store_writer *s;
	struct profile *p;
	struct err e = { 0 };

	s = begin_two(path, f, n, nodes);
	if (rep)
		store_put(s, FMT_COUNTS_REPEATS, rep, sizeof(*rep));
	assert_int_equal(store_close(s, &e), 0);
	p = counts_record_and_profile(&r, path, &e);
	assert_non_null(p);
	unlink(path);
	assert_int_equal(counts_report_make(&r, p, NULL, 1, &told, &e), 0);
	assert_int_equal(told.row_count, 2);
	look(&told.row[told.row[0].addr != 0x1000]);
	look(&told.row[told.row[0].addr == 0x1000]);
	counts_report_release(&told);
	counts_record_release(&r);
	profile_free(p);
}

/* 16 bytes a cycle are 32 instructions' worth in the same time: a hundredth of the time is some hundredths of what is
 * counted. It was told as 99 %, and what worked as 1 % within a hundredth of that. */
static void look_at_repeats(const struct counts_row *row)
{
	const struct counts_figure *s = &row->share;

	if (row->addr == 0x1000) {
		assert_true(s->value > 0.03 && s->value < 0.3 && s->high < 0.9);
	} else {
		/* bytes of a cycle are known within a factor of four, and so is the rest's share of the whole */
		assert_true(s->low < s->value * 0.9 && s->low > 0.3);
		assert_true(s->high > s->value * 1.02 && s->high <= 1);
	}
}

/* A program that clears 64 KB by `rep stos`, and works. */
TEST(test_repeats_have_time)
{
	struct fmt_counts_func f[] = {
		{ .id = 1, .module = 1, .start = 0x1000, .end = 0x1100, .self_ns = 1e7, .samples = 10, .timed = 20 },
		{ .id = 2, .module = 1, .start = 0x2000, .end = 0x2100, .self_ns = 1e9, .samples = 1000, .timed = 1e6 }
	};
	const struct fmt_counts_repeats rep = { .function = 1,
						.seen = 2,
						.instructions = 20,
						.repeats = 131072,
						.instructions2 = 200,
						.both = 1310720,
						.repeats2 = 65536. * 65536 * 2,
						.stores = 131072,
						.store_bytes = 131072 };
	struct fmt_counts_node n[2];

	f[0].cycles = 131072 / 16 + 20;
	f[1].cycles = 0.5e6;
	memcpy(n, two_entries, sizeof(n));
	n[0].self_ns = 1e7;
	n[0].samples = 10;
	report_of(f, n, 2, &rep, look_at_repeats);
}

static void look_at_bare(const struct counts_row *row)
{
	assert_true(!strcmp(row->name, "(code without bounds)") == (row->addr == 0x2000));
}

/* Half of node's functions have no unwind tables; together they were told by the name of one of them. */
TEST(test_bare_code_has_no_name)
{
	const struct fmt_counts_func f[] = {
		{ .id = 1, .module = 1, .start = 0x1000, .end = 0x1100, .self_ns = 1e9, .samples = 1000 },
		{ .id = 2, .module = 1, .start = 0x2000, .flags = FMT_CF_BARE, .self_ns = 1e9, .samples = 1000 }
	};

	report_of(f, two_entries, 1, NULL, look_at_bare);
}
