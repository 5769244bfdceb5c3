// SPDX-License-Identifier: GPL-2.0-or-later
/* What a profile's offload sections are folded to, on recordings made up here whose truth is known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <errno.h>

#include "model/fit.h"
#include "probe.h"
#include "offload/operation.h"
#include "offload/points.h"
#include "offload/summary.h"
#include "store/write.h"
#include "unit/sized.h"
#include "unit/temp_file.h"
#include "unit/unit.h"

#define MS 1000000u
#define PER_SIZE SIZED(40u, 10u) /* calls */
#define CALL_NS 10000.           /* what a probed call costs, all of it inside */

static struct store_writer *begin(uint32_t *library)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);
	struct fmt_offload_cost cost = { .call_ns = CALL_NS,
					 .call_low = CALL_NS,
					 .call_high = CALL_NS,
					 .inside_ns = CALL_NS,
					 .attach = FMT_OA_SESSION };
	struct fmt_offload_api api = { .id = 1,
				       .api = store_string(w, "own"),
				       .kind = FMT_OK_CALL,
				       .probe = FMT_PROBE_STEPPED,
				       .variant = FMT_OV_HOST };

	assert_non_null(w);
	*library = api.library = store_string(w, "/lib/own.so");
	api.name = api.symbol = store_string(w, "job");
	assert_int_equal(store_put(w, FMT_OFFLOAD_API, &api, sizeof(api)), 0);
	api.id = 2;
	api.variant = FMT_OV_ACCELERATED;
	assert_int_equal(store_put(w, FMT_OFFLOAD_API, &api, sizeof(api)), 0);
	assert_int_equal(store_put(w, FMT_OFFLOAD_COST, &cost, sizeof(cost)), 0);
	return w;
}

static struct offload_summary *end(struct store_writer *w)
{
	struct err e = { 0 };
	struct offload_summary *s;

	assert_int_equal(store_close(w, &e), 0);
	s = offload_summary_load(path, &e);
	assert_non_null(s);
	return s;
}

/* More calls than wait for the record that names their function, more places than are told apart: all are told of. */
TEST_WITH(test_losses, new_path, remove_path)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	struct fmt_call call = { .submit = MS, .returned = 2 * MS, .weight = 1, .api = 3, .pid = 1, .tid = 1 };
	struct fmt_offload_total total = { .pid = 1, .api = 1, .calls = 2 };
	struct fmt_offload_api api = { .id = 3, .kind = FMT_OK_CALL };
	struct offload_summary *s;
	double sites = 0, others = 0;

	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(store_put(w, FMT_CALL, &call, sizeof(call)), 0);
	assert_int_equal(store_flush(w, NULL), 0);
	api.api = api.name = api.symbol = store_string(w, "late");
	api.library = library;
	assert_int_equal(store_put(w, FMT_OFFLOAD_API, &api, sizeof(api)), 0);
	call.api = 1;
	for (call.site = 1; call.site <= 5000; call.site++) {
		total.site_addr = 0x1000 + call.site;
		assert_int_equal(store_put(w, FMT_CALL, &call, sizeof(call)), 0);
		assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &total, sizeof(total)), 0);
	}
	total.api = 9;
	assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &total, sizeof(total)), 0);
	s = end(w);
	assert_int_equal(s->nameless_records, 4096);
	assert_int_equal(s->nameless_calls, 2);
	assert_true(s->placeless == 5000 - 4096);
	assert_int_equal(s->items_cnt, 1);
	for (size_t i = 0; i < s->items[0].sites_cnt; i++) {
		sites += s->items[0].sites[i].calls;
		others += s->items[0].sites[i].addr ? 0 : s->items[0].sites[i].calls;
	}
	assert_true(sites == (double)s->items[0].calls && sites == 10000);
	assert_true(others == 2 * (5000 - 4095));
	offload_summary_free(s);
}

/* An empty stretch says when the recording ended. */
static struct offload_summary *end_at(struct store_writer *w, uint32_t library, uint64_t clock, uint64_t cpu)
{
	struct fmt_offload_window last = {
		.armed = clock, .disarmed = clock, .library = library, .cpu_armed = cpu, .cpu_disarmed = cpu
	};

