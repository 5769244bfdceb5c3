// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arithmetic of execution counts against planted truths: ratios whose scatter is known, random
 * programs whose counts are known, links that lie. The measure is the total variation of the groups'
 * shares of instructions; constant instructions per time is what it must never fall behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/counts.h"
#include "unit/xorshift.h"

static uint32_t pick(uint32_t below)
{
	return (uint32_t)(uniform() * below);
}

/* ---- one link ---- */

/* Windows of 96 anchor hits whose ratio changes from window to window and slowly over time. */
static void make_windows(struct counts_window *w, size_t n, double ratio, double fast, double slow)
{
	double phase = 0;

	for (size_t i = 0; i < n; i++) {
		if (i % (n / 8) == 0)
			phase = slow * normal();
		w[i].anchor = 48 + pick(48);
		w[i].child = floor(w[i].anchor * ratio * exp(fast * normal() + phase) + 0.5);
	}
}

static void test_interval(void **state)
{
	static const struct {
		double ratio, fast, slow;
	} plan[] = {
		{ 0.2, 0.5, 0 },
		{ 3, 0.3, 0 },
		{ 3, 0.2, 0.4 },
		{ 12, 0.6, 0.2 },
	};

	for (size_t p = 0; p < sizeof(plan) / sizeof(plan[0]); p++) {
		double sum = 0, square = 0, claimed = 0, poisson = 0, sd;
		unsigned trials = 400;

		for (unsigned t = 0; t < trials; t++) {
			struct counts_window w[160];
			struct counts_ratio r;

			make_windows(w, 160, plan[p].ratio, plan[p].fast, plan[p].slow);
			counts_ratio_of(w, 160, COUNTS_RATIO, &r);
			assert_int_equal(r.how, COUNTS_RATIO);
			assert_true(r.low < r.ratio && r.ratio < r.high);
			sum += log(r.ratio);
			square += log(r.ratio) * log(r.ratio);
			claimed += r.log_var - 0.01; /* without the systematic part */
			poisson += 1 / r.anchor + 1 / r.child;
		}
		sd = sqrt(square / trials - sum / trials * sum / trials);
		claimed = sqrt(claimed / trials);
		print_message("ratio %4.1f fast %.1f slow %.1f: scatter %.4f, claimed %.4f, by Poisson %.4f\n",
			      plan[p].ratio, plan[p].fast, plan[p].slow, sd, claimed, sqrt(poisson / trials));
		assert_true(claimed > 0.75 * sd && claimed < 1.5 * sd);
	}
}

static double trips_interval(const struct counts_window *w, const struct counts_range *range, size_t n)
{
	struct counts_ratio r;

	counts_trips_of(w, range, n, &r);
	assert_int_equal(r.how, COUNTS_TRIPS);
	return r.high / r.ratio;
}

/* What windows agree in they need not have in common with those that were not opened. */
static void trips_of_few_windows(void)
{
	struct counts_range narrow[40], wide[40], one[40];
	struct counts_window w[40], phases[40], uneven[40];

	for (int i = 0; i < 40; i++) {
		w[i] = (struct counts_window){ 24, 24 * 13 };
		phases[i] = (struct counts_window){ 2, i % 2 ? 20 : 40 };
		uneven[i] = (struct counts_window){ i ? 1 : 400, i ? 20 : 3200 };
		narrow[i] = (struct counts_range){ 13, 14 };
		wide[i] = (struct counts_range){ 1, 60 };
		one[i] = (struct counts_range){ i % 2 ? 10 : 20, i % 2 ? 10 : 20 };
	}
	assert_true(trips_interval(w, narrow, 3) < 1.06);
	assert_true(trips_interval(w, wide, 3) > 2);
	assert_true(trips_interval(w, wide, 11) > 1.2);
	assert_true(trips_interval(w, wide, 40) < 1.07);
	/* phases, and activations that differ within windows */
	assert_true(trips_interval(phases, one, 40) > 1.25);
	assert_true(trips_interval(phases, wide, 40) < 1.25);
	/* nearly all that is known is of one window */
	assert_true(trips_interval(uneven, wide, 14) > 1.5);
}

