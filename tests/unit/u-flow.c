// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of edges, the estimators on planted accesses, differences. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/cache.h"
#include "flow/diff.h"
#include "flow/objects.h"
#include "flow/overwrite.h"
#include "flow/timeline.h"
#include "unit/planted.h"
#include "unit/unit.h"
#include "util/random.h"

/* ---- results ---- */

static struct flow two_edges(double x, double y, double sd)
{
	struct flow f;
	uint32_t a, b;

	flow_init(&f);
	f.loads = 1000;
	a = flow_func(&f, "a", "app");
	b = flow_func(&f, "b", "app");
	flow_edge(&f, a, b)->bytes = x;
	flow_edge(&f, b, a)->bytes = y;
	flow_edge(&f, a, b)->sd = sd;
	flow_edge(&f, b, a)->sd = sd;
	flow_finish(&f);
	return f;
}

TEST(merging_adds_bytes_and_squares_of_errors)
{
	struct flow f = two_edges(100, 10, 3), g = two_edges(100, 30, 4);
	const struct flow_edge *e;

	assert_int_equal(flow_add(&f, &g, 2), 0);
	e = flow_get(&f, 0, 1);
	assert_true(e->bytes == 300);
	assert_true(fabs(e->sd - sqrt(9 + 64)) < 1e-9);
	assert_true(flow_get(&f, 1, 0)->bytes == 70);
	assert_true(f.funcs[1].in == 300);
	assert_true(isnan(f.guessed) && isnan(f.unseen));
	g.guessed = 4;
	g.unseen = 2;
	assert_int_equal(flow_add(&f, &g, 2) || flow_add(&f, &g, 1), 0);
	assert_true(f.guessed == 12 && f.unseen == 6);
	flow_release(&f);
	flow_release(&g);
}

TEST(results_survive_the_file)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct flow f = two_edges(100, 10, 3);
	struct flow_input in;
	struct flow_input_opts o = { 0 };
	struct est_opts est = EST_OPTS_DEFAULT;
	struct flow out;

	assert_non_null(w);
	f.level = 0.9;
	f.edges[0].unresolved = true;
	f.funcs[0].calls = 7;
	f.guessed = 11;
	f.unseen = 0;
	assert_int_equal(flow_put(w, &f, &e), 0);
	assert_int_equal(store_close(w, &e), 0);
	assert_int_equal(flow_input_load(&in, path, &o, &e), 0);
	assert_int_equal(flow_estimate(&in, NULL, &est, &out, &e), 0);
	assert_true(out.level == 0.9);
	assert_int_equal(out.edge_count, 2);
	assert_true(out.edges[1].bytes == 10 && out.edges[1].producer == out.edges[0].consumer);
	assert_true(out.edges[0].bytes == 100 && out.edges[0].unresolved && out.edges[0].sd == 3);
	assert_true(out.funcs[flow_find(&out, "a", NULL)].calls == 7);
	assert_true(isnan(out.funcs[flow_find(&out, "b", NULL)].calls));
	assert_true(out.guessed == 11 && out.unseen == 0);
	flow_release(&out);
	est.ke = true;
	assert_int_not_equal(flow_estimate(&in, NULL, &est, &out, &e), 0);
	assert_non_null(strstr(e.text, "no stored flow"));
	flow_input_release(&in);
	flow_release(&f);
}

/* ---- planted accesses ---- */

TEST(newest_store_in_the_granule_produces)
{
	struct plant p;

	plant_begin(&p, "1");
	plant(&p, WRITER_A, 0x10000, FMT_A_STORE, 10);
	plant(&p, READER, 0x10000, FMT_A_LOAD, 10); /* a's */
	plant(&p, WRITER_B, 0x10000, FMT_A_STORE, 10);
	plant(&p, READER, 0x10000, FMT_A_LOAD, 30); /* b's */
	plant(&p, READER, 0x90000, FMT_A_LOAD, 60); /* nobody's */
	plant_estimate(&p, "cascade");
	assert_true(fabs(share(&p, "writer_a", "reader") - 0.1) < 1e-9);
	assert_true(fabs(share(&p, "writer_b", "reader") - 0.3) < 1e-9);
	assert_true(fabs(share(&p, "(outside)", "reader") - 0.6) < 1e-9);
	assert_true(fabs(flow_total(&p.f) - 400) < 1e-9); /* 4 bytes each */
	assert_true(p.f.funcs[flow_find(&p.f, "reader", NULL)].loads == 100);
	assert_true(p.f.funcs[flow_find(&p.f, "writer_a", NULL)].stores == 10);
	plant_release(&p);
}

