// SPDX-License-Identifier: GPL-2.0-or-later
/* Trust marks: planted evidence for every row of the table, and evidence of planted views. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"
#include "view/trust.h"

static const struct planted {
	enum trust_view view;
	enum trust_fact fact;
	double bad, fine;
	enum trust_mark mark;
	const char *reason, *remedy; /* that must be among the words */
} planted[] = {
	{ TRUST_OFFLOAD, TRUST_PROBED, 0, 1, TRUST_DO_NOT_USE, "not looked for", "--offload auto" },
	{ TRUST_OFFLOAD, TRUST_CALLS, 4, 100, TRUST_DO_NOT_USE, "seen: 4", "record 300 s" },
	{ TRUST_FLOW, TRUST_SAMPLES, 20, 400, TRUST_DO_NOT_USE, "samples of user code: 20", "record 300 s" },
	{ TRUST_ANNOTATE, TRUST_SAMPLES, 20, 400, TRUST_DO_NOT_USE, "samples in this function: 20", "record 300 s" },
	{ TRUST_COUNTS, TRUST_LOST, 0.3, 0, TRUST_DO_NOT_USE, "30 % of the samples were lost", "-F" },
	{ TRUST_REPORT, TRUST_UNSAMPLED, 0.6, 0, TRUST_DO_NOT_USE, "60 % of the CPU time", "--timers cpus" },
	{ TRUST_FLOW, TRUST_BY_UNCHECKED, 0.5, 0.1, TRUST_DO_NOT_USE, "50 % of the bytes are expected in wrong edges",
	  "doctor --breakpoints" },
	{ TRUST_FLOW, TRUST_BY_GUESS, 0.5, 0.1, TRUST_DO_NOT_USE, "which watch windows were too few", "record 120 s" },
	{ TRUST_FLOW, TRUST_BY_CHANCE, 0.44, 0.14, TRUST_DO_NOT_USE, "mostly by chance", "record 120 s" },
	{ TRUST_FLOW, TRUST_BY_CHANCE, 1.03, 0.14, TRUST_DO_NOT_USE, "some 100 % of the bytes", "record 600 s" },
	{ TRUST_FLOW, TRUST_BY_FEW, 0.44, 0.14, TRUST_DO_NOT_USE, "no store was seen where they lie", "record 120 s" },
	{ TRUST_OBJECTS, TRUST_NOISE, 0.3, 0.01, TRUST_DO_NOT_USE, "30 % of the whole", "record 60 s" },
	{ TRUST_OFFLOAD, TRUST_WHOLE, 0, 1, TRUST_WEAK, "damaged", "until then" },
	{ TRUST_TIMELINE, TRUST_SAMPLES, 107, 400, TRUST_WEAK, "user code: only 107", "record 30 s" },
	{ TRUST_ANNOTATE, TRUST_SAMPLES, 107, 400, TRUST_WEAK, "function: only 107", "record 30 s" },
	{ TRUST_ANNOTATE, TRUST_NOISE, 0.3, 0.1, TRUST_WEAK, "30 % of the function's time", "record" },
	{ TRUST_FLOW, TRUST_INTERPRETED, 0.9, 0.1, TRUST_WEAK, "90 % of the time is an interpreter's", "report" },
	{ TRUST_FLOW, TRUST_BY_UNCHECKED, 0.2, 0.1, TRUST_WEAK, "no watch window checked it", "doctor --breakpoints" },
	{ TRUST_FLOW, TRUST_BY_GUESS, 0.16, 0.1, TRUST_WEAK, "too few to tell apart", "record 20 s" },
	{ TRUST_FLOW, TRUST_BY_CHANCE, 0.39, 0.14, TRUST_WEAK, "some 39 % of the bytes", "record 120 s" },
	{ TRUST_FLOW, TRUST_BY_FEW, 0.2, 0.14, TRUST_WEAK, "samples are few", "record 20 s" },
	{ TRUST_REPORT, TRUST_LOST, 0.05, 0.01, TRUST_WEAK, "5 % of the samples were lost", "--ring-size" },
	{ TRUST_REPORT, TRUST_NOISE, 0.2, 0.14, TRUST_WEAK, "20 % of the whole", "record 30 s" },
	{ TRUST_FLOW, TRUST_NO_WRITER, 0.69, 0.4, TRUST_WEAK, "69 % of the bytes have no known writer", "-- COMMAND" },
	{ TRUST_REPORT, TRUST_UNSAMPLED, 0.2, 0.05, TRUST_WEAK, "20 % of the CPU time", "--timers cpus" },
	{ TRUST_REPORT, TRUST_UNNAMED, 0.61, 0.1, TRUST_WEAK, "61 % of the time", "perf map" },
	{ TRUST_FLOW, TRUST_CUT_STACKS, 0.59, 0.1, TRUST_WEAK, "59 % of the stacks", "--stack-size" },
	{ TRUST_REPORT, TRUST_ENDED_STACKS, 0.22, 0.1, TRUST_WEAK, "22 % of the stacks end in code", "self times" },
	{ TRUST_COUNTS, TRUST_COUNTED, 0.2, 0.9, TRUST_WEAK, "of 20 % of the instructions alone", "--effort high" },
	{ TRUST_OBJECTS, TRUST_RANGES, 0.8, 0.3, TRUST_WEAK, "80 % of the accesses", "exact --objects" },
	{ TRUST_TIMELINE, TRUST_PER_SLICE, 3.5, 20, TRUST_WEAK, "samples a slice: 3.5", "--slices" },
	{ TRUST_OFFLOAD, TRUST_CALLS, 20, 100, TRUST_WEAK, "seen: only 20", "record 60 s" },
	{ TRUST_OFFLOAD, TRUST_TIMED, 0.1, 0.9, TRUST_WEAK, "of 10 % of the calls", "how long they take is not" },
	{ TRUST_OFFLOAD, TRUST_WATCHED, 0.004, 0.9, TRUST_WEAK, "0.4 % of the time", "--effort high" },
	{ TRUST_OFFLOAD, TRUST_BOUNDED, 1, 0.4, TRUST_WEAK, "at least so often", "--offload-exact" },
	{ TRUST_FLOW, TRUST_RATE, 0, 1, TRUST_GOOD, "shares", "hardware breakpoints" },
	{ TRUST_OBJECTS, TRUST_RATE, 0, 1, TRUST_GOOD, "shares", "hardware breakpoints" },
	{ TRUST_COUNTS, TRUST_MODELLED, 1, 0, TRUST_GOOD, "model of a processor", "hardware breakpoints" },
};

