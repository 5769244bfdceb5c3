// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Differences between recordings of a program whose writers come in spells: reads are not drawn one by one, so that
 * recordings differ by more than resampling single reads says. No change is called real but a planted one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow/diff.h"
#include "flow/estimators.h"
#include "flow/halves.h"
#include "unit/sized.h"
#include "unit/unit.h"
#include "util/random.h"

#define WRITERS 8u
#define SPELLS 320u   /* twenty a block of time */
#define READS 5u      /* of a spell: one writer's */
#define SINGLE 40000u /* spells of one read, where small changes are looked for */

static const double usual[WRITERS] = { .30, .20, .15, .10, .10, .05, .05, .05 };
static const double doubled[WRITERS] = { .225, .40, .1125, .075, .075, .0375, .0375, .0375 };

/* What diff is asked to find: an edge of 3 % that grows by a fifth. */
static const double three[WRITERS] = { .30, .20, .15, .10, .10, .07, .05, .03 };
static const double fifth_more[WRITERS] = { .30, .20, .15, .10, .10, .07, .044, .036 };

static void access(struct flow_input *in, uint32_t writer, uint64_t addr, bool load)
{
	uint32_t site = load ? WRITERS : writer;

	in->access[in->access_count] = (struct in_access){ .time = 1000 * (in->access_count + 1),
							   .addr = addr,
							   .weight = 1,
							   .site = site,
							   .func = in->sites[site].func,
							   .tid = 1,
							   .pid = 1,
							   .size = 4,
							   .flags = load ? FMT_A_LOAD : FMT_A_STORE };
	in->access_count++;
}

/* A recording: each spell's writer is drawn with these chances. */
static void record_spells(struct flow_input *in, const double *chance, uint64_t seed, uint32_t spells, uint32_t reads)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull | 1;

	*in = (struct flow_input){ .engine = FLOW_PMU, .duration_ns = 1e9, .lost = 0 };
	in->outside = in_func_add(in, FLOW_OUTSIDE, "");
	in->before = in_func_add(in, FLOW_BEFORE, "");
	in->unknown = in_func_add(in, FLOW_UNKNOWN, "");
	in->sites = calloc(WRITERS + 1, sizeof(*in->sites));
	in->site_count = WRITERS + 1;
	for (uint32_t i = 0; i <= WRITERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), i < WRITERS ? "writer %u" : "reader", i);
		in->sites[i] = (struct in_site){ .ip = 0x1000 + 16 * i, .func = in_func_add(in, name, "app") };
	}
	in->times = calloc(in->func_count + 1, sizeof(*in->times));
	in->access = calloc(2 * (size_t)spells * reads, sizeof(*in->access));
	for (uint32_t i = 0; i < 64; i++)
		random_next(&state);
	for (uint32_t s = 0; s < spells; s++) {
		double at = random_unit(&state);
		uint32_t writer = 0;

		while (writer + 1 < WRITERS && at >= chance[writer])
			at -= chance[writer++];
		for (uint32_t i = 0; i < reads; i++) {
			uint64_t addr = 0x100000 + 64 * (uint64_t)(s * reads + i);

			access(in, writer, addr, false);
			access(in, writer, addr, true);
		}
	}
}

static void record(struct flow_input *in, const double *chance, uint64_t seed)
{
	record_spells(in, chance, seed, SPELLS, READS);
}

static void estimate(const struct flow_input *in, bool halves, struct flow *f)
{
	struct est_opts o = EST_OPTS_DEFAULT;
	struct err e = { 0 };

	o.bootstraps = halves ? 0 : o.bootstraps;
	assert_int_equal(flow_estimate(in, "fused", &o, f, &e), 0);
	if (halves)
		assert_int_equal(flow_halves(in, "fused", &o, f, &e), 0);
}

struct verdicts {
	unsigned edges, real, pairs_with; /* pairs that have any */
	double tv, tv_noise;
	bool second;              /* writer 1's edge is real */
	unsigned intervals, hold; /* of shares before, now, and their change; that hold the chances drawn by */
};

