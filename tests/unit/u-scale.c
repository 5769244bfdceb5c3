// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From stretches to all calls: targets of known rate are watched by the rules of budget.c (let go when
 * the hits have cost enough, away for a time drawn at random), and the intervals must hold the truth as
 * often as they say. All by fixed seeds.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "offload/scale.h"
#include "unit/unit.h"
#include "unit/xorshift.h"
#include "util/normal.h"

#define RUNS 400
#define MOST 4000

/* Time in ms of the target's own work; calls a ms. */
struct target {
	const char *name;
	double hot, quiet; /* lengths of its phases */
	double fast, slow; /* rates in them */
	bool random;       /* phases of random length */
	double drift;      /* rate at the end over that at the beginning */
};

static const struct target targets[] = {
	{ "steady", 1e9, 0, 20, 0, false, 1 },
	{ "long phases", 500, 1000, 30, 0, false, 1 },
	{ "short phases", 40, 60, 30, 1, false, 1 },
	{ "phases of the length of the gaps", 1500, 1500, 25, 0, false, 1 },
	{ "random phases", 300, 700, 30, 2, true, 1 },
	{ "ever slower", 1e9, 0, 40, 0, false, .2 },
};

struct walk {
	const struct target *t;
	double now, end, phase_end;
	bool hot;
	double calls, fraction; /* so far, all */
};

/* Lets the target work for `ms`; returns its calls. */
static double work(struct walk *w, double ms)
{
	double before = w->calls, until = fmin(w->now + ms, w->end);

	while (w->now < until) {
		double step = fmin(until, w->phase_end) - w->now;

		w->fraction += step * (w->hot ? w->t->fast : w->t->slow) * (1 + (w->t->drift - 1) * w->now / w->end);
		w->now += step;
		if (w->now >= w->phase_end) {
			double len = w->hot ? w->t->quiet : w->t->hot;

			if (len > 0)
				w->hot = !w->hot;
			else
				len = w->t->hot;
			w->phase_end = w->now + len * (w->t->random ? -log(uniform()) : 1);
		}
	}
	w->calls = floor(w->fraction);
	return w->calls - before;
}

/* As in budget.c, with looks every `look` ms; a hit costs .01 ms, a stretch may cost 3 ms. */
static size_t watch(struct walk *w, struct stretch *at, double *outside, double *end, bool drawn)
{
	const double cost = .01, look = 5, allowed = 3, budget = 1. / 300;
	double cpu = 0, gap = 0;
	size_t n = 0;

	*outside = 0;
	while (w->now < w->end && n < MOST - 1) {
		struct stretch piece = { .from = cpu, .gap = gap };
		double spent = 0, calls, paid, debt;

		for (bool first = true; spent < allowed && w->now < w->end; first = false) {
			double length = piece.to - piece.from - piece.hits_ns, expected;

			calls = work(w, look);
			expected = length > 0 ? piece.calls / length * look : 0;
			if (!first && fabs(calls - expected) > 4 * sqrt(expected + 1) + fmax(calls, expected) / 2) {
				at[n++] = piece;
				piece = (struct stretch){ .from = cpu };
			}
			cpu += look + calls * cost;
			spent += calls * cost;
			piece.to = cpu;
			piece.calls += calls;
			piece.hits_ns += calls * cost;
		}
		at[n++] = piece;
		/* while the probes are being removed */
		paid = work(w, 20) * cost;
		cpu += 20 + paid;
		*outside += paid;
		debt = spent + paid;
		gap = debt / budget;
		paid = (drawn ? -log(uniform()) : 1) * gap;
		calls = w->now;
		work(w, paid);
		cpu += w->now - calls;
		gap += 20;
		if (!drawn)
			gap = 0;
	}
	*end = cpu;
	return n;
}

struct result {
	double held, judged, bias, width;
};

static struct result cover(const struct target *t, double length, uint64_t seed, bool drawn, double claimed)
{
	static struct stretch at[MOST];
	struct result r = { 0 };