#define PLANTED (sizeof(planted) / sizeof(planted[0]))

TEST(every_row_speaks)
{
	bool spoke[64] = { false };

	assert_true(trust_rule_count <= 64);
	for (size_t i = 0; i < PLANTED; i++) {
		const struct planted *p = &planted[i];
		struct trust_evidence v = trust_no_evidence();
		struct trust t;
		int row;

		v.seconds = 10;
		v.fact[p->fact] = p->bad;
		row = trust_judge(p->view, &v, &t);
		assert_true(row >= 0);
		spoke[row] = true;
		assert_int_equal(t.mark, p->mark);
		assert_non_null(strstr(t.reason, p->reason));
		assert_non_null(strstr(t.remedy, p->remedy));
		assert_null(strpbrk(t.reason, "{}"));
		assert_null(strpbrk(t.remedy, "{}"));
		/* cut short by nothing */
		assert_true(strlen(t.reason) < sizeof(t.reason) - 1 && strlen(t.remedy) < sizeof(t.remedy) - 1);
		v.fact[p->fact] = p->fine;
		assert_int_equal(trust_judge(p->view, &v, &t), -1);
		assert_int_equal(t.mark, TRUST_GOOD);
		assert_string_equal(t.reason, "");
	}
	/* why nobody checked what was guessed: where that is most of the error, and as bad as that */
	for (int harmless = 0; harmless < 2; harmless++) {
		struct trust_evidence v = trust_no_evidence();
		struct trust t;

		v.fact[TRUST_HARMLESS] = harmless;
		v.fact[TRUST_TRIED] = 0;
		assert_int_equal(trust_judge(TRUST_FLOW, &v, &t), -1);
		v.fact[TRUST_BY_UNCHECKED] = 0.2;
		spoke[trust_judge(TRUST_FLOW, &v, &t)] = true;
		assert_int_equal(t.mark, TRUST_WEAK);
		assert_non_null(strstr(t.reason, harmless ? "not tried out yet" : "end programs"));
		assert_non_null(strstr(t.remedy, harmless ? "doctor --breakpoints" : "update the host"));
	}
	for (unsigned i = 0; i < trust_rule_count; i++)
		assert_true(spoke[i]);
}