/* Half of the time each, which says little of how much each read; and two windows' worth of who wrote it. */
TEST(what_rests_on_time_may_be_off)
{
	struct plant p;
	const struct flow_edge *e;
	const struct flow_func *fn;

	plant_begin(&p, "1");
	for (uint64_t i = 0; i < 2000; i++) {
		plant(&p, WRITER_A, 0x10000 + i * 4, FMT_A_STORE | FMT_A_TIME, 1e6);
		plant(&p, i % 2 ? READER : TABLE_WRITER, 0x10000 + i * 4, FMT_A_LOAD | FMT_A_TIME, 1e6);
	}
	plant_estimate(&p, "fused");
	fn = &p.f.funcs[flow_find(&p.f, "reader", NULL)];
	assert_true(fn->in_low < 0.8 * fn->in && fn->in_high > 1.25 * fn->in);
	e = flow_get(&p.f, flow_find(&p.f, "writer_a", NULL), flow_find(&p.f, "reader", NULL));
	assert_true(e->bytes > 0.9 * fn->in && e->low < 0.6 * e->bytes);
	/* nobody else writes there */
	assert_true(p.f.guessed < 0.02 * flow_total(&p.f) && p.f.unseen == 0);
	plant_release(&p);
}

TEST(attached_late_means_before_attach)
{
	struct plant p;

	plant_begin(&p, "0");
	plant(&p, READER, 0x90000, FMT_A_LOAD, 60);
	plant_estimate(&p, "fused");
	assert_true(share(&p, "(before attach)", "reader") > 0.999);
	plant_release(&p);
}

TEST(census_finds_write_once_data)
{
	struct plant p;

	plant_begin(&p, "1");
	for (int i = 0; i < 64; i++)
		plant(&p, SETTER, 0x20000 + 4 * (uint64_t)i, FMT_A_STORE | FMT_A_CENSUS, 0);
	for (int i = 0; i < 64; i++)
		plant(&p, TABLE_WRITER, 0x20000 + 4 * (uint64_t)i, FMT_A_STORE | FMT_A_CENSUS, 0);
	for (int i = 0; i < 500; i++)
		plant(&p, READER, 0x20000 + 4 * (uint64_t)(i * 7 % 64), FMT_A_LOAD, 1000);
	plant_estimate(&p, "fused");
	assert_true(share(&p, "table_writer", "reader") > 0.999);
	flow_release(&p.f);
	p.o.use_census = false;
	estimate(&p, "fused");
	assert_true(share(&p, "(outside)", "reader") > 0.999);
	plant_release(&p);
}

/* What a census saw in full wrote nothing else, also not what lies between; what went on after it may have. */
TEST(a_complete_census_wrote_nothing_else)
{
	static const char *const limits[] = { "16", "8" };

	for (int full = 0; full < 2; full++) {
		struct fmt_access on_stack;
		struct plant p;

		plant_begin(&p, "1");
		store_meta(p.w, "census_limit", limits[full]);
		for (uint64_t i = 0; i < 8; i++)
			plant(&p, WRITER_B, 0x20000 + 16 * i, FMT_A_STORE | FMT_A_CENSUS, 0);
		for (uint64_t i = 0; i < 8; i++)
			plant(&p, WRITER_A, 0x30000 + 16 * i, FMT_A_STORE | FMT_A_CENSUS, 0);
		/* a's stores to the stack count, too, and nobody knows how many there were */
		on_stack = access_at(&p, WRITER_A, 0x7fff0000, FMT_A_STORE | FMT_A_CENSUS | FMT_A_STACK, 0);
		store_put(p.w, FMT_ACCESS, &on_stack, sizeof(on_stack));
		for (uint64_t i = 0; i < 8; i++) {
			plant(&p, READER, 0x20008 + 16 * i, FMT_A_LOAD, 100);
			plant(&p, READER, 0x30008 + 16 * i, FMT_A_LOAD, 100);
		}
		plant_end(&p);
		assert_int_equal(p.in.census_limit, full ? 8 : 16);
		estimate(&p, "cascade");
		assert_true(fabs(share(&p, "writer_a", "reader") - 0.5) < 1e-9);
		assert_true(fabs(share(&p, full ? "writer_b" : "(outside)", "reader") - 0.5) < 1e-9);
		plant_release(&p);
	}
}