	assert_int_equal(store_put(w, FMT_OFFLOAD_WINDOW, &last, sizeof(last)), 0);
	return end(w);
}

/* Of three stretches: each lasts `length` and takes `busy` besides its calls; the next begins `apart` later, when
 * `used` of CPU time are gone. */
struct three_stretches {
	uint64_t length, busy, apart, used; /* ns */
};

static struct offload_summary *of_three(const uint64_t *calls, const struct three_stretches *t)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	struct fmt_offload_total total = { .pid = 1, .api = 1, .site_addr = 1 };
	uint64_t clock = MS, cpu = MS;
	struct offload_summary *s;

	for (unsigned i = 0; i < 3; i++) {
		struct fmt_offload_window one = { .armed = clock,
						  .disarmed = clock + t->length,
						  .calls = calls[i],
						  .hits = 2 * calls[i],
						  .library = library,
						  .cpu_armed = cpu,
						  .hits_ns = (uint64_t)(CALL_NS * (double)calls[i]),
						  .gap_mean = 10 * MS };

		cpu += calls[i] * 10300 + t->busy;
		one.cpu_disarmed = cpu;
		assert_int_equal(store_put(w, FMT_OFFLOAD_WINDOW, &one, sizeof(one)), 0);
		total.calls += calls[i];
		clock += t->apart;
		cpu += t->used;
	}
	total.ns = total.cpu_ns = (uint64_t)((CALL_NS + 300) * (double)total.calls);
	assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &total, sizeof(total)), 0);
	s = end_at(w, library, clock, cpu);
	assert_int_equal(s->items_cnt, 1);
	print_message("calls %.0f [%.0f, %.0f]\n", s->items[0].estimate, s->items[0].low, s->items[0].high);
	return s;
}

/* A second of CPU time apart, calls met unevenly: 5,789 were told, and at the least the 123 that were seen. */
TEST_WITH(test_uneven, new_path, remove_path)
{
	static const uint64_t calls[] = { 60, 40, 23 };
	struct offload_summary *s = of_three(calls, &(struct three_stretches){ 20 * MS, 15 * MS, 1000 * MS, 900 * MS });

	assert_true(isnan(s->items[0].estimate) && s->items[0].low >= 123);
	offload_summary_free(s);
}

/*
 * A service that calls 20 times a ms whatever happens, and is asleep else. A hit takes a little less than was
 * measured at start, so that less of a stretch's CPU time seems to be work than is. Eight stretches of 20 to 55 ms, a
 * second apart.
 */
TEST_WITH(test_paced, new_path, remove_path)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	struct fmt_offload_total total = { .pid = 1, .api = 1, .site_addr = 1 };
	uint64_t clock = MS, cpu = MS, begun = clock;
	struct offload_summary *s;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t length = (20 + 5 * i) * MS, calls = 20 * length / MS;
		struct fmt_offload_window one = { .armed = clock,
						  .disarmed = clock + length,
						  .calls = calls,
						  .hits = 2 * calls,
						  .library = library,
						  .cpu_armed = cpu,
						  .hits_ns = (uint64_t)(CALL_NS * (double)calls),
						  .gap_mean = 10 * MS };

		cpu += calls * 9800 + calls * 300;
		one.cpu_disarmed = cpu;
		assert_int_equal(store_put(w, FMT_OFFLOAD_WINDOW, &one, sizeof(one)), 0);
		total.calls += calls;
		clock += length + 1000 * MS;
		cpu += 20 * 1000 * 300; /* the gap's calls */
	}
	total.ns = total.cpu_ns = (uint64_t)((CALL_NS + 300) * (double)total.calls);
	assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &total, sizeof(total)), 0);
	s = end_at(w, library, clock, cpu);
	assert_int_equal(s->items_cnt, 1);
	{
		const struct offload_item *it = &s->items[0];
		double truth = 20. * (double)(clock - begun) / MS;

		print_message("calls %.0f [%.0f, %.0f], truth %.0f\n", it->estimate, it->low, it->high, truth);
		assert_true(it->estimate > truth * .9 && it->estimate < truth * 1.1);
		assert_true(it->low <= truth && (isnan(it->high) || it->high >= truth));
	}
	offload_summary_free(s);
}