TEST(nothing_known_is_nothing_said)
{
	struct trust_evidence v = trust_no_evidence();
	struct trust t;

	for (unsigned view = TRUST_REPORT; view <= TRUST_OFFLOAD; view *= 2) {
		trust_judge(view, &v, &t);
		assert_int_equal(t.mark, TRUST_GOOD);
	}
}

TEST(the_worst_speaks_first)
{
	struct trust_evidence v = trust_no_evidence();
	enum trust_mark last = TRUST_DO_NOT_USE;
	struct trust t;

	/* each row in turn, the ones above it mended: marks only get better */
	for (unsigned i = 0; i < TRUST_FACTS; i++)
		v.fact[i] = 0;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_int_equal(t.mark, TRUST_DO_NOT_USE);
	v.fact[TRUST_SAMPLES] = 1e6;
	v.fact[TRUST_BY_CHANCE] = 0.5;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_int_equal(t.mark, TRUST_DO_NOT_USE);
	v.fact[TRUST_BY_CHANCE] = 0.2;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_int_equal(t.mark, TRUST_WEAK);
	assert_non_null(strstr(t.reason, "was not finished"));
	v.fact[TRUST_WHOLE] = 1;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_int_equal(t.mark, TRUST_WEAK);
	assert_non_null(strstr(t.reason, "by chance"));
	v.fact[TRUST_BY_CHANCE] = 0.1;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_int_equal(t.mark, TRUST_GOOD);
	assert_non_null(strstr(t.reason, "not measured"));
	for (size_t i = 0; i < PLANTED; i++) {
		assert_true(planted[i].mark <= last);
		last = planted[i].mark;
	}
}

/* Nobody is sent for what ends programs here, whatever the reason is. */
TEST(no_breakpoints_where_they_harm)
{
	struct trust_evidence v = trust_no_evidence();
	struct trust t;

	v.fact[TRUST_HARMLESS] = 0;
	v.fact[TRUST_TRIED] = 0;
	v.fact[TRUST_BY_UNCHECKED] = 0.2;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_non_null(strstr(t.reason, "end programs"));
	assert_null(strstr(t.remedy, "breakpoints"));
	v.fact[TRUST_BY_UNCHECKED] = 0.5;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_non_null(strstr(t.reason, "was guessed"));
	assert_null(strstr(t.remedy, "breakpoints"));
	v.fact[TRUST_HARMLESS] = 1;
	trust_judge(TRUST_FLOW, &v, &t);
	assert_non_null(strstr(t.remedy, "breakpoints"));
}

TEST(words)
{
	struct trust_evidence v = trust_no_evidence();
	struct text_style plain = { 0 }, narrow = { .width = 80 };
	struct trust t;
	AUTO_BUF(text);
	AUTO_BUF(folded);

	v.fact[TRUST_SAMPLES] = 107;
	trust_judge(TRUST_FLOW, &v, &t);
	trust_text(&t, "# ", &plain, &text);
	assert_string_equal(text.data, "# trust: weak: samples of user code: only 107; record for longer, while the "
				       "program works\n");
	trust_text(&t, "", &narrow, &folded);
	for (const char *at = folded.data, *end; (end = strchr(at, '\n')); at = end + 1)
		assert_true(end - at <= 80);
	trust_text(NULL, "", &plain, &text); /* not judged: no line */
}