static void see_whether_it_holds(struct verdicts *v, struct diff_interval of, double truth)
{
	v->intervals++;
	v->hold += of.low <= truth && truth <= of.high;
}

static void compare(const double *one, const double *other, uint64_t seed, bool halves, struct verdicts *v)
{
	struct flow_input in[2];
	struct flow f[2];
	struct flow_diff d;
	struct err e = { 0 };
	unsigned real = 0;

	record(&in[0], one, 2 * seed + 1);
	record(&in[1], other, 2 * seed + 2);
	estimate(&in[0], halves, &f[0]);
	estimate(&in[1], halves, &f[1]);
	assert_int_equal(flow_diff(&f[0], &f[1], &in[0], &in[1], &d, &e), 0);
	v->second = false;
	for (size_t i = 0; i < d.edge_count; i++) {
		real += d.edges[i].q <= 0.05;
		v->second |= d.edges[i].q <= 0.05 && !strcmp(d.edges[i].a, "writer 1");
		if (strncmp(d.edges[i].a, "writer ", 7) != 0)
			continue;
		see_whether_it_holds(v, d.edges[i].of_base, one[d.edges[i].a[7] - '0']);
		see_whether_it_holds(v, d.edges[i].of_other, other[d.edges[i].a[7] - '0']);
		see_whether_it_holds(v, d.edges[i].of_change,
				     other[d.edges[i].a[7] - '0'] - one[d.edges[i].a[7] - '0']);
	}
	v->tv += d.tv;
	v->tv_noise += d.tv_noise;
	v->edges += (unsigned)d.edge_count;
	v->real += real;
	v->pairs_with += real > 0;
	flow_diff_release(&d);
	for (int i = 0; i < 2; i++) {
		flow_release(&f[i]);
		flow_input_release(&in[i]);
	}
}

#define SEEDS SIZED(40, 8)

TEST(what_did_not_change_is_noise)
{
	struct verdicts halves = { 0 }, reads = { 0 };

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		compare(usual, usual, seed, true, &halves);
		if (seed < SEEDS / 4)
			compare(usual, usual, seed, false, &reads);
	}
	print_message("false: %u of %u edges in %u of %u pairs; by resampling reads: %u of %u\n", halves.real,
		      halves.edges, halves.pairs_with, SEEDS, reads.real, reads.edges);
	print_message("intervals that hold: %u of %u; by resampling reads: %u of %u\n", halves.hold, halves.intervals,
		      reads.hold, reads.intervals);
	assert_true(100 * halves.hold >= 92 * halves.intervals);
	assert_true(100 * reads.hold < 92 * reads.intervals);
	/* by chance alone, as there is no change */
	print_message("total variation: %.3f, by its noise %.3f\n", halves.tv / SEEDS, halves.tv_noise / SEEDS);
	assert_true(halves.tv > .8 * halves.tv_noise && halves.tv < 1.2 * halves.tv_noise);
	assert_true(halves.edges > SEEDS * WRITERS / 2);
	assert_true(20 * halves.real <= halves.edges);
	/* the spells are what the test is about */
	assert_true(20 * reads.real > 3 * reads.edges);
}

TEST(what_doubled_is_real)
{
	unsigned found = 0;

	for (uint64_t seed = 100; seed < 110; seed++) {
		struct verdicts v = { 0 };

		compare(usual, doubled, seed, true, &v);
		found += v.second;
	}
	print_message("found: %u of 10\n", found);
	assert_true(found >= 9);
}