/* The same, polled every half millisecond and seen for 2 ms at a time: each hit takes 23 us, so that 31 of the 42 calls
 * of such a stretch are made before it ends. By the clock they are 14,700 a second, which was told. */
TEST_WITH(test_put_off, new_path, remove_path)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	struct fmt_offload_total total = { .pid = 1, .api = 1, .site_addr = 1 };
	uint64_t clock = MS, cpu = MS, begun = clock;
	const struct offload_item *it;
	struct offload_summary *s;
	double truth;

	for (unsigned i = 0; i < 9; i++) {
		uint64_t length = 2100 * MS / 1000, calls = 30 + i % 3;
		struct fmt_offload_window one = { .armed = clock,
						  .disarmed = clock + length,
						  .calls = calls,
						  .hits = 2 * calls,
						  .library = library,
						  .cpu_armed = cpu,
						  .hits_ns = calls * 46000,
						  .gap_mean = 10 * MS };

		cpu += calls * 40000;
		one.cpu_disarmed = cpu;
		assert_int_equal(store_put(w, FMT_OFFLOAD_WINDOW, &one, sizeof(one)), 0);
		total.calls += calls;
		clock += length + 1000 * MS;
		cpu += 20 * 1000 * 300;
	}
	total.ns = total.cpu_ns = 46300 * total.calls;
	assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &total, sizeof(total)), 0);
	s = end_at(w, library, clock, cpu);
	truth = 20. * (double)(clock - begun) / MS;
	it = &s->items[0];
	print_message("calls %.0f [%.0f, %.0f], truth %.0f\n", it->estimate, it->low, it->high, truth);
	assert_true(isnan(it->estimate) && it->put_off && it->low <= truth && it->high >= truth);
	offload_summary_free(s);
}

/* The same service on a machine whose CPUs others want: its calls come in batches, and of three stretches one met such.
 * What may be any number, down to what was seen, is no rate. */
static void batches(const uint64_t *calls, uint64_t length, double least)
{
	struct offload_summary *s = of_three(calls, &(struct three_stretches){ length, 0, 3000 * MS, 3000 * 20 * 300 });

	assert_true(isnan(s->items[0].estimate) && s->items[0].low >= least && isnan(s->items[0].high));
	offload_summary_free(s);
}

/* Nor is what seems to have been probed all the time: how many calls it makes without cannot be told. */
TEST_WITH(test_paced_in_batches, new_path, remove_path)
{
	static const uint64_t apart[] = { 1, 90, 2 }, alike[] = { 200, 201, 202 };

	batches(apart, 10 * MS, 93);
	batches(alike, 2 * MS, 603);
}

/*
 * A service that calls as fast as it can, every 500 ns of its CPU time, and gets the CPU half the time: others want it,
 * too. A hit takes twice what was measured at start, which is nearly all that a stretch does.
 */
