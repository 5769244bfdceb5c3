// SPDX-License-Identifier: GPL-2.0-or-later
/* Stretches of observed system calls in a simulated target: what they cost, and what they stand for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/syscall_stretch.h"
#include "unit/unit.h"
#include "unit/xorshift.h"

struct world {
	double calls, others; /* per second */
	double call_ns, other_ns;
	double delay;   /* ns, until we are scheduled and have detached */
	double on, off; /* ns that the calls come, and do not, on average, by turns; 0: they always do */
};

struct outcome {
	double cost, lost_by_others; /* share of one CPU */
	double told;                 /* calls that the records stand for, per real call */
	unsigned stretches;
};

struct simulation {
	const struct world *w;
	double *turn; /* when calls begin, end, begin... */
	unsigned turns;
};

static void turns_new(struct simulation *m, const struct world *w, double from, double to)
{
	unsigned cap = 1000000;
	double t = from;

	m->w = w;
	m->turn = malloc(cap * sizeof(*m->turn));
	m->turns = 0;
	while (t < to && m->turns + 2 <= cap) {
		m->turn[m->turns++] = t;
		t = w->off > 0 ? t - log(uniform()) * w->on : to;
		m->turn[m->turns++] = t;
		t = w->off > 0 ? t - log(uniform()) * w->off : to;
	}
}

static double calls_in(const struct simulation *m, double from, double to)
{
	double sum = 0;

	for (unsigned i = 0; i < m->turns; i += 2) {
		double a = fmax(from, m->turn[i]), b = fmin(to, m->turn[i + 1]);

		sum += b > a ? (b - a) / 1e9 * m->w->calls : 0;
	}
	return sum;
}

/* When so many calls have come since then. */
static double after_calls(const struct simulation *m, double from, double calls)
{
	for (unsigned i = 0; i < m->turns; i += 2) {
		double a = fmax(from, m->turn[i]), n = (m->turn[i + 1] - a) / 1e9 * m->w->calls;

		if (!(n > 0))
			continue;
		if (n >= calls)
			return a + calls / m->w->calls * 1e9;
		calls -= n;
	}
	return INFINITY;
}

/* Twenty seconds, polled every 40 ms as the session does, or when a stretch is over. */
static struct outcome simulate(const struct world *w, double rate, unsigned cpus, double budget)
{
	const double seconds = 20, start = 1e9, end = start + seconds * 1e9;
	struct simulation m = { 0 };
	struct syscall_stretch p;
	struct outcome o = { 0 };
	double now = start, balance = 0, claimed = 0;

	turns_new(&m, w, start, end + 10e9);
	stretch_init(&p, budget, cpus);
	while (now < end) {
		double until = (double)stretch_begin(&p, (uint64_t)now, rate), began = now, cost, others;
		double cut = after_calls(&m, began, stretch_limit(rate) / w->call_ns), over = cut < until ? cut : 0;
		double seen;
		bool go_on;

		now = (over > 0 ? over : until) + w->delay;
		assert_true(stretch_due(&p, (uint64_t)now, (uint64_t)over));
		others = (now - began) / 1e9 * w->others * w->other_ns;
		/* what is not reported costs something, too; here as much */
		cost = calls_in(&m, began, now) * w->call_ns;
		seen = calls_in(&m, began, over > 0 ? over : now);
		go_on = stretch_end(&p, (uint64_t)now, (uint64_t)over, cost, rate, others, uniform());
		o.cost += cost;
		o.lost_by_others += others;
		o.stretches++;
		balance -= cost;
		o.told += seen * p.factor;
		claimed += (double)p.observed * p.factor;
		while (!go_on && (now < (double)p.next || balance + (now - start) * rate < stretch_needs(rate)) &&
		       now < end)
			now += 20e6;
	}
	o.cost /= now - start;
	o.lost_by_others /= now - start;
	o.told *= (now - start) / claimed / calls_in(&m, start, now);
	free(m.turn);
	return o;
}

TEST(budgets_hold)
{
	static const double calls[] = { 100, 5e3, 2e5, 4e6 }, others[] = { 0, 1e4, 5e6 }, delays[] = { 2e5, 5e6, 3e7 };
	const double rate = 0.001, budget = 0.01;

	for (int c = 0; c < 4; c++)
		for (int k = 0; k < 3; k++)
			for (int d = 0; d < 3; d++) {
				struct world w = { calls[c], others[k], 450, 150, delays[d], 0, 0 };
				struct outcome o = simulate(&w, rate, 2, budget);

				/* debt of one stretch and of its delay at the end, over twenty seconds */
				assert_true(o.cost <= rate + (stretch_limit(rate) +
							      w.calls * w.call_ns / 1e9 * (w.delay + 40e6)) /
								      20e9 * 1.01);
				/* the first look lasts a poll */
				assert_true(o.lost_by_others <=
					    2 * budget * 1.2 + w.others * w.other_ns / 1e9 * 0.1 / 20);
				/* the calls come evenly, so that what is told is exact but for the ends */
				assert_true(fabs(o.told - 1) < 0.05);
			}
}

TEST(few_calls_are_seen_all)
{
	struct world w = { 500, 2000, 450, 150, 2e5, 0, 0 };
	struct outcome o = simulate(&w, 0.001, 2, 0.01);

	assert_true(fabs(o.told - 1) < 1e-6);
	assert_in_range(o.stretches, 20, 40); /* without a pause between them */
}