/* Loops that turn a different number of times: those that were met differ from all by more than chance. */
static void test_trips_vary(void **state)
{
	struct counts_window w[40];
	struct counts_ratio r;

	for (int i = 0; i < 40; i++) {
		w[i] = (struct counts_window){ 24, 0 };
		for (int k = 0; k < 24; k++)
			w[i].child += 100 * exp(0.5 * normal());
	}
	counts_ratio_of(w, 40, COUNTS_TRIPS, &r);
	assert_int_equal(r.how, COUNTS_TRIPS);
	assert_true(r.high / r.ratio > 1.07 && r.high / r.ratio < 1.3 && !r.few);
	counts_ratio_of(w, 6, COUNTS_TRIPS, &r); /* six windows may all lie in one phase */
	assert_int_equal(counts_ratio_shown(&r), COUNTS_RATIO);
	/* 13 and 14 turns by turns: that three windows agree says nothing of other phases */
	for (int i = 0; i < 3; i++)
		w[i] = (struct counts_window){ 24, 24 * 13.5 };
	counts_ratio_of(w, 3, COUNTS_TRIPS, &r);
	assert_int_equal(counts_ratio_shown(&r), COUNTS_RATIO);
	trips_of_few_windows();
	/* off by one at times: known as well as ever */
	for (int i = 0; i < 40; i++)
		w[i] = (struct counts_window){ 24, 24 * 100 + i % 2 };
	counts_ratio_of(w, 40, COUNTS_TRIPS, &r);
	assert_int_equal(r.how, COUNTS_TRIPS);
	assert_true(r.high / r.ratio < 1.03);
}

/* Hits of both in each window tell of how often; of one here and of the other there, of where time is spent. */
static void test_apart(void **state)
{
	struct counts_window together[200], apart[200], rare[200];
	struct counts_ratio a, b, c;

	for (int i = 0; i < 200; i++) {
		together[i] = (struct counts_window){ 8, 8 };
		apart[i] = i % 2 ? (struct counts_window){ 16, 0 } : (struct counts_window){ 0, 16 };
		rare[i] = (struct counts_window){ 16, i % 3 == 0 };
	}
	counts_ratio_of(together, 200, COUNTS_RATIO, &a);
	counts_ratio_of(apart, 200, COUNTS_RATIO, &b);
	counts_ratio_of(rare, 200, COUNTS_RATIO, &c);
	assert_true(a.how == COUNTS_RATIO && b.how == COUNTS_RATIO && c.how == COUNTS_RATIO);
	assert_true(fabs(a.ratio - 1) < 1e-9 && fabs(b.ratio - 1) < 1e-9);
	assert_true(sqrt(a.log_var) < 0.15);
	assert_true(sqrt(b.log_var) > 0.9);
	/* few hits of what is rare are in few windows by chance */
	assert_true(sqrt(c.log_var) < 0.3);
}

/* What a planner knows of a link by sums is what a reader believes of it by windows, less what no window removes. */
static void test_planner_and_reader_agree(void **state)
{
	static const enum counts_how hows[] = { COUNTS_RATIO, COUNTS_REPLAY, COUNTS_RATE };

	for (int i = 0; i < 300; i++) {
		enum counts_how how = hows[i % 3];
		struct counts_window w[31]; /* too few for stretches of them to tell phases */
		struct counts_sums s = { 0 };
		struct counts_ratio r;
		size_t n = (size_t)(i / 3 % 29) + 3;
		double chance, rest;

		for (size_t k = 0; k < n; k++) {
			w[k].anchor = how == COUNTS_RATE ? 1e-2 : floor(20 + 10 * fabs(normal()));
			w[k].child = floor(20 + 10 * fabs(normal()));
			counts_sums_add(&s, w[k].anchor, w[k].child);
		}
		counts_ratio_of(w, n, how, &r);
		assert_int_equal(r.how, how);
		chance = log1p(counts_chance(&s, counts_sums_scatter(&s), how, false) / (r.ratio * r.ratio));
		rest = r.log_var - chance;
		assert_true(fabs(counts_sums_ratio(&s) - r.ratio) < 1e-12 * r.ratio);
		/* .1 and .03, squared, of which RATE has what hits cost beside it */
		if (how == COUNTS_REPLAY)
			assert_true(fabs(rest - 0.03 * 0.03) < 1e-9);
		else
			assert_true(rest > 0.1 * 0.1 - 1e-9 && (how == COUNTS_RATE || rest < 0.1 * 0.1 + 1e-9));
	}
}

