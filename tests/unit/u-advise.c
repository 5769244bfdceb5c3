// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Made-up programs before made-up devices: which functions are candidates and why others are none, chains and sets,
 * each verdict by figures that leave no other.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "advise/probe_excess.h"
#include "offload/octaves.h"
#include "advise/verdict.h"
#include "model/catalogue.h"
#include "offload/operation.h"
#include "view/advise.h"

#include "made_program.h"
#include "unit/unit.h"

static void says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not say '%s'", text, part);
}

static void verdict(const struct made *m, const char *name, enum advise_verdict v, const char *part)
{
	const struct advise_option *o = first(m, name);

	if (o->verdict != v)
		fail_msg("%s: %s (%s), wanted %s", name, verdict_str(o->verdict), o->text, verdict_str(v));
	says(o->text, part);
}

/* ---- candidates ---- */

TEST(each_reason)
{
	struct made m;

	begin(&m);
	device(&m, "slow", 1000, 0.1, 10);
	struct advise_function *f = function(&m, "reads", 1e4, 1e4, 4 * KB, KB);
	f->kernel = .05;
	f->kernel_call = "read";
	f->kernel_most = f->kernel * 0.75;
	f = function(&m, "grows", 1e4, 1e4, 4 * KB, KB); /* memory alone: most of it, or it is the function's own */
	f->memory = f->memory_most = .09;
	f->memory_call = "brk";
	function(&m, "sort", 1e4, 1e4, 4 * KB, KB)->calls_back = "compare";
	function(&m, "tiny", 100, 1e6, 128, 8);
	function(&m, "inner", 1e4, 1e4, 4 * KB, KB)->inlined = true;
	function(&m, "list", 1e4, 1e4, 128, 8)->array_share = .1;
	f = function(&m, "uncounted", 1e4, 1e4, 4 * KB, KB);
	f->calls_per_s = FIGURE_UNKNOWN;
	/* within a factor of 90 is known, of 100 is not */
	f = function(&m, "widely", 1e4, 1e4, 4 * KB, KB);
	f->calls_per_s.low = 1e3;
	f->calls_per_s.high = 1e5;
	f = function(&m, "closely", 1e4, 1e4, 4 * KB, KB);
	f->calls_per_s.low = 1e3;
	f->calls_per_s.high = 9e4;
	function(&m, "[kernel]", 1e4, 1e4, NAN, NAN)->system = true;
	function(&m, "app+0x10", 1e4, 1e4, NAN, NAN)->unnamed = true;
	function(&m, "small", 1e4, 900, 4 * KB, KB); /* under a hundredth */
	judge(&m);
	assert_int_equal(m.advice.count, 1);
	assert_int_equal(m.candidates.count, 11);
	assert_string_equal(named(&m, "closely")->reason, "");
	says(named(&m, "widely")->reason,
	     "unknown count: between 1000 and 100000 calls a second; record longer, or with --effort high; or "
	     "--offload-probe 'app:widely'");
	says(named(&m, "reads")->reason,
	     "system call inside: read takes 37.5% of the time in it and below, others 12.5%");
	says(named(&m, "grows")->reason, "system call inside: brk takes 90.0% of the time in it and below");
	says(named(&m, "sort")->reason, "callback: it calls back into compare");
	says(named(&m, "tiny")->reason, "too short a call: 100 ns, and the quickest device (slow) takes 1000 ns");
	says(named(&m, "inner")->reason, "inlined everywhere");
	says(named(&m, "list")->reason, "pointer-chasing");
	says(named(&m, "uncounted")->reason, "unknown count");
	says(named(&m, "[kernel]")->reason, "kernel");
	says(named(&m, "app+0x10")->reason, "without a name");
	end(&m);
}

/* Where no breakpoints count, what helps is a probe by the function's name, if it has one. What begins a thread is
 * called once, and needs no count. */
TEST(what_counts_without_breakpoints)
{
	static const char *const names[] = { "main", "encode", "libz.so.1+0x2f0", "ns::pack(int)" };
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	m.in.uncounted = "how fast the code runs was not measured";
	m.in.uncountable = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct advise_function *f = function(&m, names[i], 1e4, 1e4, 4 * KB, KB);

		f->calls_per_s = FIGURE_UNKNOWN;
		f->object = "app";
	}
	judge(&m);
	says(named(&m, "main")->reason, "where a program or a thread begins");
	says(named(&m, "encode")->reason, "unknown count: record with --offload-probe 'app:encode'");
	says(named(&m, "libz.so.1+0x2f0")->reason, "install the debug symbols of app");
	says(named(&m, "ns::pack(int)")->reason, "unknown count: how fast the code runs was not measured");
	end(&m);
}

/* The library's way in and what it calls for the same work are one candidate. */
TEST(one_work_of_two_names)
{
	struct advise_function *f;
	struct made m;

	begin(&m);
	device(&m, "board/deflate", 1000, 0.01, 10);
	f = function(&m, "compress2", 1e5, 5e3, 16 * KB, 8 * KB);
	f->operation = operation_of("zlib", f->name);
	f->kinds = advise_kinds(f->operation);
	f = function(&m, "deflate", 9e4, 5e3, 16 * KB, 8 * KB);
	m.in.nesting[m.in.nestings++] = (struct advise_nesting){ 0, 1, f->share.value };
	judge(&m);
	assert_int_equal(m.advice.count, 1);
	says(named(&m, "deflate")->reason, "part of compress2");
	end(&m);
}

