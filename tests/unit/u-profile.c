// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/module.h"
#include "profile/names_kept.h"
#include "profile/profile_priv.h"
#include "profile/shared.h"
#include "profile/time_shares.h"
#include "profile/walk.h"
#include "store/write.h"
#include "unit/temp_file.h"
#include "unit/unit.h"

static void put_stack(struct store_writer *w, uint32_t id, unsigned n, const struct fmt_frame *f)
{
	struct fmt_stack s = { .id = id, .count = (uint16_t)n, .flags = FMT_STACK_COMPLETE };

	assert_int_equal(store_put_var(w, FMT_STACK, &s, sizeof(s), f, n * (uint32_t)sizeof(*f)), 0);
}

static void put_sample(struct store_writer *w, uint32_t stack, uint64_t period)
{
	struct fmt_sample s = { .time = 5, .period = period, .pid = 1, .tid = 1, .stack = stack };

	assert_int_equal(store_put(w, FMT_SAMPLE, &s, sizeof(s)), 0);
}

static void put_rate(struct store_writer *w, const char *source, double per_second)
{
	struct fmt_rate r = { .time = 5, .source = store_string(w, source), .per_second = per_second };

	assert_int_equal(store_put(w, FMT_RATE, &r, sizeof(r)), 0);
}

/* Beside the samples stand those that were lost, not waits, hits or blocks; the counters tell of these. */
TEST_WITH(lost_are_samples, new_path, remove_path)
{
	static const struct {
		const char *name;
		uint64_t value, samples;
	} of[] = {
		{ "samples lost: ring full", 3, 3 },
		{ "samples lost: record cannot be right", 2, 2 },
		{ "hardware samples lost", 10, 10 },
		{ "some other engine's", 20, 20 },
		{ "side-band records lost", 100, 0 },
		{ "waits lost: ring half full", 100, 0 },
		{ "waits without an end: ring full", 100, 0 },
		{ "watch hits lost: ring full", 100, 0 },
		{ "system-call records lost: ring full", 100, 0 },
		{ "segments lost: ring full", 100, 0 },
		{ "offload: records lost, ring full", 100, 0 },
		{ "heap: blocks lost, ring full", 100, 0 },
		{ "accesses without an address", 100, 0 },
		{ "samples without registers", 100, 0 },
	};
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct profile *p;
	uint64_t all = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct fmt_counter c = { store_string(w, of[i].name), FMT_C_LOSS, of[i].value };

		assert_int_equal(store_put(w, FMT_COUNTER, &c, sizeof(c)), 0);
		all += of[i].samples;
	}
	put_sample(w, 3, 10);
	assert_int_equal(store_close(w, &e), 0);
	p = profile_load(path, &e);
	assert_non_null(p);
	assert_true(p->lost_known);
	assert_int_equal(p->lost, all);
	assert_int_equal(profile_counted(p, "watch hits lost: ring full"), 100);
	profile_free(p);
}

/* Windows and bursts have rates of their own; the timer's is what the report states, as last set. And
 * accesses count as samples only where there is nothing else. */
TEST_WITH(rates_and_units, new_path, remove_path)
{
	struct fmt_access a = { .time = 5, .pid = 1, .tid = 1, .stack = 3, .weight = 7, .flags = FMT_A_LOAD };
	struct err e = { 0 };

	for (int with_time = 0; with_time < 2; with_time++) {
		struct store_writer *w = store_create(path, 0, &e);
		struct profile *p;

		store_meta(w, "imported", "perf.data");
		put_rate(w, "soft", 199);
		put_rate(w, "watch", 17);
		put_rate(w, "soft", 150);
		put_rate(w, "syscalls", 4);
		if (with_time)
			put_sample(w, 3, 10);
		store_put(w, FMT_ACCESS, &a, sizeof(a));
		a.flags |= FMT_A_TIME; /* drawn by the timer: no samples of their own */
		store_put(w, FMT_ACCESS, &a, sizeof(a));
		a.flags &= ~(uint32_t)FMT_A_TIME;
		assert_int_equal(store_close(w, &e), 0);
		p = profile_load(path, &e);
		assert_non_null(p);
		assert_float_equal(p->rate, 150, 0);
		assert_int_equal(profile_unit(p), with_time ? PROFILE_TIME : PROFILE_ACCESSES);
		assert_int_equal(p->samples[PROFILE_ACCESSES], 1);
		assert_float_equal(p->weight[PROFILE_ACCESSES], 7, 0);
		profile_free(p);
	}
}

static int count_sample(void *samples, const void *rec, size_t size)
{
	++*(unsigned *)samples;
	return 0;
}