/* One instruction knows whom it reads from; another of the same function has nothing but a poor guess. */
TEST(instructions_alike_help_each_other)
{
	struct plant p;

	plant_begin(&p, "1");
	for (uint64_t i = 0; i < 64; i++)
		plant(&p, WRITER_A, 0x20000 + 16 * i, FMT_A_STORE, 10);
	for (uint64_t i = 0; i < 64; i++) {
		struct fmt_access other;

		plant(&p, READER, 0x20000 + 16 * i, FMT_A_LOAD, 100);
		other = access_at(&p, READER, 0x90000 + 16 * i, FMT_A_LOAD, 100);
		other.ip += 0x10;
		/* the same width in the first half only */
		other.size = i < 32 ? 4 : 2;
		other.ip += i < 32 ? 0 : 0x10;
		store_put(p.w, FMT_ACCESS, &other, sizeof(other));
	}
	plant_estimate(&p, "fused");
	/* bytes: 256 known, 128 likely to be alike, 64 of another width; of what is alike 70 % go along */
	assert_true(share(&p, "writer_a", "reader") > (256 + 0.6 * 128) / 448);
	assert_true(share(&p, "(outside)", "reader") > 64.0 / 448);
	plant_release(&p);
}

/* Two functions write a buffer in turn; the reader comes after b. Sampled stores alone are older than
 * the last pass nearly always, so the overwrite test has to tell. */
TEST(overwritten_buffers_belong_to_the_last_pass)
{
	struct plant p;
	uint64_t x = 88172645463325252ull;

	plant_begin(&p, "1");
	for (int pass = 0; pass < 60; pass++) {
		for (int who = 0; who < 3; who++) {
			for (uint64_t i = 0; i < 16384; i++) {
				p.now++;
				if (random_next(&x) % 1000 == 0)
					plant(&p,
					      who == 0   ? WRITER_A
					      : who == 1 ? WRITER_B
							 : READER,
					      0x40000 + 4 * i, who == 2 ? FMT_A_LOAD : FMT_A_STORE, 1000);
			}
		}
	}
	plant_estimate(&p, "cascade");
	assert_true(share(&p, "writer_b", "reader") > 0.75); /* a coin would give one half */
	plant_release(&p);
}

/* A window on a load of the reader: `writer` writes there, and it reads again. */
static void plant_told(struct plant *p, uint32_t writer, uint64_t addr)
{
	struct fmt_access arm = access_at(p, READER, addr, FMT_A_LOAD | FMT_A_TIME, 1e6);
	struct fmt_window w = { .addr = addr, .len = 4, .end_reason = FMT_W_HITS, .count = 2, .write_only_after = ~0u };
	struct fmt_hit h[2] = {
		{ .module = 1, .syscall = -1, .function = writer, .flags = FMT_A_STORE, .ip = 0x1000 * writer + 2 },
		{ .module = 1, .syscall = -1, .function = READER, .flags = FMT_A_LOAD, .ip = 0x1000 * READER + 1 }
	};

	memcpy(&w.arm, &arm, sizeof(w.arm));
	w.armed = p->now;
	h[0].time = p->now += 1000;
	w.ended = h[1].time = p->now += 1000;
	store_put_var(p->w, FMT_WINDOW, &w, sizeof(w), h, sizeof(h));
}

/* The part of a reader's bytes that the second of two functions wrote, which write a buffer in turn, a thousand times
 * between two samples; so many windows tell of it. */