/* What a call's name leaves open is no ground for a verdict on a device that does one of it. */
TEST(open_work)
{
	static const char *const names[] = { "EVP_EncryptUpdate", "aes_encrypt", "aes_cbc_encrypt", "aes_ctr_encrypt" };
	struct advise_function *f;
	struct made m;

	begin(&m);
	device(&m, "board/aes-ctr", 1000, 0.01, 10);
	m.devices.entries[0].kinds = 1u << CATALOGUE_CIPHER;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		f = function(&m, names[i], 5e4, 1e4, 16 * KB, 16 * KB);
		f->operation = operation_of("openssl", f->name);
		f->kinds = advise_kinds(f->operation);
	}
	m.in.cpu_per_s = 2e9;
	judge(&m);
	verdict(&m, "EVP_EncryptUpdate", VERDICT_UNKNOWN, "which cipher its calls ran is not recorded");
	/* a command to copy, with the argument that has its bytes, and a name that leads back to the function */
	verdict(&m, "EVP_EncryptUpdate", VERDICT_UNKNOWN, ":EVP_EncryptUpdate(bytes=arg4,name=");
	verdict(&m, "EVP_EncryptUpdate", VERDICT_UNKNOWN, ":EVP_EncryptUpdate)'");
	verdict(&m, "EVP_EncryptUpdate", VERDICT_UNKNOWN, "were it that one");
	verdict(&m, "aes_encrypt", VERDICT_UNKNOWN, "which mode of the cipher");
	verdict(&m, "aes_cbc_encrypt", VERDICT_UNKNOWN, "no device of the catalogue does this");
	verdict(&m, "aes_ctr_encrypt", VERDICT_OFFLOAD, "offload");
	end(&m);
}

/* Figures stand with their intervals; what is the least that was seen is said to be that, and is no value in JSON. */
TEST(figures_as_they_are_known)
{
	struct advise_view v = { .file = "p" };
	struct advise_function *f;
	struct made m;
	AUTO_BUF(text);
	AUTO_BUF(json);

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	f = function(&m, "often", 5e4, 1e4, 16 * KB, 16 * KB);
	f->calls_per_s = about(1e4, .1);
	f = function(&m, "seen", 5e4, 1e4, 16 * KB, 16 * KB);
	sizes(f, KB, 900, .5, 64 * KB, 1e5);
	f->ns_per_call = about(5e4, .1);
	f->calls_per_s = (struct figure){ 75, 75, NAN };
	judge(&m);
	v.input = &m.in;
	v.candidates = &m.candidates;
	v.advice = &m.advice;
	advise_text(&v, &(struct text_style){ 0 }, &text);
	advise_json(&v, &json);
	says(text.data, "10,000 [9,000..11,000] calls/s");
	says(text.data, "at least 75 calls/s");
	says(text.data, "50 us [45 us..55 us] a call");
	says(json.data, "\"calls_per_s\":null");
	says(json.data, "\"partly\":{\"calls_per_s\":{\"value\":null,\"low\":75,\"high\":null}");
	end(&m);
}

/* A call's time as probes timed it, and as share and count have it: where they contradict each other either may be
 * right. */
TEST(times_that_contradict)
{
	struct advise_function *f;
	const struct candidate *c;
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	f = function(&m, "job", 5e4, 1e4, 16 * KB, 16 * KB);
	sizes(f, KB, 900, .5, 64 * KB, 1e5);
	f->ns_per_call = about(2e4, .1);
	judge(&m);
	c = named(&m, "job");
	assert_true(c->ns_per_call.low < 2e4 && c->ns_per_call.high > 5e4);
	end(&m);
}

/* A rate by counted calls and one by the sampler's time. */
TEST(which_rate_is_closer)
{
	struct figure counted = { 2783, 9, 24000 }, bound = { 900, 900, NAN }, none = FIGURE_UNKNOWN;

	/* what may be nothing, or without end, is no closer than what was counted */
	assert_false(rate_by_both(&counted, (struct figure){ 4800, 0, 140000 }));
	assert_true(counted.value == 2783 && counted.low == 9 && counted.high == 24000);
	/* ...but bounds it from below */
	assert_false(rate_by_both(&counted, (struct figure){ 9000, 5000, INFINITY }));
	assert_true(counted.low == 5000 && counted.value == 5000 && counted.high == 24000);
	assert_true(rate_by_both(&counted, (struct figure){ 7000, 6000, 8000 }));
	assert_true(counted.value == 7000 && counted.low == 6000 && counted.high == 8000);
	assert_false(rate_by_both(&counted, (struct figure){ 20, 10, 30 }));
	assert_true(rate_by_both(&bound, (struct figure){ 3e6, 1e6, INFINITY }));
	assert_true(bound.low == 1e6 && isinf(bound.high));
	assert_true(rate_by_both(&none, (struct figure){ 3, 2, 4 }) && none.value == 3);
}

/* crc32(0, NULL, 0) begins a checksum: a call in three has something to do. */
TEST(calls_that_are_handed_nothing)
{
	static struct offload_item it;

	it = (struct offload_item){ .calls = 300 };
	it.octave[0] = (struct offload_octave){ .calls = 200, .timed = 200, .ns = 200 * 9e3 };
	assert_true(calls_empty_part(&it) == 0); /* all of them: that is what it does */
	it.octave[14] = (struct offload_octave){ .calls = 100, .bytes = 12e5, .timed = 100, .ns = 100 * 6e3 };
	assert_true(fabs(calls_empty_part(&it) - 2. / 3) < 1e-9);
	assert_true(call_mean_by_size(&it, true) == 8e3 && call_mean_by_size(&it, false) == 6e3);
	assert_true(operation_of("zlib", "crc32")->by_bytes && !operation_of("zlib", "deflate")->by_bytes);
}