/* Four windows hold all of the anchor: a hundred that hold nothing of it do not make them many. */
static void test_few_among_many(void **state)
{
	struct counts_window w[104] = { { 25, 10 }, { 25, 40 }, { 25, 15 }, { 25, 35 } };
	static const enum counts_how hows[] = { COUNTS_RATIO, COUNTS_REPLAY };

	for (unsigned i = 0; i < 2; i++) {
		struct counts_ratio alone, among;

		counts_ratio_of(w, 4, hows[i], &alone);
		counts_ratio_of(w, 104, hows[i], &among);
		assert_true(alone.how == hows[i] && fabs(among.ratio - alone.ratio) < 1e-9);
		assert_true(among.log_var > 0.45 * alone.log_var);
	}
}

static void test_ratio_edges(void **state)
{
	struct counts_window w[64];
	struct counts_ratio r;

	for (int i = 0; i < 64; i++)
		w[i] = (struct counts_window){ 1, 16384 };
	counts_ratio_of(w, 2, COUNTS_TRIPS, &r); /* 2 activations: too few */
	assert_int_equal(r.how, COUNTS_UNKNOWN);
	assert_true(isnan(r.ratio) && isnan(r.low) && isinf(r.log_var));
	assert_true(r.anchor == 2);
	counts_ratio_of(w, 3, COUNTS_TRIPS, &r); /* all are the same: something, but not that all turn so */
	assert_int_equal(counts_ratio_shown(&r), COUNTS_RATIO);
	assert_true(r.ratio == 16384 && r.low < 16384 / 1.4 && r.high > 16384 * 1.4);
	counts_ratio_of(w, 10, COUNTS_TRIPS, &r);
	assert_int_equal(counts_ratio_shown(&r), COUNTS_TRIPS);
	assert_true(r.low > 16384 / 1.03 && r.high < 16384 * 1.03);
	w[1].child = 16383;
	counts_ratio_of(w, 14, COUNTS_TRIPS, &r); /* and else too few */
	assert_int_equal(r.how, COUNTS_UNKNOWN);
	w[1].child = 16384;
	counts_ratio_of(w, 64, COUNTS_TRIPS, &r);
	assert_int_equal(r.how, COUNTS_TRIPS);
	assert_true(r.ratio == 16384 && r.log_var < 0.0002);
	counts_ratio_of(w, 64, COUNTS_RATIO, &r); /* more than a window holds: hardly known */
	assert_true(r.log_var > 1);
	w[0] = (struct counts_window){ 24, 12 };
	counts_ratio_of(w, 1, COUNTS_RATIO, &r); /* one window: better than none */
	assert_int_equal(r.how, COUNTS_RATIO);
	assert_true(r.low < 0.2 && r.high > 1.2);
	w[0] = (struct counts_window){ 24, 24 * 100 };
	counts_ratio_of(w, 1, COUNTS_TRIPS, &r);
	assert_int_equal(counts_ratio_shown(&r), COUNTS_RATIO);
	for (int i = 0; i < 64; i++)
		w[i] = (struct counts_window){ 4, 48 };
	counts_ratio_of(w, 64, COUNTS_RATIO, &r); /* a window cut anywhere: off by up to a hit */
	assert_true(r.log_var > 0.01 && r.log_var < 0.02);
	for (int i = 0; i < 64; i++)
		w[i] = (struct counts_window){ 90, 0 };
	counts_ratio_of(w, 64, COUNTS_RATIO, &r); /* never seen is not never */
	assert_true(r.ratio > 0 && r.ratio < 0.001 && r.log_var > 0.5);
	w[3].child = NAN;
	counts_ratio_of(w, 64, COUNTS_RATIO, &r);
	assert_int_equal(r.how, COUNTS_UNKNOWN);
	w[3].child = -4;
	counts_ratio_of(w, 64, COUNTS_RATIO, &r);
	assert_int_equal(r.how, COUNTS_UNKNOWN);
	counts_ratio_of(NULL, 0, COUNTS_RATIO, &r);
	assert_int_equal(r.how, COUNTS_UNKNOWN);
}

/* ---- whole programs ---- */

#define NODES 160
#define GROUPS 16

struct program {
	struct counts_link link[2 * NODES + GROUPS];
	struct counts_piece part[NODES];
	struct counts_group group[GROUPS];
	double truth[GROUPS], ratio[2 * NODES + GROUPS], runs[NODES];
	struct counts_tree tree;
};