static double told_by_windows(const char *estimator, int windows, double *guessed)
{
	struct plant p;
	uint64_t x = 88172645463325252ull;
	double part;

	plant_begin(&p, "0");
	for (int i = 0; i < 3000; i++) {
		uint32_t who = WRITER_A + (uint32_t)(i % 3);
		uint64_t addr = 0x40000 + random_next(&x) % 4096 * 4;

		p.now += 1000000;
		plant(&p, who, addr, (who == READER ? FMT_A_LOAD : FMT_A_STORE) | FMT_A_TIME, 1e6);
		if (i % (3000 / windows) == 3000 / windows - 1)
			plant_told(&p, WRITER_B, addr);
	}
	plant_estimate(&p, estimator);
	part = share(&p, "writer_b", "reader");
	*guessed = p.f.guessed / flow_total(&p.f);
	assert_true(fabs(share(&p, "writer_a", "reader") + part - 1) < 0.05);
	plant_release(&p);
	return part;
}

/* Places tell that it is either, however many samples they have, and windows which: all that places tell weighs as much
 * as one of them, so of n that agree (n + 1/2) of (n + 1). Two that agree are not surer than 5 of 6: were it a coin,
 * every fourth recording would have two. */
TEST(old_passes_tell_little)
{
	static const int windows[] = { 1, 2, 4, 20, 100 };
	double part, guessed;

	part = told_by_windows("cascade", 2, &guessed);
	assert_true(part > 0.4 && part < 0.6);
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		part = told_by_windows("fused", windows[i], &guessed);
		/* the half itself is told by some hundred lines */
		assert_true(fabs(part - (windows[i] + 0.5) / (windows[i] + 1)) < 0.05 / (windows[i] + 1));
		/* as much of it as windows leave is guessed; a word that one was seen to write tells a little */
		assert_true(guessed < 0.5 / (windows[i] + 1) && guessed > 0.25 / (windows[i] + 1));
	}
}

/* One reads, long after, what only the overwrite test knows a writer of: the newest record around is of one who cannot
 * have written there. Its bytes have a producer all the same, old as the passes are. */
TEST(old_passes_lose_nothing)
{
	const uint64_t block = 0x41800; /* of 256 bytes */
	struct plant p;
	uint64_t x = 88172645463325252ull;

	plant_begin(&p, "0");
	for (unsigned i = 0; i < 6000; i++) {
		uint64_t addr = 0x40000 + random_next(&x) % 4096 * 4;

		p.now += 1000000;
		if (i % 2)
			plant(&p, WRITER_B, 0x41ff0, FMT_A_STORE | FMT_A_TIME, 1e6);
		else if (addr >> 8 != block >> 8)
			plant(&p, WRITER_A, addr, FMT_A_STORE | FMT_A_TIME, 1e6);
	}
	for (unsigned i = 0; i < 20; i++)
		plant_told(&p, WRITER_A, 0x90000 + 64 * i);
	p.now += 1000000000;
	plant(&p, TABLE_WRITER, block + 128, FMT_A_LOAD | FMT_A_TIME, 1e6);
	plant_estimate(&p, "fused");
	assert_true(fabs(flow_total(&p.f) / 4e6 - 1) < 1e-6);
	assert_true(fabs(share(&p, "writer_a", "table_writer") - 1) < 1e-6);
	plant_release(&p);
}

/* Store records say a, windows at the load say b: with enough windows b wins, and the edge is marked. */
TEST(windows_overrule_records)
{
	struct plant p;
	double half;

	plant_begin(&p, "1");
	plant(&p, WRITER_A, 0x30000, FMT_A_STORE, 10);
	for (int i = 0; i < 50; i++) {
		struct fmt_window w = { .addr = 0x30100 + 64 * (uint64_t)i,
					.len = 4,
					.end_reason = FMT_W_HITS,
					.count = 3,
					.write_only_after = ~0u };
		struct fmt_hit h[3] = { { .module = 1, .syscall = -1 },
					{ .module = 1, .syscall = -1 },
					{ .module = 1, .syscall = -1 } };

		struct fmt_access arm = access_at(&p, READER, w.addr, FMT_A_LOAD, 100);

		memcpy(&w.arm, &arm, sizeof(w.arm));
		store_put(p.w, FMT_ACCESS, &arm, sizeof(arm));
		w.armed = p.now++;
		for (int k = 0; k < 3; k++) {
			uint32_t fn = k == 0 ? WRITER_B : READER;

			h[k].time = p.now++;
			h[k].function = fn;
			h[k].flags = k == 0 ? FMT_A_STORE : FMT_A_LOAD;
			h[k].ip = 0x1000 * fn + (h[k].flags & 3);
		}
		w.ended = p.now;
		store_put_var(p.w, FMT_WINDOW, &w, sizeof(w), h, sizeof(h));
	}
	plant_end(&p);
	assert_int_equal(p.in.window_count, 50);
	assert_int_equal(p.in.hit_count, 150);
	estimate(&p, "fused");
	assert_true(share(&p, "writer_b", "reader") > 0.9);
	assert_true(p.f.windows == 50);
	for (size_t i = 0; i < p.f.edge_count; i++) {
		assert_false(isnan(p.f.edges[i].low));
		assert_true(p.f.edges[i].low <= p.f.edges[i].bytes && p.f.edges[i].high >= p.f.edges[i].bytes);
	}
	half = p.f.edges[0].high - p.f.edges[0].bytes;
	assert_true(half > p.f.edges[0].sd);
	flow_release(&p.f);
	p.o.use_windows = false;
	estimate(&p, "fused");
	assert_true(share(&p, "writer_b", "reader") == 0);
	plant_release(&p);
}