/* Two edges, of 75 and 25 bytes. */
static void plant_flow(struct flow *f, const char *producer, double sd)
{
	uint32_t p, c, d;

	flow_init(f);
	f->engine = FLOW_SOFT;
	f->time_bias = true;
	f->level = 0.95;
	f->loads = 1000;
	f->windows = 50;
	p = flow_func(f, producer, "");
	c = flow_func(f, "reader", "a");
	d = flow_func(f, "writer", "a");
	*flow_edge(f, p, c) = (struct flow_edge){ p, c, 75, NAN, NAN, 75 - 2 * sd, 75 + 2 * sd, sd, 10, false };
	*flow_edge(f, d, c) = (struct flow_edge){ d, c, 25, NAN, NAN, 25 - 2 * sd, 25 + 2 * sd, sd, 10, false };
	flow_finish(f);
}

/* trust_evidence.c fitted these */
#define OF_CHANCE 1.13
#define OF_AMONG 1.32
#define OF_UNSEEN 4.1

static double expected_of(double noise, double among, double unseen)
{
	return hypot(hypot(OF_CHANCE * noise, OF_AMONG * among), OF_UNSEEN * unseen);
}

TEST(evidence_of_a_flow)
{
	struct flow_input in = { .duration_ns = 5e9, .lost = 0 };
	struct trust_evidence v;
	struct flow f;

	plant_flow(&f, FLOW_BEFORE, 10);
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_NO_WRITER], 0.75, 1e-6);
	assert_float_equal(v.fact[TRUST_NOISE], 0.798 * 0.1, 1e-3);
	assert_float_equal(v.fact[TRUST_BY_CHANCE], OF_CHANCE * 0.0798, 1e-3);
	assert_true(isnan(v.fact[TRUST_BY_GUESS]) && isnan(v.fact[TRUST_BY_UNCHECKED]) && isnan(v.fact[TRUST_BY_FEW]));
	assert_float_equal(v.fact[TRUST_RATE], 0, 0);
	assert_float_equal(v.seconds, 5, 1e-9);
	assert_true(isnan(v.fact[TRUST_TRIED]) && isnan(v.fact[TRUST_CUT_STACKS]));
	flow_release(&f);
	plant_flow(&f, "other", 15);
	f.guessed = 40;
	f.unseen = 2;
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_BY_GUESS], expected_of(0.1197, 0.4, 0.02), 1e-3);
	assert_true(isnan(v.fact[TRUST_BY_UNCHECKED]) && isnan(v.fact[TRUST_BY_CHANCE]));
	f.windows = 0; /* another remedy */
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_BY_UNCHECKED], expected_of(0.1197, 0.4, 0.02), 1e-3);
	assert_true(isnan(v.fact[TRUST_BY_GUESS]));
	f.unseen = 15;
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_BY_FEW], expected_of(0.1197, 0.4, 0.15), 1e-3);
	f.unseen = 100; /* more than all cannot be wrong */
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_BY_FEW], 1, 0);
	assert_float_equal(v.fact[TRUST_NO_WRITER], 0, 1e-6);
	/* counted: nothing of the sort applies */
	f.engine = FLOW_EXACT;
	f.loads = NAN;
	v = trust_of_flow(&in, &f);
	for (unsigned i = 0; i < TRUST_FACTS; i++)
		assert_true(i == TRUST_WHOLE ? v.fact[i] == 1 : isnan(v.fact[i]));
	in.incomplete = true;
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_WHOLE], 0, 0);
	flow_release(&f);
}

TEST(interpreters_are_known_by_their_files)
{
	static const char *const yes[] = { "python3.11", "libpython3.11.so.1.0", "perl", "libruby-3.1.so.3.1",
					   "lua5.4" };
	static const char *const no[] = { "pythonista", "libperlite.so", "node_exporter", "nodes", "nginx" };
	struct in_func func = { .name = "f" };
	struct in_function_time time = { .self_ns = 1e9, .samples = 100 };
	struct flow_input in = { .duration_ns = NAN, .lost = NAN, .funcs = &func, .func_count = 1, .times = &time };
	struct flow f;

	plant_flow(&f, "other", 1);
	for (unsigned i = 0; i < 5; i++) {
		func.object = yes[i];
		assert_float_equal(trust_of_flow(&in, &f).fact[TRUST_INTERPRETED], 1, 0);
		func.object = no[i];
		assert_float_equal(trust_of_flow(&in, &f).fact[TRUST_INTERPRETED], 0, 0);
	}
	flow_release(&f);
}