/* Calls of hundreds of bytes that read 7 us where longer ones rise by 2.5 ns a byte: that is the probe, as far as the
 * doubt reaches. */
TEST(what_a_probe_takes_beyond)
{
	static struct offload_item it;

	it = (struct offload_item){ .excess_low_ns = -200, .late_ns = 9000 };
	assert_true(probe_excess(&it, 0).value == 0); /* nothing seen: nothing known */
	assert_true(probe_excess(&it, 0).low == -200 && probe_excess(&it, 0).high == 9000);
	for (int k = 7; k < 17; k++) {
		double bytes = 1.5 * (1 << (k - 1));

		it.octave[k] = (struct offload_octave){
			.calls = 100, .bytes = 100 * bytes, .timed = 100, .ns = 100 * (2.5 * bytes + 6800)
		};
	}
	assert_true(probe_excess(&it, 0).value > 4500 && probe_excess(&it, 0).value < 7040);
	assert_true(probe_excess(&it, 0).low == -200 && fabs(probe_excess(&it, 0).high - 7040) < 2);
	assert_true(fabs(call_time_of_size(&it.octave[7], 6000) - 1040) < 1);
	assert_true(call_time_of_size(&it.octave[7], 8000) == PROBE_LEAST_NS); /* all of it may be the probe's */
	assert_true(isnan(call_time_of_size(&it.octave[1], 6000)));
	/* no call takes less than a copy of its bytes: the doubt begins there, and is as wide as before */
	assert_true(probe_excess(&it, 5).value < probe_excess(&it, 0).value - 1000);
	assert_true(probe_excess(&it, 5).high == probe_excess(&it, 0).high);
	/* however little it takes beyond: some of it, all code takes longer behind a hit */
	it.excess_low_ns = 80;
	assert_true(probe_excess(&it, 0).low == 80);
	it.excess_low_ns = -200;
	/* long calls tell nothing of it */
	it.octave[7] = it.octave[8] = it.octave[9] = it.octave[10] = it.octave[11] = it.octave[12] =
		(struct offload_octave){ 0 };
	it.octave[13] = (struct offload_octave){ .calls = 100, .bytes = 6e5, .timed = 100, .ns = 1e8 };
	it.octave[14] = it.octave[15] = it.octave[16] = (struct offload_octave){ 0 };
	assert_true(fabs(probe_excess(&it, 0).value - 4400) < 50); /* the middle of the doubt */
	assert_true(probe_excess(&it, 0).low == -200 && probe_excess(&it, 0).high == 9000);
}

/* Long calls meet more context switches: of each size those without stand for all. Where most are switched: unknown. */
TEST(mean_of_calls_by_size)
{
	static struct offload_item it;

	it = (struct offload_item){ 0 };
	it.octave[8] = (struct offload_octave){ .calls = 90, .bytes = 18e3, .timed = 90, .ns = 90e3 };
	it.octave[17] = (struct offload_octave){ .calls = 10, .bytes = 1e6, .timed = 5, .ns = 5e5, .switched_ns = 9e9 };
	assert_true(fabs(call_mean_by_size(&it, true) - 10900) < 1);
	it.octave[17].timed = 4;
	assert_true(isnan(call_mean_by_size(&it, true)));
	it.octave[17].timed = 5;
	it.unknown_calls = 60;
	assert_true(isnan(call_mean_by_size(&it, true)));
}

/* One call of a hundred that takes two hundred times as long (a program's first) stands for no others; ten do. */
TEST(few_far_longer_calls)
{
	static struct offload_item it;
	struct octave_cell cell[] = { { 0, 13, 22, 1, 4e6 },
				      { 0, 8, 14, 90, 90 * 12e3 },
				      { 0, 13, 15, 60, 60 * 20e3 },
				      { 0, 13, 16, 39, 39 * 40e3 } };

	it = (struct offload_item){ 0 };
	it.octave[8] = (struct offload_octave){ .calls = 90, .timed = 90, .ns = 90 * 12e3 };
	it.octave[13] = (struct offload_octave){ .calls = 100, .timed = 100, .ns = 60 * 20e3 + 39 * 40e3 + 4e6 };
	octaves_set_few_apart(cell, 4, &it);
	assert_true(it.octave[8].few == 0 && it.octave[13].few == 1);
	assert_true(fabs(call_mean_of_size(&it.octave[13]) - (60 * 20e3 + 39 * 40e3) / 99) < 1);
	assert_true(fabs(call_mean_by_size(&it, true) - (90 * 12e3 + 100 * (60 * 20e3 + 39 * 40e3) / 99) / 190) < 1);
	assert_true(fabs(calls_few_mean(&it, true) - 4e6 / 190) < 1);
	for (unsigned i = 0; i < 4; i++)
		if (cell[i].time_bin == 22)
			cell[i].calls = 10;
	it.octave[13].few = it.octave[13].few_ns = 0;
	octaves_set_few_apart(cell, 4, &it);
	assert_true(it.octave[13].few == 0 && it.octave[13].few_ns == 0);
	assert_true(isnan(call_mean_of_size(&(struct offload_octave){ .calls = 3 })));
}