/* Functions are runs of nodes: an entry with one to three callers among earlier nodes, then loops
 * and blocks within. ipc: standard deviation of log instructions per time. */
static void make_program(struct program *p, double ipc, double samples)
{
	uint32_t group = 0, entry = 0;
	double total = 0;

	memset(p, 0, sizeof(*p));
	p->tree = (struct counts_tree){
		.nodes = NODES, .link = p->link, .part = p->part, .parts = NODES, .group = p->group, .groups = GROUPS
	};
	p->runs[0] = 1;
	for (uint32_t v = 0; v < NODES; v++) {
		bool new_function = v && v % (NODES / GROUPS) == 0;
		unsigned parents = !v ? 0 : new_function ? 1 + pick(3) : 1;

		if (new_function) {
			group++;
			entry = v;
		}
		for (unsigned k = 0; k < parents; k++) {
			uint32_t from = new_function ? pick(v) : entry + pick(v - entry);
			double ratio = exp(0.5 * normal()) * (pick(4) ? 1 : 4);

			p->link[p->tree.links] = (struct counts_link){ .parent = from, .child = v };
			p->ratio[p->tree.links++] = ratio;
			p->runs[v] += ratio * p->runs[from];
		}
		p->part[v] = (struct counts_piece){ .node = v, .group = group, .instructions = 3 + pick(12) };
		p->truth[group] += p->part[v].instructions * p->runs[v];
	}
	for (uint32_t g = 0; g < GROUPS; g++) {
		p->group[g].time = p->truth[g] * exp(ipc * normal());
		total += p->group[g].time;
	}
	for (uint32_t g = 0; g < GROUPS; g++) {
		double mean = p->group[g].time / total * samples;

		p->group[g].samples = (uint64_t)fmax(0, floor(mean + sqrt(mean) * normal() + 0.5));
		p->group[g].time = (double)p->group[g].samples;
	}
}

static struct counts_ratio measured(double ratio, double sd)
{
	struct counts_ratio r = { .how = COUNTS_RATIO,
				  .ratio = ratio,
				  .log_var = sd * sd,
				  .anchor = 1000,
				  .child = 1000 * ratio,
				  .windows = 100 };

	return r;
}

static double variation(const struct program *p, int which)
{
	double sum = 0, truth = 0, tv = 0;

	for (uint32_t g = 0; g < GROUPS; g++) {
		const struct counts_group *k = &p->group[g];
		double v = which == 0 ? k->instructions : which == 1 ? k->by_ratios : k->time;

		sum += isnan(v) ? 0 : v;
		truth += p->truth[g];
	}
	for (uint32_t g = 0; g < GROUPS; g++) {
		const struct counts_group *k = &p->group[g];
		double v = which == 0 ? k->instructions : which == 1 ? k->by_ratios : k->time;

		tv += fabs((isnan(v) ? 0 : v) / sum - p->truth[g] / truth) / 2;
	}
	return tv;
}

struct outcome {
	double combined, ratios, constant;
	unsigned worse, trials, broken;
};

static void tell(const char *name, const struct outcome *o)
{
	print_message("%-34s TV combined %.3f, by ratios %.3f, constant IPC %.3f; worse than that by > .02 in %u of "
		      "%u; %u called broken\n",
		      name, o->combined / o->trials, o->ratios / o->trials, o->constant / o->trials, o->worse,
		      o->trials, o->broken);
}

/* lies: links whose ratio is off by e^+-size while claiming `sd`; unknown: links never measured. */
static struct outcome run(double ipc, double sd, unsigned lies, double size, unsigned unknown)
{
	static struct program p;
	struct outcome o = { .trials = 150 };

	for (unsigned t = 0; t < o.trials; t++) {
		double all;

		make_program(&p, ipc, 5000);
		for (size_t l = 0; l < p.tree.links; l++)
			p.link[l].ratio = measured(p.ratio[l] * exp(sd * normal()), sd);
		for (unsigned k = 0; k < lies; k++)
			p.link[pick((uint32_t)p.tree.links)].ratio.ratio *= exp(pick(2) ? size : -size);
		for (unsigned k = 0; k < unknown; k++)
			p.link[pick((uint32_t)p.tree.links)].ratio = counts_ratio_unknown();
		assert_int_equal(counts_solve(&p.tree), 0);
		o.combined += variation(&p, 0);
		o.ratios += variation(&p, 1);
		o.constant += variation(&p, 2);
		o.worse += variation(&p, 0) > variation(&p, 2) + 0.02;
		o.broken += p.tree.broken;
		all = 0;
		for (uint32_t g = 0; g < GROUPS; g++) {
			assert_true(!(p.group[g].instructions < 0));
			assert_true(p.group[g].trust >= 0 && p.group[g].trust <= 1);
			if (p.group[g].samples)
				all += p.group[g].instructions;
		}
		assert_true(isfinite(all));
	}
	return o;
}