	rng = seed;
	for (int i = 0; i < RUNS; i++) {
		struct walk w = { .t = t, .end = length, .hot = true };
		double outside, end, seen = 0;
		struct scaled s;
		size_t n;

		w.phase_end = t->hot * uniform();
		n = watch(&w, at, &outside, &end, drawn);
		for (size_t k = 0; k < n; k++)
			seen += at[k].calls;
		s = scale_calls(at, n, end, outside, claimed);
		if (isnan(s.error) || !(seen > 0))
			continue;
		r.judged++;
		r.bias += seen * s.factor / w.calls;
		r.width += s.error;
		r.held += fabs(seen * s.factor - w.calls) <= s.error * seen * s.factor + 1;
	}
	r.held /= r.judged;
	r.bias /= r.judged;
	r.width /= r.judged;
	return r;
}

TEST(intervals_hold)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		for (double length = 10000; length < 200000; length *= 4) {
			struct result r = cover(&targets[i], length, 20261121 + i, true, 1);

			print_message(
				"# %-34s %4.0f s: %3.0f runs, held %.3f, mean estimate %.3f of the truth, half width %.2f\n",
				targets[i].name, length / 1000, r.judged, r.held, r.bias, r.width);
			assert_true(r.judged >= RUNS / 4);
			assert_true(r.held >= .88); /* nominally .9; other seeds gave .87 for the worst, .95 for most */
			/* a ratio of few stretches is biased, as ratios are */
			assert_true(fabs(r.bias - 1) < (length > 100000 ? .05 : length > 20000 ? .1 : .3));
		}
}

/* A steady target needs no wide interval. */
TEST(steady_is_narrow)
{
	struct result r = cover(&targets[0], 60000, 7, true, 1);

	assert_true(r.width < .05 && fabs(r.bias - 1) < .02);
}

/* The same stretches pooled, as ratio of calls and time: what this is not. */
TEST(pooling_would_not)
{
	static struct stretch at[MOST];
	double ratio = 0;

	rng = 3;
	for (int i = 0; i < 50; i++) {
		struct walk w = { .t = &targets[1], .end = 100000, .hot = true };
		double outside, end, seen = 0, inside = 0;
		size_t n;

		w.phase_end = 500 * uniform();
		n = watch(&w, at, &outside, &end, true);
		for (size_t k = 0; k < n; k++) {
			seen += at[k].calls;
			inside += at[k].to - at[k].from - at[k].hits_ns;
		}
		ratio += seen * w.end / inside / w.calls / 50;
	}
	assert_true(ratio < .5);
}

TEST(edges)
{
	struct stretch one = { 0, 10, 100, 1, 0 }, two[2] = { { 0, 10, 100, 1, 0 }, { 20, 30, 100, 1, 5 } }, bad[2];
	struct scaled s;

	s = scale_calls(NULL, 0, 100, 0, 1);
	assert_true(s.factor == 1 && s.error == 0);
	s = scale_calls(&one, 1, 10, 0, 1);
	assert_true(s.factor == 1 && s.error == 0);
	s = scale_calls(&one, 1, 20, 0, 1);
	assert_true(fabs(s.factor - 1 - 10 * (100 / 9.) / 100) < 1e-9 && isnan(s.error));
	s = scale_calls(two, 2, 30, 0, 1);
	assert_true(fabs(s.factor - 1 - 10 * (100 / 9.) / 200) < 1e-9 && isnan(s.error));
	/* the hits cost more than the time they were in */
	two[0].hits_ns = two[1].hits_ns = 20;
	s = scale_calls(two, 2, 100, 0, 1);
	assert_true(isinf(s.factor));
	/* overlapping and backward, as a damaged file has them */
	bad[0] = (struct stretch){ 50, 40, 7, 0, 0 };
	bad[1] = (struct stretch){ 45, 60, 7, 0, -3 };
	s = scale_calls(bad, 2, 10, 0, 1);
	assert_true(s.factor >= 1);
}

/* Student's t as tables have it. */
TEST(intervals_of_few)
{
	static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228 };

	assert_true(isnan(student_half(0)) && fabs(student_half(30) - 2.0423) < .0005);
	assert_true(fabs(student_half(INFINITY) - Z95) < 1e-9 && student_half(2.5) == student_half(2));
	for (int i = 0; i < 10; i++)
		assert_true(fabs(student_half(i + 1) / t[i] - 1) < .0005);
	for (size_t i = 1; i < 60; i++)
		assert_true(student_half((double)i) > student_half((double)i + 1));
}