/* Most of the stacks end in assembler below the function: its calls tell what it takes. */
TEST(stacks_that_end_early)
{
	struct figure share = { .15, .13, 1 }, thread = { .15, .13, .17 }, elapsed = { .1, .09, .11 };
	struct figure calls = about(4e4, .05), ns = about(2e4, .05), few = { .8, .75, .85 }, same = few;

	shares_by_calls(&share, &thread, &elapsed, calls, ns, 1e9);
	assert_true(fabs(share.value - .8) < 1e-9 && share.low > .7 && share.high < .9);
	assert_true(fabs(thread.value - .8) < 1e-9 && thread.low < .8 && thread.high > .8 && thread.high <= 1);
	assert_true(elapsed.value > .5 && elapsed.high <= 1);
	/* where stacks are whole they know it as well; calls of an unknown rate tell nothing */
	shares_by_calls(&few, &thread, &elapsed, about(4e4, .2), about(2e4, .2), 1e9);
	assert_true(few.value == same.value && few.high == same.high);
	shares_by_calls(&few, &thread, &elapsed, (struct figure){ 10, 10, NAN }, ns, 1e9);
	assert_true(few.value == same.value);
}

/* What else the recording took lies in the calls; what probes took was taken off already. */
TEST(taken_and_drifted)
{
	struct fmt_cost c = { .target_cpu_ns = 1100, .target_lost_ns = 200 };
	struct fmt_offload_cost o = { .hot_ns = 50, .hot_end_ns = 40 };
	struct figure share = { .8, .7, .95 }, small = { .01, 0, .02 }, unknown = { NAN, NAN, NAN };

	assert_true(fabs(taken_besides_probes(&c, 100) - .1) < 1e-9);
	assert_true(taken_besides_probes(&c, 300) == 0); /* no less than nothing */
	assert_true(taken_besides_probes(&(struct fmt_cost){ 0 }, 0) == 0);
	assert_true(fabs(speed_drift(&o) - 1.25) < 1e-9);
	o.hot_end_ns = 62.5;
	assert_true(fabs(speed_drift(&o) - 1.25) < 1e-9);
	assert_true(speed_drift(&(struct fmt_offload_cost){ 0 }) == 1);
	share_without_probes(&share, .1);
	assert_true(fabs(share.value - .75 / .9) < 1e-9 && fabs(share.low - .6 / .9) < 1e-9 && share.high == 1);
	share_without_probes(&small, .1); /* less than the probes: it may be nothing */
	assert_true(small.value == 0 && small.low == 0 && small.high > 0);
	share_without_probes(&share, NAN);
	assert_true(fabs(share.value - .75 / .9) < 1e-9);
	share_without_probes(&unknown, .1); /* what is unknown stays so: it is not nothing */
	assert_true(isnan(unknown.value) && isnan(unknown.low) && isnan(unknown.high));
}

/* Of calls of 45 ns that a probe makes 21 us long 4 in a hundred were switched away from: of the calls as they are one
 * in ten thousand is. */
TEST(switched_by_the_probe)
{
	static struct offload_item it;

	it = (struct offload_item){ .calls = 150, .switched = 6 };
	assert_true(unprobed_quantile(&it, .99, 21e3 / 45) < .96);
	assert_true(unprobed_quantile(&it, .99999, 21e3 / 45) > .99);
	assert_float_equal(unprobed_quantile(&it, 1, 21e3 / 45), 1, 1e-9);
	assert_float_equal(unprobed_quantile(&it, .99, 1), .99, 1e-9); /* no longer than it is */
	it.switched = 100;
	assert_float_equal(unprobed_quantile(&it, .99, 10), .99, 1e-9); /* they wait by nature */
}

/* A probe that costs more than the call tells no more by recording longer, and is not said to. */
TEST(calls_shorter_than_a_probe)
{
	struct advise_function *f;
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	f = function(&m, "brief", 3500, 2e5, 4 * KB, 4 * KB);
	sizes(f, 4 * KB, NAN, 1, 8 * KB, NAN);
	f->ns_per_call = (struct figure){ 3500, 0, 7000 };
	f->beside = (struct figure){ 0, -3500, 3500 };
	f->calls_per_s = (struct figure){ 2e3, 2e3, NAN };
	judge(&m);
	verdict(&m, "brief", VERDICT_UNKNOWN, "a probe costs more than such a call takes (3.5 us)");
	end(&m);
	/* the same interval, of few calls of all lengths: more of them tell more */
	begin(&m);
	device(&m, "board", 100000, 0.01, 10);
	f = function(&m, "various", 350000, 2e5, 4 * KB, 4 * KB);
	sizes(f, 4 * KB, NAN, 1, 8 * KB, NAN);
	f->ns_per_call = (struct figure){ 350000, 3500, 700000 };
	f->beside = (struct figure){ 0, -1500, 0 };
	f->calls_per_s = (struct figure){ 20, 20, NAN };
	judge(&m);
	verdict(&m, "various", VERDICT_UNKNOWN, "record 60 s more or use --effort high");
	end(&m);
}

/* Probes saw so little that the calls are known from below only: time over them would be no time of a call. */
TEST(calls_from_below)
{
	struct made m;
	struct advise_function *f;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	f = function(&m, "seldom", 1e6, 900, 4 * KB, KB);
	sizes(f, KB, NAN, .5, 8 * KB, NAN);
	f->ns_per_call = FIGURE_UNKNOWN;
	f->calls_per_s = (struct figure){ 10, 10, NAN };
	judge(&m);
	assert_true(isnan(named(&m, "seldom")->ns_per_call.value));
	verdict(&m, "seldom", VERDICT_UNKNOWN, "time of its calls");
	end(&m);
}