/* Of functions with samples, the part that intervals hold where links are so many times as far off as they claim. */
static double held(double times)
{
	static struct program p;
	unsigned inside = 0, all = 0;

	for (unsigned t = 0; t < 100; t++) {
		double sum = 0, truth = 0;

		make_program(&p, 0.5, 5000);
		for (size_t l = 0; l < p.tree.links; l++)
			p.link[l].ratio = measured(p.ratio[l] * exp(times * 0.1 * normal()), 0.1);
		assert_int_equal(counts_solve(&p.tree), 0);
		for (uint32_t g = 0; g < GROUPS; g++) {
			sum += isnan(p.group[g].instructions) ? 0 : p.group[g].instructions;
			truth += p.truth[g];
		}
		for (uint32_t g = 0; g < GROUPS; g++) {
			double share = p.truth[g] / truth * sum;

			if (!p.group[g].samples)
				continue;
			all++;
			inside += p.group[g].low <= share && share <= p.group[g].high;
		}
	}
	return (double)inside / all;
}

/* On real programs all errors are 1.75 times what they claim to be, and no interval knows by itself. */
static void test_intervals_hold(void **state)
{
	double claimed = held(1), real = held(1.75), worse = held(6);

	print_message("intervals hold %.3f as links claim, %.3f as they are, %.3f if far worse\n", claimed, real,
		      worse);
	assert_true(real > 0.9 && claimed >= real);
	assert_true(worse < 0.9); /* nor are they so wide that they hold whatever it is */
}

/* Functions are called from below as well, so that calls from outside are one in `inner` of all: that is found from
 * time, and must not upset what is known beside it. */
static struct outcome run_recursive(double inner)
{
	static struct program p;
	struct outcome o = { .trials = 150 };

	for (unsigned t = 0; t < o.trials; t++) {
		uint32_t first = NODES / 2, span = NODES / GROUPS;

		make_program(&p, 0.5, 5000);
		for (size_t l = 0; l < p.tree.links; l++) {
			uint32_t to = p.link[l].child, from = p.link[l].parent;

			p.link[l].ratio = measured(p.ratio[l] * exp(0.05 * normal()), 0.05);
			if (to == first && from < first)
				p.link[l].ratio.ratio /= inner;
		}
		p.link[p.tree.links++] = (struct counts_link){ .parent = first + span - 1,
							       .child = first,
							       .ratio = counts_ratio_unknown() };
		assert_int_equal(counts_solve(&p.tree), 0);
		for (uint32_t g = 0; g < GROUPS; g++)
			assert_true(isfinite(p.group[g].instructions));
		o.combined += variation(&p, 0);
		o.ratios += variation(&p, 1);
		o.constant += variation(&p, 2);
		o.worse += variation(&p, 0) > variation(&p, 2) + 0.02;
		o.broken += p.tree.broken;
	}
	return o;
}

static void test_recursion(void **state)
{
	static const double inner[] = { 1, 1000, 0.001 };

	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		struct outcome o = run_recursive(inner[i]);

		tell("recursion of unknown depth", &o);
		assert_true(o.combined < 0.6 * o.constant);
		assert_true(o.worse <= o.trials / 20);
	}
}