/* Edges whose change is called real, as bits by writer. */
static unsigned changed(const double *one, const double *other, uint64_t seed)
{
	struct flow_input in[2];
	struct flow f[2];
	struct flow_diff d;
	struct err e = { 0 };
	unsigned real = 0;

	record_spells(&in[0], one, 2 * seed + 1, SINGLE, 1);
	record_spells(&in[1], other, 2 * seed + 2, SINGLE, 1);
	estimate(&in[0], true, &f[0]);
	estimate(&in[1], true, &f[1]);
	assert_int_equal(flow_diff(&f[0], &f[1], &in[0], &in[1], &d, &e), 0);
	for (size_t i = 0; i < d.edge_count; i++)
		real |= d.edges[i].q <= 0.05 && !strncmp(d.edges[i].a, "writer ", 7) ? 1u << (d.edges[i].a[7] - '0')
										     : 0;
	flow_diff_release(&d);
	for (int i = 0; i < 2; i++) {
		flow_release(&f[i]);
		flow_input_release(&in[i]);
	}
	return real;
}

TEST(a_fifth_more_of_three_percent_is_found)
{
	unsigned found = 0, wrong = 0, of = SIZED(2, 1), quiet = of == 1;

	for (uint64_t seed = 300; seed < 300 + of; seed++) {
		unsigned real = changed(three, fifth_more, seed);

		found += real >> 7 & 1;
		wrong += (real & 0x3f) != 0;
	}
	if (!quiet)
		quiet = !changed(three, three, 1300);
	print_message("found: %u of %u, beside others in %u; nothing where nothing changed: %u of 1\n", found, of,
		      wrong, quiet);
	assert_true(found == of && !wrong && quiet);
}

/* Of the longer of two recordings diff compares as much as the shorter has: that is a shorter recording's flow. */
TEST(first_part_is_a_shorter_recording)
{
	struct flow_input brief, whole, part;
	struct flow f[3];

	record_spells(&brief, usual, 7, SPELLS, READS);
	record_spells(&whole, usual, 7, 4 * SPELLS, READS);
	assert_true(flow_seen_ns(&whole) > 3.9 * flow_seen_ns(&brief));
	assert_int_equal(flow_first_part(&whole, flow_seen_ns(&brief), &part), 0);
	assert_int_equal(part.access_count, brief.access_count);
	estimate(&brief, true, &f[0]);
	estimate(&part, true, &f[1]);
	estimate(&whole, true, &f[2]);
	assert_true(f[0].edge_count && f[0].edge_count == f[1].edge_count);
	for (size_t i = 0; i < f[0].edge_count; i++)
		assert_true(f[0].edges[i].bytes == f[1].edges[i].bytes && f[0].edges[i].sd == f[1].edges[i].sd);
	assert_true(flow_total(&f[2]) > 3 * flow_total(&f[1]));
	flow_part_release(&part);
	for (int i = 0; i < 3; i++)
		flow_release(&f[i]);
	flow_input_release(&brief);
	flow_input_release(&whole);
}

TEST(errors_are_those_of_spells)
{
	double sum = 0;

	/* binomial, of 320 spells, not of 3200 reads */
	for (uint64_t seed = 200; seed < 220; seed++) {
		struct flow_input in;
		struct flow f;

		record(&in, usual, seed);
		estimate(&in, true, &f);
		for (size_t i = 0; i < f.edge_count; i++)
			if (!strcmp(f.funcs[f.edges[i].producer].name, "writer 0"))
				sum += pow(f.edges[i].sd / flow_total(&f), 2) / 20;
		assert_true(f.sd_freedom == 7);
		flow_release(&f);
		flow_input_release(&in);
	}
	assert_true(sum > 0.7 * .3 * .7 / SPELLS && sum < 1.4 * .3 * .7 / SPELLS);
}

TEST(one_side_of_a_recording_without_reads_tells_nothing)
{
	struct flow_input in;
	struct flow f;

	record(&in, usual, 1);
	in.access_count = 2; /* one store, one load: one half has neither */
	estimate(&in, true, &f);
	assert_int_equal(f.edge_count, 1);
	assert_true(isnan(f.edges[0].sd));
	flow_release(&f);
	flow_input_release(&in);
}