/* Attached late, and a window sees who writes only if it does so meanwhile: whoever it was counts for the
 * windows that were too short, too, but not for memory that long windows saw nobody write. */
TEST(a_window_without_a_write_may_have_been_too_short)
{
	struct plant p;
	double missed, before, unknown;

	plant_begin(&p, "0");
	for (uint64_t i = 0; i < 40; i++) {
		plant_window(&p, READER, 0x30000 + 4096 * i, 300000, i & 1 ? 0 : 100000);
		plant_window(&p, SETTER, 0x20000000 + 4096 * i, 1900000, 0);
	}
	plant_end(&p);
	assert_int_equal(p.in.window_count, 80);
	estimate(&p, "fused");
	missed = share(&p, "(before attach)", "reader");
	before = share(&p, "(before attach)", "memset");
	assert_true(fabs(missed + share(&p, "writer_b", "reader") - 0.5) < 0.01);
	assert_true(missed < 0.1);
	/* windows of 1.9 ms leave a little doubt: that part has a writer who is not known */
	unknown = share(&p, "(unknown)", "memset");
	assert_true(before > 0.4 && unknown > 0.05 && fabs(before + unknown - 0.5) < 0.01);
	plant_release(&p);
}

TEST(variants_of_string_functions_are_one)
{
	struct plant p;
	uint32_t a;

	plant_begin(&p, "1");
	plant_end(&p);
	a = in_func_add(&p.in, "__memmove_avx512_unaligned_erms", "/usr/lib/libc.so.6");
	assert_int_equal(a, in_func_add(&p.in, "__memmove_evex_unaligned", "/usr/lib/libc.so.6"));
	assert_string_equal(p.in.funcs[a].name, "memmove");
	assert_string_equal(p.in.funcs[a].object, "libc.so.6");
	a = in_func_add(&p.in, "__memset_avx2_unaligned_erms", "libc.so.6");
	assert_true(p.in.funcs[a].clears);
	assert_string_equal(p.in.funcs[in_func_add(&p.in, "memory_avx", "app")].name, "memory_avx");
	assert_string_equal(p.in.funcs[in_func_add(&p.in, "__memory", "app")].name, "__memory");
	flow_input_release(&p.in);
}

TEST(no_accesses_is_an_error)
{
	struct err e = { 0 };
	struct plant p;

	plant_begin(&p, "1");
	plant_end(&p);
	assert_int_not_equal(flow_estimate(&p.in, NULL, &p.o, &p.f, &e), 0);
	assert_non_null(strstr(e.text, "accperf record"));
	assert_int_not_equal(flow_estimate(&p.in, "nonsense", &p.o, &p.f, &e), 0);
	flow_input_release(&p.in);
}

TEST(chao1_bounds_the_unseen)
{
	assert_true(chao1(10, 0, 0) == 10);
	assert_true(chao1(10, 4, 2) == 12);
}

/* ---- differences, time, objects ---- */

static double chance_of(uint64_t base, uint64_t of_base, uint64_t other, uint64_t of_other)
{
	struct diff_row r = { .base = (double)base / (double)of_base, .other = (double)other / (double)of_other };

	diff_judge_samples(&r, base, of_base, other, of_other);
	/* what the interval says and what the test says is one thing */
	assert_true((r.of_change.low <= 0 && r.of_change.high >= 0) == (r.p > 0.05));
	return r.p;
}