/* Error bars that are right. */
static void test_good_links(void **state)
{
	struct outcome o = run(0.5, 0.03, 0, 0, 0);

	tell("good links", &o);
	assert_true(o.combined < 0.25 * o.constant);
	assert_true(o.worse <= o.trials / 20);
	o = run(0.5, 0.15, 0, 0, 0);
	tell("links of 15 %", &o);
	assert_true(o.combined < 0.75 * o.constant && o.combined < 1.1 * o.ratios);
	assert_true(o.worse <= o.trials / 20);
	/* counts that are worse than time: time wins, as far as it can be known */
	o = run(0.15, 1.0, 0, 0, 0);
	tell("useless links, even IPC", &o);
	assert_true(o.combined < o.constant + 0.02 * o.trials && o.combined < 0.3 * o.ratios);
	o = run(0.5, 0.05, 0, 0, 30);
	tell("30 links never measured", &o);
	assert_true(o.combined < o.constant);
	assert_true(o.worse <= o.trials / 10);
	o = run(0.5, 0.05, 0, 0, 3000);
	tell("nothing measured", &o);
	assert_true(fabs(o.combined - o.constant) < 0.02 * o.trials);
	assert_true(o.worse <= o.trials / 20);
}

/* Links that are wrong and claim not to be. Where a function's only sign of it is that its own share
 * is off by a factor that instructions per cycle reach, too, nothing can tell: so these limits are
 * on the whole, and far from "never". */
static void test_bad_links(void **state)
{
	struct outcome o = run(0.5, 0.03, 3, 3.0, 0);

	tell("3 links off by 20, claiming 3 %", &o);
	assert_true(o.combined < 0.85 * o.constant && o.combined < 0.7 * o.ratios);
	assert_true(o.worse <= o.trials / 4);
	assert_true(o.broken > o.trials / 4);
	o = run(0.3, 0.1, 8, 2.0, 0);
	tell("8 links off by 7, claiming 10 %", &o);
	assert_true(o.combined < 0.65 * o.ratios);
}

/* main -> a, b; the link to b is measured 100 times too high, everything else right. */
static void test_shapes(void **state)
{
	struct counts_link link[5] = {
		{ .parent = 0, .child = 1, .ratio = measured(10, 0.02) },
		{ .parent = 0, .child = 2, .ratio = measured(5, 0.02) },
		{ .parent = 2, .child = 3, .ratio = measured(3, 0.02) },
	};
	struct counts_piece part[5] = { { 0, 0, 10 }, { 1, 1, 10 }, { 2, 2, 10 }, { 3, 3, 10 }, { 4, 4, 7 } };
	struct counts_group group[6] = {
		{ .time = 100, .samples = 100 },   { .time = 1000, .samples = 1000 }, { .time = 500, .samples = 500 },
		{ .time = 1500, .samples = 1500 }, { .time = 50, .samples = 50 },     { .time = 80, .samples = 80 },
	};
	double runs[5];
	struct counts_tree t = { .nodes = 5,
				 .link = link,
				 .links = 3,
				 .part = part,
				 .parts = 5,
				 .group = group,
				 .groups = 6,
				 .runs = runs };

	assert_int_equal(counts_solve(&t), 0);
	assert_int_equal(t.broken, 0);
	assert_true(fabs(group[1].instructions / group[0].instructions - 10) < 0.2);
	assert_true(fabs(runs[3] / runs[2] - 3) < 0.1);
	assert_true(group[1].trust > 0.6);
	/* no counts at all: its time, at everybody's rate; and so is what hangs on nothing */
	assert_true(isnan(group[5].by_ratios) && group[5].trust == 0);
	assert_true(fabs(group[5].instructions / group[0].instructions - 0.8) < 0.1);
	assert_true(fabs(group[4].instructions / group[0].instructions - 0.5) < 0.1);
	assert_true(group[4].trust < 0.1);
	assert_true(group[4].low < group[4].instructions && group[4].high > group[4].instructions);

	link[1].ratio.ratio = 500;
	link[1].ratio.child = 500;
	assert_int_equal(counts_solve(&t), 0);
	assert_int_equal(t.broken, 1);
	assert_true(link[1].broken && !link[0].broken && !link[2].broken);
	assert_true(link[1].correction < 0.03);
	/* below it, what was well measured stays */
	assert_true(fabs(group[3].instructions / group[2].instructions - 3) < 0.1);
	assert_true(group[2].instructions / group[0].instructions < 12);

	/* recursion without an own measurement: the cycle is cut and said */
	link[3] = (struct counts_link){ .parent = 3, .child = 2, .ratio = measured(0.9, 0.1) };
	t.links = 4;
	link[1].ratio = measured(5, 0.02);
	assert_int_equal(counts_solve(&t), 0);
	assert_int_equal(t.cycles, 1);
	assert_true(link[3].cycle);
	assert_true(isfinite(group[3].instructions));
	link[3].parent = 2; /* and a self-call */
	assert_int_equal(counts_solve(&t), 0);
	assert_int_equal(t.cycles, 1);

	/* neither time nor counts */
	group[5].time = 0;
	group[5].samples = 0;
	assert_int_equal(counts_solve(&t), 0);
	assert_true(isnan(group[5].instructions) && isnan(group[5].by_time));
	/* counts without a single sample: the counts */
	group[3].time = 0;
	group[3].samples = 0;
	t.links = 3;
	assert_int_equal(counts_solve(&t), 0);
	assert_true(fabs(group[3].instructions / group[2].instructions - 3) < 0.1);
}