TEST_WITH(test_starved, new_path, remove_path)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	struct fmt_offload_total total = { .pid = 1, .api = 1, .site_addr = 1 };
	uint64_t clock = MS, cpu = MS, begun = cpu;
	struct offload_summary *s;
	double truth = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t length = (20 + 5 * i) * MS, calls = length / 2 / (uint64_t)(2 * CALL_NS + 500);
		struct fmt_offload_window one = { .armed = clock,
						  .disarmed = clock + length,
						  .calls = calls,
						  .hits = 2 * calls,
						  .library = library,
						  .cpu_armed = cpu,
						  .cpu_disarmed = cpu + length / 2,
						  .hits_ns = (uint64_t)(CALL_NS * (double)calls),
						  .gap_mean = 10 * MS };

		assert_int_equal(store_put(w, FMT_OFFLOAD_WINDOW, &one, sizeof(one)), 0);
		total.calls += calls;
		clock += length + 1000 * MS;
		cpu += length / 2 + 500 * MS;
		truth += (double)calls + 500. * MS / 500;
	}
	total.ns = total.cpu_ns = (uint64_t)((2 * CALL_NS + 500) * (double)total.calls);
	assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &total, sizeof(total)), 0);
	s = end_at(w, library, clock, cpu);
	assert_int_equal(s->items_cnt, 1);
	{
		const struct offload_item *it = &s->items[0];

		print_message("calls %.0f [%.0f, %.0f], truth %.0f in %.0f ms of CPU\n", it->estimate, it->low,
			      it->high, truth, (double)(cpu - begun) / MS);
		assert_true(it->low <= truth && (isnan(it->high) || it->high >= truth));
		/* what has no upper end is a bound */
		assert_true(isnan(it->high) == isnan(it->estimate));
	}
	offload_summary_free(s);
}

static void put_call(struct store_writer *w, uint32_t api, double bytes, double ns)
{
	struct fmt_call c = { .submit = 1,
			      .returned = 2,
			      .complete = 2,
			      .bytes_in = (uint64_t)bytes,
			      .weight = 1,
			      .api = api,
			      .pid = 1,
			      .tid = 1,
			      .flags = FMT_CALL_IN | (ns > 0 ? FMT_CALL_TIMED : 0),
			      .batch = 1,
			      .busy_ns = ns > 0 ? (uint64_t)ns : 0 };

	c.submit_ns = c.busy_ns;
	assert_int_equal(store_put(w, FMT_CALL, &c, sizeof(c)), 0);
}

static void put_total(struct store_writer *w, uint32_t api, uint64_t calls)
{
	struct fmt_offload_total t = { .calls = calls, .ns = calls * 100000, .pid = 1, .api = api, .site_addr = 1 };

	assert_int_equal(store_put(w, FMT_OFFLOAD_TOTAL, &t, sizeof(t)), 0);
}

/* Of calls at an instruction that the kernel emulates, some of 64 B that take so long and some of 1 MB, where a line
 * behind a hit takes line_ns: how much longer all may have read; *least: that all have. */
static double added_at_most(double ns, double line_ns, double *least)
{
	struct fmt_offload_cost cost = { .call_ns = 60000,
					 .call_low = 60000,
					 .call_high = 60000,
					 .inside_ns = 24000,
					 .emulated_call_ns = 20000,
					 .emulated_low = 20000,
					 .emulated_high = 20000,
					 .emulated_inside_ns = 600,
					 .line_ns = line_ns,
					 .attach = FMT_OA_SESSION };
	struct fmt_offload_api api = {
		.id = 3, .kind = FMT_OK_CALL, .probe = FMT_PROBE_EMULATED, .variant = FMT_OV_HOST
	};
	struct offload_summary *s;
	uint32_t library;
	struct store_writer *w = begin(&library);
	double late;

	api.api = store_string(w, "own");
	api.name = api.symbol = store_string(w, "quick");
	api.library = library;
	assert_int_equal(store_put(w, FMT_OFFLOAD_API, &api, sizeof(api)), 0);
	assert_int_equal(store_put(w, FMT_OFFLOAD_COST, &cost, sizeof(cost)), 0);
	for (uint32_t bin = 7; bin <= 21; bin += 14) {
		double each = (bin == 7 ? ns : 1e6) + cost.emulated_inside_ns;
		struct fmt_offload_hist h = { .pid = 1,
					      .api = 3,
					      .bytes_bin = bin,
					      .time_bin = 12,
					      .count = 30,
					      .bytes = 30ull << (bin - 1),
					      .ns = (uint64_t)(30 * each) };

		assert_int_equal(store_put(w, FMT_OFFLOAD_HIST, &h, sizeof(h)), 0);
	}
	put_total(w, 3, 60);
	s = end(w);
	assert_int_equal(s->items_cnt, 1);
	late = s->items[0].late_ns;
	*least = s->items[0].excess_low_ns;
	offload_summary_free(s);
	return late;
}