/* What was shared is had once, without its file; others' rows are then read from it, ids known. */
TEST_WITH(shared_is_read_once, new_path, remove_path)
{
	static const struct section_row rows[] = { { FMT_SAMPLE, sizeof(struct fmt_sample), count_sample, NULL } };
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_frame frame = { .addr = 16, .module = 7 };
	unsigned samples = 0;
	struct section_reader reader = SECTION_READER(rows, &samples);
	struct profile *p;
	FILE *gone;

	put_stack(w, 3, 1, &frame);
	put_sample(w, 3, 10);
	put_sample(w, 3, 20);
	assert_int_equal(store_close(w, &e), 0);
	p = profile_open(path, &e);
	assert_non_null(p);
	assert_int_equal(profile_walk(p, PROFILE_SAMPLES, NULL, 0, &e), 0);
	assert_int_equal(profile_share_open(path, p, &e), 0);
	assert_int_equal(unlink(path), 0);
	gone = fopen(path, "w");
	assert_non_null(gone);
	fclose(gone);
	p = profile_open(path, &e);
	assert_non_null(p);
	assert_int_equal(p->samples[PROFILE_TIME], 2);
	assert_int_equal(profile_stack_of(p, 3), 1);
	assert_int_equal(profile_read(p, PROFILE_SAMPLES, &reader, 1, &e), 0);
	assert_int_equal(p->samples[PROFILE_TIME], 2);
	assert_int_equal(profile_stack_of(p, 3), 1);
	profile_free(p);
	assert_null(profile_open(path, &e));
	profile_share_end();
}

/* Uses before definitions, two ids for one function, an id that nothing defines. */
TEST_WITH(order_does_not_matter, new_path, remove_path)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_frame frame = { .addr = 16, .module = 7 }, other = { .addr = 32, .module = 7 };
	struct fmt_symbol sym = { .addr = 16, .module = 7, .count = 1 };
	struct fmt_inline line = { .function = 900 };
	struct fmt_function f = { .id = 900 };
	struct fmt_module m = { .id = 7, .kind = FMT_MOD_FILE };
	struct profile *p;
	struct shares s;

	put_sample(w, 3000000000u, 30);
	put_sample(w, 5, 10);
	put_sample(w, 77, 60); /* never defined */
	assert_int_equal(store_flush(w, &e), 0);
	put_stack(w, 3000000000u, 1, &frame);
	put_stack(w, 5, 1, &other);
	assert_int_equal(store_flush(w, &e), 0);
	store_put_var(w, FMT_SYMBOL, &sym, sizeof(sym), &line, sizeof(line));
	sym.addr = 32;
	line.function = 901;
	store_put_var(w, FMT_SYMBOL, &sym, sizeof(sym), &line, sizeof(line));
	assert_int_equal(store_flush(w, &e), 0);
	f.name = store_string(w, "twin");
	f.object = store_string(w, "lib.so");
	store_put(w, FMT_FUNCTION, &f, sizeof(f));
	f.id = 901;
	store_put(w, FMT_FUNCTION, &f, sizeof(f));
	store_put(w, FMT_MODULE, &m, sizeof(m));
	assert_int_equal(store_close(w, &e), 0);

	p = profile_load(path, &e);
	assert_non_null(p);
	assert_int_equal(shares_compute(p, &(struct shares_opts){ .thread = SHARES_ALL_THREADS }, &s, &e), 0);
	assert_int_equal(s.count, 2);
	assert_string_equal(p->functions[s.rows[0].function].name, "(unknown)");
	assert_float_equal(s.rows[0].self, 0.6, 1e-12);
	assert_float_equal(s.rows[0].inclusive, 0.6, 1e-12);
	assert_string_equal(p->functions[s.rows[1].function].name, "twin");
	assert_float_equal(s.rows[1].self, 0.4, 1e-12);
	assert_int_equal(s.rows[1].samples, 2);
	assert_float_equal(s.unnamed, 0.6, 1e-12);
	/* (30+10+60)^2 / (900+100+3600) */
	assert_float_equal(s.effective, 10000.0 / 4600, 1e-9);
	assert_true(*p->recovery != 0);
	shares_release(&s);
	profile_free(p);
}

/* The processor's variants of one string function are one, wherever debug information places them. */
TEST_WITH(variants_are_one, new_path, remove_path)
{
	static const char *const names[] = { "__memmove_avx_unaligned_erms", "__memmove_evex_unaligned", "memmove",
					     "__digest_avx2" };
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct profile *p;
	struct shares s;

	for (uint32_t i = 0; i < 4; i++) {
		struct fmt_frame frame = { .addr = 16 * i, .module = 1 };
		struct fmt_symbol sym = { .addr = 16 * i, .module = 1, .count = 1 };
		struct fmt_inline line = { .function = 1 + i };
		struct fmt_function f = { .id = 1 + i,
					  .name = store_string(w, names[i]),
					  .object = store_string(w, "libc.so.6"),
					  .file = i < 2 ? store_string(w, i ? "b.S" : "a.S") : 0 };

		store_put(w, FMT_FUNCTION, &f, sizeof(f));
		store_put_var(w, FMT_SYMBOL, &sym, sizeof(sym), &line, sizeof(line));
		put_stack(w, 1 + i, 1, &frame);
		put_sample(w, 1 + i, i < 3 ? 20 : 40);
	}
	assert_int_equal(store_close(w, &e), 0);
	p = profile_load(path, &e);
	assert_non_null(p);
	assert_int_equal(shares_compute(p, &(struct shares_opts){ .thread = SHARES_ALL_THREADS }, &s, &e), 0);
	assert_int_equal(s.count, 2);
	assert_string_equal(p->functions[s.rows[0].function].name, "memmove");
	assert_float_equal(s.rows[0].self, 0.6, 1e-12);
	assert_string_equal(p->functions[s.rows[1].function].name, "__digest_avx2");
	shares_release(&s);
	profile_free(p);
}