/* Whose time a recording took that takes much is not known: shares of the process say so, and so does its gain. */
TEST(a_recording_that_takes_much)
{
	struct made m;
	const struct candidate *c;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	function(&m, "encode", 5e5, 1000, 4 * KB, KB);
	m.in.taken = .4;
	judge(&m);
	c = named(&m, "encode");
	assert_float_equal(c->share.value, .5, 1e-9);
	assert_float_equal(c->share.low, (.49 - .4) / .6, 1e-9);
	assert_float_equal(c->share.high, .51 / .6, 1e-9);
	assert_true(c->work.share_process.high == c->share.high && c->ns_per_call.high > 1.6 * c->ns_per_call.value);
	end(&m);

	/* ...up to where nothing is left that is known: no gain of the process is told, nor of a thread */
	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	function(&m, "encode", 5e5, 1000, 4 * KB, KB)->thread_share = about(.6, .02);
	sizes(&m.in.function[0], 4 * KB, 4e5, .5, 8 * KB, 6e5);
	m.in.taken = .7;
	judge(&m);
	assert_false(figure_known(&first(&m, "encode")->p.process_speedup));
	assert_false(figure_known(&first(&m, "encode")->p.thread_speedup));
	verdict(&m, "encode", VERDICT_OFFLOAD, "on the process not known, as the recording took most of its time");
	end(&m);
}

/* What its thread, the process and the recorded time leave to hope for; waiting beside running, also of a set. */
TEST(limits_and_waiting)
{
	static const char *const members[] = { "encode", "pack" };
	struct advise_set set = { "both", members, 2 };
	struct advise_function *f;
	const struct candidate *c;
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	f = function(&m, "encode", 2e5, 1000, 4 * KB, KB); /* 0.2 of a second */
	f->wait_ns = about(3e8, .1);
	f->ready_ns = 1e8;
	f->thread_share = about(.8, .05);
	f->elapsed_share = about(.5, .05);
	function(&m, "pack", 1e5, 1000, 4 * KB, KB)->wait_ns = about(1e8, .1);
	function(&m, "never", 1e5, 1000, 4 * KB, KB);
	judge_with(&m, &set, 1);
	c = named(&m, "encode");
	assert_float_equal(c->wait_share.value, .6, 1e-9);
	assert_float_equal(c->ready_part, 1. / 3, 1e-9);
	assert_true(isnan(named(&m, "never")->ready_part));
	assert_true(c->wait_share.low > .56 && c->wait_share.low < .6 && c->wait_share.high < .64);
	assert_float_equal(advise_limit(&c->thread_share), 5, 1e-9);
	assert_float_equal(advise_limit(&c->share), 1.25, 1e-9);
	assert_float_equal(advise_limit(&c->elapsed_share), 2, 1e-9);
	assert_true(figure_known(&first(&m, "encode")->p.thread_speedup));
	assert_float_equal(named(&m, "both")->wait_share.value, 4. / 7, 1e-9);
	assert_true(isnan(named(&m, "never")->wait_share.value));
	/* the switches of all its calls, or of a few probed ones: 1 % where its caller's are told as 60 */
	for (int all = 0; all < 2; all++) {
		candidates_release(&m.candidates);
		advice_release(&m.advice);
		f = &m.in.function[0];
		free(f->size);
		sizes(f, KB, 2e5, .5, 4 * KB, 2e5);
		f->wait_share = .01;
		f->wait_of_all = all;
		judge(&m);
		assert_float_equal(named(&m, "encode")->wait_share.value, all ? .01 : .6, 1e-9);
	}
	end(&m);
}

/* Known in another machine's cycles: beside that machine's own host; and after those whose times are known. */
TEST(by_its_ratio)
{
	struct catalogue_entry old = { .name = strdup("old"),
				       .kinds = 1u << CATALOGUE_COMPRESS,
				       .unit = strdup("cycles"),
				       .engines = NAN,
				       .has_params = true,
				       .p = { .L = 0, .o = 1000, .C = 10, .A = 5, .beta = 1, .kind = LOGCA_DEP } };
	struct advise_function *f;
	struct err e = { 0 };
	struct made m;

	begin(&m);
	assert_int_equal(catalogue_put(&m.devices, &old, &e), 0);
	device(&m, "board", 1000, 0.01, 1.5);
	f = function(&m, "encode", 1e5, 4000, 16 * KB, KB);
	sizes(f, 8 * KB, 5e4, .5, 32 * KB, 2e5);
	f->ns_per_call = about(1.25e5, .02);
	f->kinds = 1u << CATALOGUE_COMPRESS;
	sizes(function(&m, "other", 1e5, 1000, 16 * KB, KB), 8 * KB, 5e4, .5, 32 * KB, 2e5);
	judge(&m);
	for (size_t i = 0; i < m.advice.count; i++)
		for (size_t k = 0; k < m.advice.at[i].options; k++)
			assert_true(!m.advice.at[i].option[k].ratio || m.advice.at[i].candidate == named(&m, "encode"));
	assert_string_equal(first(&m, "encode")->accelerator, "board");
	for (size_t i = 0; i < m.advice.at[0].options; i++) {
		const struct advise_option *o = &m.advice.at[0].option[i];

		assert_ptr_equal(m.advice.at[0].candidate, named(&m, "encode"));

		if (strcmp(o->accelerator, "old"))
			continue;
		assert_true(o->ratio);
		assert_int_equal(o->verdict, VERDICT_OFFLOAD);
		says(o->text, "by its ratio to its own host");
		assert_true(o->p.speedup.value > 4 && o->p.speedup.value < 5);
		end(&m);
		return;
	}
	fail_msg("a device known by its ratio is left out");
}