/* Two samples of one function and two of another are a coin's throws. Fisher's tables. */
TEST(few_samples_are_judged_exactly)
{
	assert_true(fabs(chance_of(2, 2, 0, 2) - 1.0 / 3) < 1e-9);
	assert_true(fabs(chance_of(3, 3, 0, 3) - 0.1) < 1e-9);
	assert_true(fabs(chance_of(5, 5, 0, 5) - 2.0 / 252) < 1e-9);
	assert_true(fabs(chance_of(3, 4, 1, 4) - 34.0 / 70) < 1e-9);
	assert_true(fabs(chance_of(0, 5000, 4, 5000) - 0.125) < 0.001);
	/* many: the normal law */
	assert_true(fabs(chance_of(100, 1000, 130, 1000) - 0.0355) < 0.001);
	assert_true(chance_of(7, 7, 7, 7) == 1);
}

TEST(differences_have_a_statistic)
{
	struct flow f = two_edges(50, 50, 1), g = two_edges(52, 48, 1), h = two_edges(80, 20, 1);
	struct flow_input empty = { 0 };
	struct in_function_time none = { 0 };
	struct flow_diff d;
	struct err e = { 0 };

	empty.times = &none;
	f.loads = g.loads = h.loads = 1e6; /* so many that their own number limits nothing */
	assert_int_equal(flow_diff(&f, &g, &empty, &empty, &d, &e), 0);
	assert_int_equal(d.edge_count, 2);
	assert_true(d.edges[0].q > 0.05);
	assert_true(fabs(d.edges[0].error - sqrt(2.0) / 100) < 1e-9);
	assert_true(fabs(d.tv - 0.02) < 1e-12);
	flow_diff_release(&d);
	assert_int_equal(flow_diff(&f, &h, &empty, &empty, &d, &e), 0);
	assert_true(d.edges[0].q < 1e-6 && fabs(d.tv - 0.3) < 1e-12);
	flow_diff_release(&d);
	flow_release(&f);
	flow_release(&g);
	flow_release(&h);
}

TEST(time_and_objects_of_planted_accesses)
{
	struct plant p;
	struct timeline t;
	struct objects o;
	struct err e = { 0 };
	struct fmt_object var = { .id = 1, .kind = FMT_OBJ_GLOBAL, .addr = 0x70000, .size = 4096 };

	plant_begin(&p, "1");
	var.name = store_string(p.w, "planted");
	store_put(p.w, FMT_OBJECT, &var, sizeof(var));
	for (int i = 0; i < 100; i++)
		plant(&p, WRITER_A, 0x70000 + 4 * (uint64_t)i, FMT_A_STORE, 1);
	for (int i = 0; i < 300; i++)
		plant(&p, READER, 0x80000000 + 4 * (uint64_t)i, FMT_A_LOAD, 1);
	plant_end(&p);
	assert_int_equal(timeline_build(&p.in, 4, false, &t, &e), 0);
	assert_int_equal(t.slices, 4);
	assert_int_equal(t.row_count, 2);
	assert_string_equal(t.rows[0].name, "reader");
	assert_true(t.rows[0].reads[0] == 0 && t.rows[0].reads[1] == 400 && t.rows[1].writes[0] == 400);
	assert_int_equal(t.phases, 2);
	assert_int_not_equal(t.phase[0], t.phase[1]);
	timeline_release(&t);
	assert_int_equal(objects_build(&p.in, false, &object_costs_default, 0, &o, &e), 0);
	assert_int_equal(o.row_count, 2);
	assert_string_equal(o.rows[0].kind, "inferred");
	assert_string_equal(o.rows[1].name, "planted");
	assert_true(fabs(o.rows[1].share - 0.25) < 1e-9 && o.rows[1].write_bytes == 400);
	assert_string_equal(o.rows[1].writers[0].name, "writer_a");
	assert_int_equal(o.rows[1].reader_count, 0);
	assert_true(isnan(o.functions[0].mar)); /* no instruction samples: unknown, not 0 */
	objects_release(&o);
	flow_input_release(&p.in);
}

int main(void)
{
	return RUN_TESTS(new_path, remove_path);
}