/* Code goes on cold behind a hit, but no call is longer by more than it took. */
TEST_WITH(test_cold, new_path, remove_path)
{
	double least, quick = added_at_most(500, 150, &least), slow = added_at_most(50000, 150, &least);

	assert_true(fabs(least) < 1);              /* a loop without data is no longer there */
	assert_true(quick >= 300 && quick <= 501); /* half of what the probe takes inside, at least */
	assert_true(fabs(slow - 12 * 150) < 1);    /* so many lines, one after another, as they take on this machine */
	slow = added_at_most(50000, 75, &least);
	assert_true(fabs(slow - 12 * 75) < 1);
	slow = added_at_most(50000, 0, &least);
	assert_true(fabs(slow - 20000) < 1); /* not measured: no longer than the hit */
}

/* Calls of 16 B to 1 MB. What is left of the probe in each differs, and is all that there is of the shortest. */
static struct offload_summary *pair(double t0, double per_byte, double o, double accel_per_byte, double left,
				    double spread)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	unsigned seed = 3, calls = 0;

	for (double g = 16; g <= 1048576; g *= 2)
		for (unsigned i = 0; i < PER_SIZE; i++, calls++) {
			double r = left + spread * ((double)rand_r(&seed) / RAND_MAX - .5);

			put_call(w, 1, g, t0 + per_byte * g + r);
			put_call(w, 2, g, o + accel_per_byte * g + r);
		}
	put_total(w, 1, calls);
	put_total(w, 2, calls);
	return end(w);
}

static const struct offload_item *variant(const struct offload_summary *s, uint32_t v)
{
	for (size_t i = 0; i < s->items_cnt; i++)
		if (s->items[i].variant == v)
			return &s->items[i];
	fail();
	return NULL;
}

/* The break-even in bytes; 0: the fit says that it cannot tell. */
static double told(const struct offload_summary *s, struct logca_payoff *p)
{
	struct points pts = { .unit = "ns" };
	struct err e = { 0 };
	struct fit f;

	assert_int_equal(offload_points(variant(s, FMT_OV_HOST), RUN_HOST, &pts, &e), 0);
	assert_int_equal(offload_points(variant(s, FMT_OV_ACCELERATED), RUN_ACCEL, &pts, &e), 0);
	if (fit_logca(&pts, &fit_defaults, &f, &e)) {
		print_message("%s\n", e.text);
		assert_non_null(strstr(e.text, "too short"));
		points_release(&pts);
		return 0;
	}
	points_release(&pts);
	logca_payoff(&f.p, f.gmin, f.gmax, p);
	print_message("g1 %.0f [%.0f, %.0f], %.0f to %.0f B, %s\n", f.g1[0].v, f.g1[0].lo, f.g1[0].hi, f.gmin, f.gmax,
		      fit_doubt(&f) ? fit_doubt(&f) : "told");
	return fit_doubt(&f) ? 0 : f.roots ? f.g1[0].v : NAN;
}

/* Times far above the probe's: told, and right. */
TEST_WITH(test_long_calls, new_path, remove_path)
{
	struct logca_payoff p;
	struct offload_summary *s = pair(200, 100, 1000000, 10, 500, 1000);
	double g = told(s, &p), truth = (1000000 - 200) / 90.;

	assert_true(g > truth / 1.5 && g < truth * 1.5);
	assert_int_equal(p.verdict, LOGCA_FROM);
	offload_summary_free(s);
}

/*
 * A byte-wise checksum against a faster one that costs 1 us more: the accelerator pays from 630 B, where a call takes
 * a tenth of what the probe does. A fit to the calls that are left says that it always pays.
 */