/* Functions of ten instructions, one part and one group each; their links and their time are the caller's. */
struct dozen {
	struct counts_link link[12];
	struct counts_piece part[12];
	struct counts_group group[12];
	uint32_t count;
};

static double share_of(struct dozen *d, uint32_t i)
{
	struct counts_tree t = { .nodes = d->count + 1,
				 .link = d->link,
				 .links = d->count,
				 .part = d->part,
				 .parts = d->count,
				 .group = d->group,
				 .groups = d->count,
				 .sample = 1 };
	double all = 0;

	for (uint32_t k = 0; k < d->count; k++)
		d->part[k] = (struct counts_piece){ .node = k + 1, .group = k, .instructions = 10 };
	assert_int_equal(counts_solve(&t), 0);
	for (uint32_t k = 0; k < d->count; k++)
		all += d->group[k].instructions;
	return d->group[i].instructions / all;
}

/* Guesses of a function's scale that are all but worthless, one of them off by thousands: it has its time then. */
static void test_wild_claims(void **state)
{
	struct dozen d = { .count = 6 };
	double share;

	for (uint32_t i = 0; i < d.count; i++) {
		d.link[i] =
			(struct counts_link){ .child = i + 1,
					      .ratio = { .how = COUNTS_TIME, .ratio = i ? 1 : 20000, .log_var = 4 } };
		d.group[i] = (struct counts_group){ .time = 100, .samples = 100 };
	}
	share = share_of(&d, 0);
	print_message("one that claims 20000 times as much: share %.3f for a share of time of %.3f, trust %.2f\n",
		      share, 1.0 / d.count, d.group[0].trust);
	assert_true(d.group[0].trust < 0.3);
	assert_true(share < 1.5 / d.count);
	assert_true(d.group[0].low < d.group[0].instructions && d.group[0].instructions < d.group[0].high);
}

/* Eleven of a dozen functions have a thousand samples each, and run as often as links say. The twelfth runs a hundred
 * times as often, a link says; share: its share of all instructions. */
static double share_of_claim(uint64_t samples)
{
	struct dozen d = { .count = 12 };

	for (uint32_t i = 0; i < d.count; i++) {
		bool last = i == d.count - 1;

		d.link[i] = (struct counts_link){ .parent = i > 0,
						  .child = i + 1,
						  .ratio = measured(last ? 100 : 1, sqrt(0.3)) };
		d.group[i] = (struct counts_group){ .time = last ? (double)samples : 1000,
						    .samples = last ? samples : 1000 };
	}
	return share_of(&d, d.count - 1);
}

/* All of a dozen run as often, by trip counts; half of them take eight times as long, and the last one seven times
 * less. */
static double share_of_quick(uint64_t samples)
{
	struct dozen d = { .count = 12 };

	for (uint32_t i = 0; i < d.count; i++) {
		uint64_t k = i == d.count - 1 ? samples : i % 2 ? 1000 : 8000;

		d.link[i] = (struct counts_link){ .parent = i > 0, .child = i + 1, .ratio = measured(1, 0.01) };
		d.link[i].ratio.how = COUNTS_TRIPS;
		d.group[i] = (struct counts_group){ .time = (double)k, .samples = k };
	}
	return share_of(&d, d.count - 1);
}

static void test_few_samples(void **state)
{
	double quick = share_of_quick(140);

	print_message("a link claims 90 %%: with no sample %.4f, with two %.4f\n", share_of_claim(0),
		      share_of_claim(2));
	assert_true(share_of_claim(0) < 0.005);
	assert_true(share_of_claim(2) < 0.03);
	print_message("a twelfth of all in 0.3 %% of the time: with 140 samples %.4f\n", quick);
	assert_true(quick > 0.07);
}

