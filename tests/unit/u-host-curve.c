// SPDX-License-Identifier: GPL-2.0-or-later
/* The host's curve by size, on calls made up here whose truth is known: its intervals hold, or it says why none is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/host_curve.h"
#include "unit/sized.h"
#include "unit/unit.h"

#define OCTAVES 11
#define PER_OCTAVE 20
#define ROUNDS SIZED(15, 2)
#define LEAST_SHARE .8 /* of figures in their intervals, of nominally .9, in so many rounds */

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.;
}

static double normal(void)
{
	double u = fmax(uniform(), 1e-12);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform());
}

/* Calls of sizes from 64 B on; `uneven`: by how much an octave's code is off the curve, `left`: ns in every time. */
static void make(struct offload_item *it, int octaves, double uneven, double left)
{
	memset(it, 0, sizeof(*it));
	it->samples = calloc((size_t)octaves * PER_OCTAVE, sizeof(*it->samples));
	assert_non_null(it->samples);
	for (int k = 0; k < octaves; k++) {
		double off = exp(uneven * normal());

		for (int i = 0; i < PER_OCTAVE; i++) {
			double g = floor(ldexp(1 + uniform(), 6 + k));

			it->samples[it->samples_cnt++] =
				(struct offload_sample){ .bytes = g,
							 .ns = (10 + 3 * g) * off * exp(.05 * normal()) + left };
			it->octave[7 + k].calls++;
		}
		it->calls += PER_OCTAVE;
	}
}

static struct host_curve curve(struct offload_item *it, struct figure excess)
{
	struct host_beside b = { excess, 0, 0, 1 };
	struct host_curve c = host_curve_of(it, &b);

	free(it->samples);
	return c;
}

static bool holds(const struct figure *f, double v)
{
	return f->low <= v && v <= f->high;
}

/* Curves of ROUNDS items, the n-th with n * left ns more in every time: at least such a share of C and beta is held. */
static void most_hold(double uneven, double left, struct figure excess, double least)
{
	int held = 0, told = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct offload_item it;
		struct host_curve c;

		make(&it, OCTAVES, uneven, left * (i % 5));
		c = curve(&it, excess);
		if (c.why_not)
			continue;
		told++;
		held += holds(&c.C, 3) + holds(&c.beta, 1);
	}
	print_message("%d of %d figures held, %d of %d curves told\n", held, 2 * told, told, ROUNDS);
	assert_true(told >= ROUNDS * 3 / 4);
	assert_true(held >= least * 2 * told);
}

/* An octave's code is slower or quicker by a tenth than its neighbours': its calls alone do not tell how uncertain
 * that makes the curve. */
TEST(octaves_are_uneven)
{
	most_hold(.1, 0, FIGURE_EXACT(0), LEAST_SHARE);
}

/* What was taken off every call for a probe, and is more than that took: no fixed cost is below nothing, so it
 * bends the curve, and the interval holds the true one. */
TEST(a_probe_took_less)
{
	most_hold(0, -25, (struct figure){ 0, -120, 20 }, .9);
}

/* Too few sizes tell none, and it says so. */
TEST(two_octaves_tell_no_curve)
{
	struct offload_item it;
	struct host_curve c;

	make(&it, 2, 0, 0);
	c = curve(&it, FIGURE_EXACT(0));
	assert_non_null(c.why_not);
	assert_false(figure_known(&c.C) || figure_known(&c.beta) || figure_known(&c.t0));
}

/* Nor does code whose time has nothing to do with a power of its size. */
TEST(a_staircase_is_no_curve)
{
	struct offload_item it;
	struct host_curve c;

	make(&it, OCTAVES, 0, 0);
	for (size_t i = 0; i < it.samples_cnt; i++)
		it.samples[i].ns *= ilogb(it.samples[i].bytes) % 4 < 2 ? 1 : 4;
	c = curve(&it, FIGURE_EXACT(0));
	assert_non_null(c.why_not);
}