/* Of 107 samples of a server twelve were its own code's: their blocks' loads and stores are no more evidence. */
TEST(loads_of_a_block_are_one_sample)
{
	struct in_func funcs[] = { { .name = "serve", .object = "app" },
				   { .name = "(kernel:recvfrom)", .object = "" } };
	struct in_function_time times[] = { { .self_ns = 1e9, .samples = 12 }, { .self_ns = 8e9, .samples = 95 } };
	struct flow_input in = { .duration_ns = 10e9, .lost = 0, .funcs = funcs, .func_count = 2, .times = times };
	struct in_access by_itself = { .flags = FMT_A_LOAD };
	struct objects o = { .samples = 300 };
	struct timeline tl = { .samples = 300, .slices = 10 };
	struct trust_evidence v;
	struct trust t;
	struct flow f;

	plant_flow(&f, "other", 1);
	v = trust_of_flow(&in, &f);
	assert_float_equal(v.fact[TRUST_SAMPLES], 12, 0);
	trust_judge(TRUST_FLOW, &v, &t);
	assert_int_equal(t.mark, TRUST_DO_NOT_USE);
	assert_string_equal(t.reason, "samples of user code: 12");
	assert_string_equal(t.remedy, "record 300 s, while the program works");
	assert_float_equal(trust_of_objects(&in, &o).fact[TRUST_SAMPLES], 12, 0);
	assert_float_equal(trust_of_timeline(&in, &tl).fact[TRUST_SAMPLES], 12, 0);
	/* a processor that samples loads and stores draws each by itself */
	in.access = &by_itself;
	in.access_count = 1;
	assert_float_equal(trust_of_flow(&in, &f).fact[TRUST_SAMPLES], 1000, 0);
	flow_release(&f);
}

TEST(evidence_of_a_report)
{
	struct profile_counter lost[] = { { "CPU time without a sample, us", 1000, false, false } };
	struct share rows[] = { { .self = 0.5 }, { .self = 0.5 } };
	struct shares s = {
		.rows = rows, .count = 2, .samples = 100, .effective = 100, .unnamed = 0.4, .incomplete = 0.3
	};
	struct profile p = { .counters = lost, .counter_count = 1, .lost = 100, .lost_known = true };
	struct trust_evidence v;

	p.samples[PROFILE_TIME] = 300;
	p.weight[PROFILE_TIME] = 3e6;
	v = trust_of_report(&p, &s);
	assert_float_equal(v.fact[TRUST_LOST], 0.25, 1e-9);
	assert_float_equal(v.fact[TRUST_UNSAMPLED], 0.25, 1e-9);
	assert_float_equal(v.fact[TRUST_UNNAMED], 0.4, 1e-9);
	assert_float_equal(v.fact[TRUST_NOISE], 0.798 * 0.05, 1e-6);
	assert_float_equal(v.fact[TRUST_WHOLE], 1, 0);
	strcpy(p.recovery, "the file is cut off");
	assert_float_equal(trust_of_report(&p, &s).fact[TRUST_WHOLE], 0, 0);
}

/* A service that others pace: hundreds of calls in two stretches of a long recording. */
TEST(bounds_from_below_are_no_figures)
{
	struct offload_item items[] = {
		{ .calls = 523, .estimate = NAN, .low = 523, .high = NAN, .observed = 0.06 },
		{ .calls = 100, .estimate = 1000, .low = 900, .high = 1100, .observed = 0.1 },
	};
	struct offload_summary s = { .has_cost = true, .items = items, .items_cnt = 2 };
	struct profile p = { 0 };
	struct trust_evidence v = trust_of_offload(&p, &s);
	struct trust t;

	assert_float_equal(v.fact[TRUST_BOUNDED], 523.0 / 623, 1e-9);
	trust_judge(TRUST_OFFLOAD, &v, &t);
	assert_int_equal(t.mark, TRUST_WEAK);
	items[0].estimate = 9000;
	v = trust_of_offload(&p, &s);
	trust_judge(TRUST_OFFLOAD, &v, &t);
	assert_int_equal(t.mark, TRUST_GOOD);
}