/* A shipped threshold stands beside the calls seen, also where nothing else of the device is known. */
TEST(a_shipped_threshold)
{
	struct catalogue_entry e = {
		.name = strdup("shipped"), .unit = strdup("ns"), .engines = NAN, .has_terms = true
	};
	struct advise_function *f;
	struct err why = { 0 };
	struct made m;

	begin(&m);
	e.terms = (struct catalogue_terms){ .o = value(NAN), .L = value(0), .A = value(4), .B = value(NAN), .beta = 1 };
	e.threshold[e.thresholds++].from = 2 * KB;
	assert_int_equal(catalogue_put(&m.devices, &e, &why), 0);
	f = function(&m, "encode", 1e5, 4000, 16 * KB, KB);
	sizes(f, KB, 5e4, .75, 32 * KB, 2e5);
	judge(&m);
	verdict(&m, "encode", VERDICT_UNKNOWN, "overhead o is not known; measure the device");
	verdict(&m, "encode", VERDICT_UNKNOWN, "its maker's software offloads from 2 KB on, 25% of the calls");
	end(&m);
}

/* outer does all of inner's work and hands less over: inner is part of it. Of the other two it is the reverse. */
TEST(trimming)
{
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.5, 10);
	function(&m, "outer", 4e4, 1e4, 4 * KB, KB);
	function(&m, "inner", 3e4, 1e4, 16 * KB, 16 * KB);
	function(&m, "wide", 2e4, 1e4, 32 * KB, 32 * KB);
	function(&m, "core", 1.9e4, 1e4, KB, KB);
	below(&m, 0, 1);
	below(&m, 2, 3);
	judge(&m);
	assert_string_equal(named(&m, "outer")->reason, "");
	says(named(&m, "inner")->reason, "part of outer");
	says(named(&m, "wide")->reason, "core, below it, is better");
	assert_string_equal(named(&m, "core")->reason, "");
	end(&m);
}

/* Each stage pays for 16 KB in and loses; all three pay for the first one's alone. */
TEST(a_chain_that_wins)
{
	const double per_s = 1e4, bytes = 16 * KB;
	const struct candidate *c;
	struct made m;

	begin(&m);
	device(&m, "board", 5000, 0.5, 10);
	function(&m, "decode", 1e4, per_s, bytes, bytes);
	function(&m, "filter", 1e4, per_s, bytes, bytes);
	function(&m, "encode", 1e4, per_s, bytes, bytes);
	edge(&m, ADVISE_ELSEWHERE, 0, bytes * per_s);
	edge(&m, 0, 1, bytes * per_s);
	edge(&m, 1, 2, bytes * per_s);
	judge(&m);
	verdict(&m, "decode", VERDICT_KEEP, "keep: 0.705x");
	verdict(&m, "filter", VERDICT_KEEP, "keep");
	verdict(&m, "encode", VERDICT_KEEP, "keep");
	verdict(&m, "decode > filter > encode", VERDICT_OFFLOAD, "offload: 1.85x");
	c = named(&m, "decode > filter > encode");
	assert_int_equal(c->kind, CANDIDATE_CHAIN);
	assert_int_equal(c->functions, 3);
	assert_float_equal(c->bytes_in.value, bytes, 1);
	assert_float_equal(c->ns_per_call.value, 3e4, 1);
	assert_float_equal(c->within, 4. / 6, 1e-6);
	end(&m);
}

/* Half of what a stage writes goes elsewhere: no chain. */
TEST(no_chain)
{
	struct made m;

	begin(&m);
	device(&m, "board", 5000, 0.5, 10);
	function(&m, "decode", 1e4, 1e4, 16 * KB, 16 * KB);
	function(&m, "filter", 1e4, 1e4, 16 * KB, 16 * KB);
	edge(&m, 0, 1, 8 * KB * 1e4);
	judge(&m);
	assert_int_equal(m.candidates.count, 2);
	end(&m);
}

TEST(a_set)
{
	static const char *const members[] = { "decode", "inner", "filter" };
	static const char *const typo[] = { "decdoe" }, *const strange[] = { "zzz" };
	struct advise_set set = { "codec", members, 3 };
	struct candidates none;
	struct err e = { 0 };
	const struct candidate *c;
	struct made m;

	begin(&m);
	device(&m, "board", 5000, 0.5, 10);
	function(&m, "decode", 1e4, 1e4, 16 * KB, 16 * KB);
	function(&m, "inner", 5e3, 1e4, 16 * KB, 16 * KB);
	function(&m, "filter", 1e4, 5e3, 32 * KB, 8 * KB);
	below(&m, 0, 1);
	edge(&m, 1, 2, 16 * KB * 1e4);
	judge_with(&m, &set, 1);
	c = named(&m, "codec");
	assert_int_equal(c->kind, CANDIDATE_SET);
	assert_int_equal(c->functions, 2); /* inner is decode's */
	assert_float_equal(c->calls_per_s.value, 5e3, 1e-6);
	assert_float_equal(c->bytes_in.value, 32 * KB, 1); /* 16 KB * 2 and 32 KB a call, less 32 KB that stay inside */
	set = (struct advise_set){ "codec", typo, 1 };
	assert_int_equal(candidates_find(&m.in, &set, 1, &none, &e), -ENOENT);
	says(e.text, "did you mean 'decode'?");
	set.function = strange;
	e = (struct err){ 0 };
	assert_int_equal(candidates_find(&m.in, &set, 1, &none, &e), -ENOENT);
	says(e.text, "no function 'zzz'");
	end(&m);
}

