// SPDX-License-Identifier: GPL-2.0-or-later
/* A made server: segments tell what its functions run, samples tell time, and both are put together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "counts/segment_shares.h"
#include "unit/unit.h"
#include "util/random.h"

#define STRETCHES 20
#define CARRIED 4 /* in each */
#define TIMED 20
#define FUNCS 3
#define RETURNS 1000.0 /* in each stretch */
#define WALL_NS 20e9

/* Two kinds of segments, equally many: of function 0, and of 0 and 1. Function 2 is what runs for long without a system
 * call. A sample finds function 1 five times as often as its instructions are worth: it waits. */
static const double ran[2][FUNCS] = { { 1000, 0, 0 }, { 500, 1500, 0 } };
static uint64_t chance = 1;

struct made {
	struct counts_record r;
	struct profile p;
	struct fmt_segment segment[STRETCHES * (CARRIED + TIMED)];
	struct fmt_counts_drawn drawn[FUNCS];
	struct fmt_counts_func func[FUNCS];
	struct fmt_counts_node node[FUNCS + 1];
	struct counts_group group[FUNCS];
	double runs[FUNCS + 1];
	struct counts_tree t;
};

static double ns_of(double insns)
{
	return 300 + insns / 2;
}

/* long_part: of the user time that lies in no segment; diverge: how many segments are not verified. */
static void make(struct made *m, double long_part, double diverge)
{
	double in_segments = 0, time[FUNCS] = { 0 };
	size_t n = 0;

	memset(m, 0, sizeof(*m));
	for (uint32_t h = 1; h <= STRETCHES; h++) {
		double y[FUNCS] = { 0 }, x = 0, calls = 0; /* of function 1: one in each segment that it is in */

		for (unsigned i = 0; i < CARRIED + TIMED; i++) {
			bool carried = i < CARRIED, verified = random_unit(&chance) >= diverge;
			const double *of = ran[random_unit(&chance) < 0.5];
			double insns = of[0] + of[1];

			m->segment[n++] = (struct fmt_segment){
				.stretch = h,
				.weight = RETURNS / (carried ? CARRIED : TIMED),
				.ns = ns_of(insns),
				.instructions = carried ? (uint64_t)insns : 0,
				.state = !carried   ? FMT_SEG_TIMED
					 : verified ? FMT_SEG_VERIFIED
						    : FMT_SEG_DIVERGED,
				.nr = insns > 1500,
				.cause = carried && !verified ? FMT_SEGC_BRANCH : FMT_SEGC_NONE,
			};
			for (unsigned f = 0; f < FUNCS && carried && verified; f++) {
				y[f] += RETURNS / CARRIED * of[f];
				x += RETURNS / CARRIED * of[f];
			}
			calls += carried && verified && of[1] > 0 ? RETURNS / CARRIED : 0;
		}
		for (unsigned f = 0; f < FUNCS; f++) {
			m->drawn[f].function = f;
			m->drawn[f].stretches++;
			m->drawn[f].instructions += y[f];
			m->drawn[f].square += y[f] * y[f];
			m->drawn[f].with_all += y[f] * x;
		}
		m->drawn[1].called += calls > 0;
		m->drawn[1].calls += calls;
		m->drawn[1].calls_square += calls * calls;
		m->drawn[1].calls_with_all += calls * x;
	}
	in_segments = RETURNS * (ns_of(1000) + ns_of(2000)) / 2 * WALL_NS / FMT_SEGMENT_STRETCH_NS;
	time[0] = 0.3;
	time[1] = 0.7;
	for (unsigned f = 0; f < FUNCS; f++)
		time[f] *= in_segments;
	time[2] = in_segments * long_part / (1 - long_part);
	for (unsigned f = 0; f < FUNCS; f++) {
		m->func[f] = (struct fmt_counts_func){ .id = f + 1,
						       .self_ns = time[f],
						       .samples = (uint64_t)(time[f] / 1e6) };
		m->node[f + 1] = (struct fmt_counts_node){ .id = f + 1, .function = f, .instructions = 1 };
		m->group[f] = (struct counts_group){
			.time = time[f], .instructions = time[f], .low = time[f] / 2, .high = time[f] * 2
		};
		m->runs[f + 1] = time[f];
	}
	m->p.duration_ns = (uint64_t)WALL_NS;
	m->r = (struct counts_record){ .func = m->func,
				       .funcs = FUNCS,
				       .node = m->node,
				       .nodes = FUNCS + 1,
				       .segment = m->segment,
				       .segments = n,
				       .drawn = m->drawn,
				       .drawns = FUNCS,
				       .profile = &m->p };
	m->t = (struct counts_tree){ .nodes = FUNCS + 1, .group = m->group, .groups = FUNCS, .runs = m->runs };
}

static double share(const struct made *m, unsigned f)
{
	double all = 0;

	for (unsigned i = 0; i < FUNCS; i++)
		all += m->group[i].instructions;
	return m->group[f].instructions / all;
}

static void apply(struct made *m, double *part)
{
	struct segment_shares s;

	assert_int_equal(segment_shares(&m->r, &s), 0);
	*part = s.part;
	segment_shares_apply(&s, &m->r, &m->t);
	segment_shares_release(&s);
}