/* Six functions below one link take two fifths of the time that the other five do for as many instructions; whether
 * the link is called broken for that. */
static bool is_broken(enum counts_how how)
{
	struct dozen d = { .count = 12 };

	for (uint32_t i = 0; i < d.count; i++) {
		bool below = i && i < 7;

		d.link[i] = (struct counts_link){ .parent = !i                 ? 0
							    : i == 1 || !below ? 1
									       : 2,
						  .child = i + 1,
						  .ratio = i == 1 ? measured(1, 0.033) : counts_ratio_once() };
		d.group[i] = (struct counts_group){ .time = below ? 400 : 1000, .samples = below ? 400 : 1000 };
	}
	d.link[1].ratio.how = how;
	share_of(&d, 1);
	return d.link[1].broken;
}

/* What bursts know well is seldom wrong: that functions differ is likelier. */
static void test_sure_replay(void **state)
{
	assert_true(is_broken(COUNTS_RATIO));
	assert_false(is_broken(COUNTS_REPLAY));
}

/* Two places of a function that are each measured by the other: the trip count stays, and what hardly any burst saw
 * goes. */
static void test_around(void **state)
{
	struct counts_link link[] = {
		{ .parent = 1,
		  .child = 2,
		  .ratio = { .how = COUNTS_REPLAY, .ratio = 0.0005, .log_var = 1.1, .low = 0.0001, .high = 0.003 } },
		{ .parent = 2, .child = 1, .ratio = measured(1024, 0.01) },
		{ .parent = 0, .child = 2, .ratio = measured(600, 0.1) },
	};
	struct counts_piece part[] = { { .node = 1, .group = 0, .instructions = 10 },
				       { .node = 2, .group = 0, .instructions = 5 } };
	struct counts_group group[] = { { .time = 100, .samples = 100 } };
	double runs[3];
	struct counts_tree t = { .nodes = 3,
				 .link = link,
				 .links = 3,
				 .part = part,
				 .parts = 2,
				 .group = group,
				 .groups = 1,
				 .sample = 1,
				 .absolute = true,
				 .runs = runs };

	link[1].ratio.how = COUNTS_TRIPS;
	link[2].ratio.how = COUNTS_RATE;
	assert_int_equal(counts_solve(&t), 0);
	assert_int_equal(t.cycles, 1);
	assert_true(link[0].cycle && !link[1].cycle);
	assert_true(fabs(runs[1] / runs[2] / 1024 - 1) < 0.05);
	assert_true(fabs(log(runs[2] / 600)) < 0.4);
	/* a recursion is cut where it is closed, whatever is known of it */
	link[0].call = true;
	assert_int_equal(counts_solve(&t), 0);
	assert_true(t.cycles == 1 && link[1].cycle);
}

static void test_refusals(void **state)
{
	struct counts_link link = { .parent = 0, .child = 7, .ratio = counts_ratio_once() };
	struct counts_piece part = { 0, 3, 1 };
	struct counts_group group = { .time = -1 };
	struct counts_tree t = { .nodes = 2, .link = &link, .links = 1 }, none = { 0 };

	assert_int_equal(counts_solve(&t), -EINVAL);
	link.child = 1;
	t.part = &part;
	t.parts = 1;
	assert_int_equal(counts_solve(&t), -EINVAL);
	t.parts = 0;
	t.group = &group;
	t.groups = 1;
	assert_int_equal(counts_solve(&t), -EINVAL);
	assert_int_equal(counts_solve(&none), 0);
	link.ratio.ratio = -1;
	t.groups = 0;
	assert_int_equal(counts_solve(&t), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval),    cmocka_unit_test(test_trips_vary),
		cmocka_unit_test(test_ratio_edges), cmocka_unit_test(test_few_among_many),
		cmocka_unit_test(test_shapes),      cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_wild_claims),
		cmocka_unit_test(test_few_samples), cmocka_unit_test(test_sure_replay),
		cmocka_unit_test(test_around),      cmocka_unit_test(test_apart),
		cmocka_unit_test(test_good_links),  cmocka_unit_test(test_intervals_hold),
		cmocka_unit_test(test_bad_links),   cmocka_unit_test(test_planner_and_reader_agree),
	};

	/* a list, as each goes on with the random numbers of the one before it */
	rng = 0x2545f4914f6cdd1dull;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