TEST(nothing_at_all)
{
	struct advise_view v;
	struct made m;
	AUTO_BUF(out);

	begin(&m);
	m.in.seconds = m.in.cpu_per_s = NAN;
	judge(&m);
	assert_int_equal(m.candidates.count, 0);
	v = (struct advise_view){ .file = "x", .input = &m.in, .candidates = &m.candidates, .advice = &m.advice };
	advise_brief(&v, &(struct text_style){ 0 }, &out);
	assert_int_equal(out.len, 0);
	advise_json(&v, &out);
	assert_string_equal(
		out.data,
		"{\"schema\":\"accperf.advise/1\",\"engine\":\"soft\",\"machine\":\"here\",\"candidates\":[],\"devices\":[]}\n");
	end(&m);
}

/* ---- verdicts ---- */

TEST(gains)
{
	struct made m;

	begin(&m);
	device(&m, "board", 1000, 0.01, 10);
	function(&m, "hot", 5e4, 1e4, 16 * KB, 16 * KB);
	judge(&m);
	verdict(&m, "hot", VERDICT_OFFLOAD, "on the function, 1.78x");
	says(first(&m, "hot")->text, "another machine");
	end(&m);
}

/* 97 % of the calls are small and lose; all the work is in them. */
TEST(small_calls)
{
	struct advise_function *f;
	struct made m;

	begin(&m);
	device(&m, "board", 10000, 0.5, 10);
	f = function(&m, "crc", 2.9e3, 1e5, 0, 0);
	f->stream = true;
	sizes(f, 2 * KB, 2e3, .97, 32 * KB, 32e3);
	judge(&m);
	verdict(&m, "crc", VERDICT_KEEP, "keep: 97% of calls are under break-even, 25.8 KB; ");
	end(&m);
	begin(&m); /* counts say a call takes less than the probes do: no size surely pays */
	device(&m, "board", 10000, 0.5, 10);
	f = function(&m, "crc", 2e3, 1e5, 0, 0);
	f->stream = true;
	sizes(f, 2 * KB, 2e3, .97, 32 * KB, 32e3);
	judge(&m);
	verdict(&m, "crc", VERDICT_KEEP, "keep: 97% of calls or more are under break-even, 24");
	end(&m);
	begin(&m); /* calls that can wait for each other */
	device(&m, "board", 10000, 0.25, 10);
	f = function(&m, "crc", 2.42e3, 1e5, 0, 0);
	sizes(f, 2 * KB, 2e3, .97, 16 * KB, 16e3);
	judge(&m);
	verdict(&m, "crc", VERDICT_BATCH, "97% of calls are under break-even, ");
	end(&m);
	/* the same, but the few large ones are most of the time: only those */
	begin(&m);
	device(&m, "board", 10000, 0.05, 10);
	f = function(&m, "crc", 1e4, 1e4, 0, 0);
	sizes(f, 2 * KB, 2e3, .97, 1024 * KB, 1e6);
	f->share = about(.9, .01);
	judge(&m);
	verdict(&m, "crc", VERDICT_OFFLOAD, "97% of calls are under break-even");
	end(&m);
}

TEST(batches)
{
	struct made m;

	begin(&m);
	device(&m, "board", 10000, 0, 10);
	function(&m, "hash", 4000, 1e5, 2 * KB, 32)->kinds = 1u << CATALOGUE_HASH;
	judge(&m);
	verdict(&m, "hash", VERDICT_BATCH, "offload if batched by 3");
	end(&m);
}

TEST(cannot_tell)
{
	struct advise_function *f;
	struct made m;

	begin(&m);
	device(&m, "board", 5000, 0.25, 10);
	f = function(&m, "near", 1e4, 1e4, 16 * KB, 16 * KB);
	f->share = about(.1, .2);
	judge(&m);
	verdict(&m, "near", VERDICT_UNKNOWN, "cannot tell: the interval spans 1 (");
	says(first(&m, "near")->text, "record 60 s more or use --effort high");
	says(first(&m, "near")->text, "0.99x ["); /* as good as none: no word of what is likelier */
	assert_null(strstr(first(&m, "near")->text, "likelier"));
	end(&m);

	begin(&m);
	device(&m, "board", 5040, 0.25, 10);
	f = function(&m, "near", 1e4, 1e4, 16 * KB, 16 * KB);
	f->share = about(.1, .2);
	judge(&m);
	assert_true(fabs(advise_gain_chance(&first(&m, "near")->p.speedup) - .43) < .02);
	assert_null(strstr(first(&m, "near")->text, "likelier")); /* such chances come true half of the times */
	end(&m);

	begin(&m);
	device(&m, "board", 5500, 0.25, 10);
	f = function(&m, "near", 1e4, 1e4, 16 * KB, 16 * KB);
	f->share = about(.1, .2);
	judge(&m);
	verdict(&m, "near", VERDICT_UNKNOWN, "cannot tell: the interval spans 1 (");
	says(first(&m, "near")->text, "; likelier it loses (");
	end(&m);

	begin(&m); /* no bytes: nothing to transfer by */
	device(&m, "board", 5000, 0.25, 10);
	function(&m, "blind", 1e4, 1e4, NAN, NAN);
	m.in.has_flow = false;
	judge(&m);
	verdict(&m, "blind", VERDICT_UNKNOWN, "cannot tell: the sizes of its calls");
	end(&m);
}