/* Values from the closed form, worked by hand for 0/20, 5/10 and 20/20. */
TEST(wilson)
{
	double low, high;

	wilson_interval(0, 20, &low, &high);
	assert_float_equal(low, 0, 1e-12);
	assert_float_equal(high, 0.161125, 1e-5);
	wilson_interval(0.5, 10, &low, &high);
	assert_float_equal(low, 0.236593, 1e-5);
	assert_float_equal(high, 0.763407, 1e-5);
	wilson_interval(1, 20, &low, &high);
	assert_float_equal(low, 0.838875, 1e-5);
	assert_float_equal(high, 1, 1e-12);
	wilson_interval(0.5, 0, &low, &high);
	assert_true(isnan(low) && isnan(high));
}

/* The interval must hold the truth in about 95 of 100 runs. */
TEST(wilson_covers)
{
	const double truth = 0.03;
	unsigned inside = 0, runs = 4000;

	srandom(7);
	for (unsigned r = 0; r < runs; r++) {
		unsigned hits = 0, n = 300;
		double low, high;

		for (unsigned i = 0; i < n; i++)
			hits += (double)random() / 2147483648.0 < truth;
		wilson_interval((double)hits / n, n, &low, &high);
		inside += low <= truth && truth <= high;
	}
	assert_true(inside > runs * 0.93 && inside < runs * 0.985);
}

/* A recording that goes on: one sample in libc, at that place of the file. */
static void write_nameless(const struct module *libc, const char *file, uint64_t addr)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE, .build_id_len = libc->build_id_len };
	struct fmt_frame f = { .addr = addr, .module = 1 };

	assert_non_null(w);
	m.path = store_string(w, file);
	memcpy(m.build_id, libc->build_id, libc->build_id_len);
	store_put(w, FMT_MODULE, &m, sizeof(m));
	put_stack(w, 1, 1, &f);
	put_sample(w, 1, 10);
	assert_int_equal(store_close(w, &e), 0);
}

static char *first_name_by(unsigned group)
{
	struct err e = { 0 };
	struct profile *p = profile_load_with(path, PROFILE_SAMPLES | group, NULL, 0, &e);
	struct shares s = { 0 };
	char *name;

	assert_non_null(p);
	assert_int_equal(shares_compute(p, &(struct shares_opts){ .thread = SHARES_ALL_THREADS }, &s, &e), 0);
	assert_int_equal(s.count, 1);
	name = strdup(p->functions[s.rows[0].function].name);
	assert_non_null(name);
	shares_release(&s);
	profile_free(p);
	return name;
}

static char *first_name(void)
{
	return first_name_by(PROFILE_MISSING);
}

static void expect_name(const char *want)
{
	char *name = first_name();

	assert_string_equal(name, want);
	free(name);
}

/* By what was found before alone: the file is there, and not opened. */
static void expect_kept(const char *want)
{
	char *name = first_name_by(PROFILE_KEPT);

	assert_string_equal(name, want);
	free(name);
}

/* Of a function that was found once its other addresses are known, though the file is gone; of others they are not. */
TEST_WITH(names_are_kept, new_path, remove_path)
{
	struct err e = { 0 };
	Dl_info in;
	struct module *libc;
	uint64_t at;
	char nameless[40], here[400], *name = NULL;

	assert_int_not_equal(dladdr((void *)(uintptr_t)qsort, &in), 0);
	libc = module_open_path(in.dli_fname, NULL, 0, &e);
	assert_non_null(libc);
	if (!libc->build_id_len) {
		module_close_path(libc);
		skip();
	}
	at = (uint64_t)((char *)in.dli_saddr - (char *)in.dli_fbase);
	snprintf(nameless, sizeof(nameless), "gone.so+0x%llx", (unsigned long long)at + 6);
	snprintf(here, sizeof(here), "%.300s+0x%llx", strrchr(in.dli_fname, '/') + 1, (unsigned long long)at + 4);
	for (int kept = 0; kept < 2; kept++) {
		profile_keep_names(kept);
		write_nameless(libc, in.dli_fname, at + 4);
		expect_kept(here);
		name = name ? name : first_name();
		expect_name(name);
		expect_kept(kept ? name : here);
		assert_non_null(strstr(name, "qsort")); /* or an alias of it */
		write_nameless(libc, "/nowhere/gone.so", at + 6);
		expect_name(kept ? name : nameless);
	}
	profile_keep_names(true);
	expect_name(nameless);
	profile_keep_names(false);
	free(name);
	module_close_path(libc);
}

int main(void)
{
	/* what other programs found out stays out of this */
	setenv("XDG_CACHE_HOME", "/dev/null/none", 1);
	return RUN_TESTS(NULL, NULL);
}