/* Calls are counted with segments: that needs no speed. Half of RETURNS in each stretch, of as much CPU time. */
TEST(calls_are_counted)
{
	struct made *m = malloc(sizeof(*m));
	double cpu_ns = RETURNS * (ns_of(1000) + ns_of(2000)) / 2, true_per_s = RETURNS / 2 / cpu_ns * 1e9;
	unsigned held = 0;

	for (unsigned i = 0; i < 100; i++) {
		struct segment_shares s;
		double half, value;

		make(m, 0, 0);
		assert_int_equal(segment_shares(&m->r, &s), 0);
		value = s.calls[1] * s.told;
		half = 1.96 * sqrt(s.calls_var[1] + s.told_var);
		assert_true(fabs(log(value / true_per_s)) < 0.7 && half < 0.7);
		held += fabs(log(value / true_per_s)) <= half;
		/* of the others no call was seen: nothing is told */
		assert_true(isnan(s.calls[0]) && isnan(s.calls[2]));
		segment_shares_release(&s);
	}
	assert_true(held >= 90);
	free(m);
}

/* What they do not stand for is a hundredth here: so far off may a share be, whatever the tree knows of it. */
TEST(what_is_left_bounds_the_error)
{
	struct made *m = malloc(sizeof(*m));
	double part, total = 0;

	make(m, 0, 0);
	for (unsigned f = 0; f < FUNCS; f++) {
		m->group[f].low = m->group[f].instructions / 100;
		m->group[f].high = m->group[f].instructions * 100;
	}
	apply(m, &part);
	for (unsigned f = 0; f < FUNCS; f++)
		total += m->group[f].instructions;
	assert_true(part > 0.85);
	assert_true(m->group[0].high < total && m->group[0].low > 0.1 * total);
	assert_true(m->group[2].high < 0.4 * total);
	free(m);
}

/* All is in segments: shares are what ran, however time has it, and nodes follow. */
TEST(waiting_does_not_count)
{
	struct made *m = malloc(sizeof(*m));
	unsigned held = 0;
	double part;

	for (unsigned i = 0; i < 100; i++) {
		make(m, 0, 0);
		apply(m, &part);
		assert_true(part > 0.85);
		assert_true(fabs(share(m, 1) - 0.5) < 0.2);
		held += m->group[1].low <= 0.5 * (m->group[0].instructions + m->group[1].instructions) &&
			m->group[1].high >= 0.5 * (m->group[0].instructions + m->group[1].instructions);
		assert_true(fabs(m->runs[2] - m->group[1].instructions) < 1e-6 * m->runs[2]);
		assert_true(m->group[1].by_segments > 0.5 && m->group[1].trust > 0.5);
	}
	assert_true(held >= 88);
	free(m);
}

/* What lies in no segment keeps its part. */
TEST(the_rest_is_kept)
{
	struct made *m = malloc(sizeof(*m));
	double part;

	make(m, 0.5, 0);
	apply(m, &part);
	assert_true(part > 0.25 && part < 0.6);
	assert_true(share(m, 2) > 0.35 && share(m, 2) < 0.75);
	assert_true(share(m, 1) < 0.36);
	assert_true(m->group[2].by_segments == 0);
	free(m);
}

/* What is not verified is as unknown as what lies in none. */
TEST(what_diverged_is_no_evidence)
{
	struct made *m = malloc(sizeof(*m));
	double part, sure;

	make(m, 0, 0);
	apply(m, &sure);
	make(m, 0, 0.6);
	apply(m, &part);
	assert_true(part < 0.6 * sure && part > 0.2 * sure);
	free(m);
}

/* Of one kind a third is long, and led astray: most of the time is theirs, and what the short ones ran tells little. */
TEST(what_is_long_is_most_of_it)
{
	struct made *m = malloc(sizeof(*m));
	double part;
	unsigned met = 0;

	make(m, 0, 0);
	for (size_t i = 0; i < m->r.segments; i++) {
		struct fmt_segment *s = &m->segment[i];

		if (s->nr != 1 || met++ % 3)
			continue;
		s->ns = 200000;
		if (s->state == FMT_SEG_VERIFIED) {
			s->state = FMT_SEG_DIVERGED;
			s->cause = FMT_SEGC_ENTRY;
		}
	}
	m->func[2].self_ns = RETURNS / 6 * 200000 * WALL_NS / FMT_SEGMENT_STRETCH_NS;
	m->func[2].samples = 10000;
	apply(m, &part);
	assert_true(part < 0.1);
	free(m);
}

TEST(too_few_change_nothing)
{
	struct made *m = malloc(sizeof(*m));
	double part, before;

	make(m, 0, 0.9);
	before = share(m, 1);
	apply(m, &part);
	assert_true(part == 0 && share(m, 1) == before);
	make(m, 0, 0);
	m->r.drawns = 0;
	apply(m, &part);
	assert_true(part == 0 && share(m, 1) == before);
	free(m);
}

/* Sums that cannot be make no figure that is none. */
TEST(damage_is_no_number)
{
	struct made *m = malloc(sizeof(*m));
	double part;

	make(m, 0, 0);
	for (unsigned f = 0; f < FUNCS; f++)
		m->drawn[f] =
			(struct fmt_counts_drawn){ .function = f ? UINT32_MAX : 0, .square = 1e35, .with_all = 1e35 };
	m->drawn[0].instructions = 1e-300;
	apply(m, &part);
	for (unsigned f = 0; f < FUNCS; f++)
		assert_true(isfinite(m->group[f].instructions) && m->group[f].instructions >= 0 &&
			    m->group[f].low <= m->group[f].high);
	free(m);
}