/* By the side of the interval towards 1; where the lower end stands for none, nothing is likelier. */
TEST(chance_of_a_gain)
{
	const struct {
		struct figure s;
		double chance;
	} of[] = { { { 2, 1, 4 }, .973 },        { { .5, .25, 1 }, .027 },   { { 1, .5, 2 }, .5 },
		   { { 2, 1, 1000 }, .973 },     { { 1.2, .9, 1.6 }, .940 }, { { 3, 0, 4 }, .5 },
		   { { .5, .02, 3 }, .5 },       { { .5, .02, .9 }, .020 },  { { .5, .04, 3 }, .126 },
		   { { .5, .1, INFINITY }, .5 }, { { 90, 80, 99 }, .995 },   { { .1, .1, .1 }, .005 },
		   { { 1, 1, 1 }, .5 } };
	const struct figure open = { 2, NAN, NAN };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_true(fabs(advise_gain_chance(&of[i].s) - of[i].chance) < .001);
	assert_true(isnan(advise_gain_chance(&open)));
}

TEST(unknown_acceleration)
{
	struct made m;

	/* of 30 us, 5 and 4.1 are left for overhead and transfer: 20 - 9.1 = 10.9 us for 30 us of work */
	begin(&m);
	device(&m, "board", 5000, 0.25, NAN);
	function(&m, "work", 3e4, 1e4, 16 * KB, 16 * KB);
	judge(&m);
	verdict(&m, "work", VERDICT_UNKNOWN, "2.75x would make the function 1.5x faster, and no A more than 3.3x");
	end(&m);
	begin(&m); /* overhead alone is longer than the call */
	device(&m, "board", 50000, 0.25, NAN);
	function(&m, "work", 3e4, 1e4, 16 * KB, 16 * KB)->kinds = 1u << CATALOGUE_HASH;
	judge(&m);
	verdict(&m, "work", VERDICT_KEEP, "however fast it computes");
	end(&m);
	begin(&m); /* no device at all */
	function(&m, "work", 3e4, 1e4, 16 * KB, 16 * KB);
	judge(&m);
	verdict(&m, "work", VERDICT_UNKNOWN, "less than 20 us a call");
	end(&m);
}

TEST(made_already)
{
	struct advise_function *f;
	struct made m;

	begin(&m);
	f = function(&m, "send", 1e3, 1e4, 0, 0);
	f->offload = true;
	sizes(f, KB, 900, .5, 64 * KB, 1100);
	f->counterpart_speedup = about(.5, .1);
	f->counterpart_below = .9;
	f->counterpart_g1 = 8 * KB;
	f = function(&m, "wins", 1e3, 1e4, 0, 0);
	f->offload = true;
	sizes(f, KB, 900, .5, 64 * KB, 1100);
	f->counterpart_speedup = about(3, .1);
	f = function(&m, "unused", 0, 0, 0, 0);
	f->offload = true;
	judge(&m);
	verdict(&m, "send", VERDICT_SWITCH, "switch to the host under 8 KB: 90% of the calls lose there");
	verdict(&m, "wins", VERDICT_OFFLOAD, "offload, as it does: 3x");
	verdict(&m, "unused", VERDICT_IDLE, "configured, but not happening: no call reached the device in 10 s");
	assert_int_equal(named(&m, "send")->kind, CANDIDATE_OFFLOAD);
	end(&m);
}

/* A device that takes whole buffers is none for a stream; one of another kind of work is none at all. */
TEST(devices_that_fit)
{
	struct advise_function *f;
	struct made m;

	begin(&m);
	device(&m, "engine", 1000, 0.01, 10);
	m.devices.entries[0].kinds = 1u << CATALOGUE_COMPRESS;
	m.devices.entries[0].no_streams = true;
	device(&m, "hasher", 1000, 0.01, 10);
	m.devices.entries[1].kinds = 1u << CATALOGUE_HASH;
	f = function(&m, "pack", 5e4, 1e4, 16 * KB, 16 * KB);
	f->kinds = 1u << CATALOGUE_COMPRESS;
	f->stream = true;
	function(&m, "other", 5e4, 2e3, 16 * KB, 16 * KB);
	judge(&m);
	assert_int_equal(m.advice.at[0].options, 1);
	verdict(&m, "pack", VERDICT_KEEP, "whole buffers only");
	verdict(&m, "other", VERDICT_UNKNOWN, "no device of the catalogue does this");
	end(&m);
}

TEST(large_input)
{
	static char names[2000][16];
	struct rusage before, after;
	struct made m;

	getrusage(RUSAGE_SELF, &before);
	begin(&m);
	m.in.cpu_per_s = 1e11;
	for (int i = 0; i < 2000; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", i);
		function(&m, names[i], 2e4, 1e4, 16 * KB, 16 * KB);
		m.in.function[i].share = about(i < 100 ? .011 : .0005, .1);
		m.in.function[i].self = m.in.function[i].share.value;
		edge(&m, (uint32_t)i, (uint32_t)(i + 1) % 2000, 1e6);
	}
	for (int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "device%d", i);
		device(&m, name, 1000 + 500 * i, 0.01, 10);
	}
	judge(&m);
	assert_int_equal(m.advice.count, 100);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 300 * 1024);
	end(&m);
}