TEST(others_are_spared)
{
	struct world quiet = { 500, 2000, 450, 150, 2e5, 0, 0 }, busy = { 500, 5e6, 450, 150, 2e5, 0, 0 };
	struct outcome a = simulate(&quiet, 0.001, 2, 0.01), b = simulate(&busy, 0.001, 2, 0.01);

	/* all the time it would be 75 % of a CPU */
	assert_true(a.lost_by_others < 0.001);
	assert_true(b.lost_by_others > 0.002 && b.lost_by_others < 0.03);
}

/* A target that shares its CPU runs by turns: over many recordings what is told is what there was. Stretches
 * that ended after so many calls told a quarter too much. */
TEST(turns_are_told_right)
{
	static const struct world worlds[] = {
		{ 1e5, 1e4, 450, 150, 2e5, 8e6, 16e6 },
		{ 1e5, 1e4, 450, 150, 2e5, 5e7, 1e7 },
	};

	for (int w = 0; w < 2; w++) {
		double told = 0;

		for (int i = 0; i < 40; i++)
			told += simulate(&worlds[w], 0.001, 2, 0.01).told / 40;
		printf("# turns of %.0f and %.0f ms: %.3f of the calls are told\n", worlds[w].on / 1e6,
		       worlds[w].off / 1e6, told);
		assert_true(fabs(told - 1) < 0.08);
	}
}

/* The machine was busy: planned for 3 ms, a first stretch took .2 s, met no call of the targets and 200,000 of others.
 * The next comes within a second, before a recording of some seconds is over; once calls were met the budget rules. */
TEST(the_first_pauses_are_short)
{
	struct syscall_stretch p;

	stretch_init(&p, .01, 2);
	for (int met = 0; met < 2; met++) {
		uint64_t ends = 200000000 + (uint64_t)met * 10000000000ull;

		stretch_begin(&p, ends - 200000000, 1e-3);
		assert_false(stretch_end(&p, ends, 0, met ? 1e5 : 0, 0, 1e8, .5));
		assert_true(met ? p.next - ends > 4000000000 : p.next - ends <= 1000000000);
	}
}

/* At low effort and a load of 30 the timer spends all that the account would earn, and the target runs for 3 ms of each
 * 60: of 19 recordings of 5 s two had met no call of it in the two stretches that were not refused. */
TEST(calls_are_met_on_credit)
{
	const struct world w = { 4e4, 2e5, 450, 150, 2e5, 3e6, 57e6 };
	const double rate = 3e-4, seconds = 5e9;
	unsigned fewest = 1000;
	double most = 0;

	for (int i = 0; i < 200; i++) {
		struct simulation m = { 0 };
		struct syscall_stretch p;
		double now = 1e9, spent = 0;
		unsigned met = 0;

		turns_new(&m, &w, now, now + 2 * seconds);
		stretch_init(&p, .005, 2);
		while (now < 1e9 + seconds && stretch_on_credit(&p)) {
			double until = (double)stretch_begin(&p, (uint64_t)now, rate), began = now, cost;
			double cut = after_calls(&m, began, stretch_limit(rate) / w.call_ns);

			now = fmin(cut, until) + w.delay;
			cost = calls_in(&m, began, now) * w.call_ns;
			met += cost > 0;
			spent += cost;
			stretch_end(&p, (uint64_t)now, cut < until ? (uint64_t)cut : 0, cost, rate * .05,
				    (now - began) / 1e9 * w.others * w.other_ns, uniform());
			now = fmax(now, (double)p.next);
		}
		fewest = met < fewest ? met : fewest;
		most = fmax(most, spent);
		free(m.turn);
	}
	printf("# without an account: at least %u stretches that met calls, for at most %.2f ms\n", fewest, most / 1e6);
	assert_true(fewest >= 3);
	assert_true(most < .005 * seconds / 4);
}

/* Clocks that stand still or step back must not divide by zero or give negative weights. */
TEST(odd_times)
{
	struct syscall_stretch p;

	stretch_init(&p, 0.01, 0);
	stretch_begin(&p, 1000, 0.001);
	assert_false(stretch_end(&p, 1000, 1000, 1e6, 0, 0, 0));
	assert_true(p.factor >= 1);
	stretch_begin(&p, 2000, 0.001);
	stretch_end(&p, 2500, 5000, 0, 0, 0, 0.5);
	assert_true(p.factor >= 1);
}

/* As the caller asks: at both ends of stretches that follow each other in a usual pace, or else now and then. */
static double asking_takes(struct syscall_stretch *p, double question, double seconds)
{
	double last = 0, spent = 0;

	for (double now = 0.15; now < seconds; now += 0.15) {
		unsigned asked = stretch_encloses(p) ? 2 : (now - last) * 1e9 >= stretch_rest(p) ? 1 : 0;

		for (unsigned i = 0; i < asked; i++)
			stretch_asked(p, question);
		last = asked ? now : last;
		spent += asked * question;
	}
	return spent / (seconds * 1e9);
}

/* However many threads the machine has, and when they come. */
TEST(questions_are_paid_for)
{
	struct syscall_stretch p;

	stretch_init(&p, 0.01, 2);
	stretch_asked(&p, 300e3); /* nothing was in the caches */
	stretch_asked(&p, 50e3);
	assert_true(asking_takes(&p, 50e3, 10) > 50e3 * 120 / 10e9);
	assert_true(stretch_encloses(&p));
	stretch_asked(&p, 2e6); /* an interrupt */
	assert_true(stretch_encloses(&p));
	/* 10,000 threads, a million, and all are gone */
	for (double question = 5e6; question < 1e9; question *= 100) {
		asking_takes(&p, question, 300);
		assert_false(stretch_encloses(&p));
		assert_true(asking_takes(&p, question, 1000) < 0.01);
	}
	asking_takes(&p, 50e3, 300);
	assert_true(stretch_encloses(&p));
}