TEST_WITH(test_short_calls, new_path, remove_path)
{
	struct offload_summary *s = pair(0, 1.9, 1000, .3, 0, 8000);
	struct logca_payoff p;
	double g = told(s, &p);

	assert_true(variant(s, FMT_OV_HOST)->below_ns >= CALL_NS / 2);
	/* every call is kept, those too, that took no time at all */
	assert_int_equal(variant(s, FMT_OV_HOST)->samples_cnt, 17 * PER_SIZE);
	assert_true(isnan(spread_quantile(&variant(s, FMT_OV_HOST)->time, .1)) ||
		    spread_quantile(&variant(s, FMT_OV_HOST)->time, .1) < CALL_NS / 2);
	if (g > 0 && p.verdict == LOGCA_FROM)
		assert_true(p.from > 625 / 1.5 && p.from < 625 * 1.5);
	else if (g > 0)
		assert_true(p.verdict == LOGCA_ALWAYS); /* of what was long enough to be timed: sizes above 630 B */
	offload_summary_free(s);
}

/* All that is censored together leaves no fit, with a reason. */
TEST_WITH(test_nothing_left, new_path, remove_path)
{
	uint32_t library;
	struct store_writer *w = begin(&library);
	struct points pts = { .unit = "ns" };
	struct offload_summary *s;
	struct err e = { 0 };
	struct fit f;

	for (double g = 16; g <= 65536; g *= 2)
		for (unsigned i = 0; i < 10; i++) {
			put_call(w, 1, g, 0);
			put_call(w, 2, g, 0);
		}
	put_total(w, 1, 10);
	put_total(w, 2, 10);
	s = end(w);
	assert_int_equal(offload_points(variant(s, FMT_OV_HOST), RUN_HOST, &pts, &e), 0);
	assert_int_equal(offload_points(variant(s, FMT_OV_ACCELERATED), RUN_ACCEL, &pts, &e), 0);
	assert_int_equal(pts.run[RUN_HOST].count, 0);
	assert_true(pts.run[RUN_HOST].censored == 130 && pts.run[RUN_HOST].censored_to == 65536);
	assert_int_equal(fit_logca(&pts, &fit_defaults, &f, &e), -EINVAL);
	assert_non_null(strstr(e.text, "too short"));
	points_release(&pts);
	offload_summary_free(s);
}

/* Only what does the same is compared. */
TEST(test_operations)
{
	static const char *const prepare[] = { "deflateInit2_", "deflateReset",       "deflateEnd",  "inflateInit2_",
					       "inflateReset2", "ZSTD_compressBound", "SHA256_Init", "crc32_combine" };
	const struct operation *deflate = operation_of(NULL, "deflate-isal/zlib");

	assert_non_null(deflate);
	assert_ptr_equal(operation_of("zlib", "deflate"), deflate);
	assert_ptr_equal(operation_of("zlib", "compress2"), deflate);
	assert_ptr_not_equal(operation_of("zlib", "inflate"), deflate);
	assert_ptr_not_equal(operation_of("zlib", "uncompress"), deflate);
	assert_ptr_not_equal(operation_of("zstd", "ZSTD_compress2"), deflate);
	assert_ptr_equal(operation_of("zlib", "crc32_z"), operation_of(NULL, "crc32-isal/zlib"));
	assert_ptr_equal(operation_of("af_alg", "skcipher cbc(aes)"), operation_of(NULL, "aes-cbc/scalar"));
	assert_true(operation_of("openssl", "EVP_DigestSign") != operation_of("openssl", "EVP_DigestUpdate"));
	assert_true(operation_of("openssl", "EVP_EncryptUpdate")->open);
	assert_null(operation_of("own", "encode"));
	for (size_t i = 0; i < sizeof(prepare) / sizeof(*prepare); i++)
		assert_null(operation_of(NULL, prepare[i]));
}

/* Around each power of two, and what lies between: the bin is how many bits there are. */
TEST(bins_are_bits)
{
	assert_int_equal(probe_bin_of(0), 0);
	for (unsigned bits = 1; bits <= 64; bits++) {
		uint64_t least = 1ull << (bits - 1);

		assert_int_equal(probe_bin_of(least), bits);
		assert_int_equal(probe_bin_of(least + least / 2), bits);
		assert_int_equal(probe_bin_of(least + (least - 1)), bits);
	}
}
