// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/earlier_worth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define ROUNDS 30 /* of expectation and maximum; by hand */

static const double worths[] = { 0, 1. / 16, 1. / 4, 1 };
#define WORTHS (sizeof(worths) / sizeof(worths[0]))

/* One burst's worth of not knowing lies beneath. */
static double log_chance(const struct earlier_compared *l, const struct earlier_part_of *part, double worth)
{
	double all = 1 + worth * l->then, sum = lgamma(all) - lgamma(all + l->now);

	for (size_t k = 0; k < l->writers; k++) {
		double before = 1.0 / (double)l->writers + worth * l->then * part[l->first + k].then;

		sum += lgamma(before + l->now * part[l->first + k].now) - lgamma(before);
	}
	return sum;
}

struct worth_sums {
	double chance[WORTHS]; /* logarithms */
	double bursts, most;   /* of its loads: together, and of one */
};

static void add_load(struct worth_sums *f, const struct earlier_compared *l, const struct earlier_part_of *part)
{
	if (!(l->now > 0) || !(l->then > 0))
		return;
	for (size_t w = 0; w < WORTHS; w++)
		f->chance[w] += log_chance(l, part, worths[w]);
	f->bursts += l->now;
	f->most = fmax(f->most, l->now);
}

/* How likely each is of one function. Its loads were met by the same bursts, so they tell once what they all tell. */
static void chances_of(const struct worth_sums *f, const double *usual, double *out)
{
	double once = f->bursts > 0 ? f->most / f->bursts : 0, top = -INFINITY, all = 0;

	for (size_t w = 0; w < WORTHS; w++)
		top = fmax(top, f->chance[w]);
	for (size_t w = 0; w < WORTHS; w++)
		all += out[w] = usual[w] * exp(once * (f->chance[w] - top));
	for (size_t w = 0; w < WORTHS; w++)
		out[w] /= all;
}

int earlier_worth(const struct earlier_compared *load, size_t loads, const struct earlier_part_of *part, double *worth,
		  uint32_t funcs)
{
	struct worth_sums *f = calloc(funcs + (size_t)1, sizeof(*f));
	double usual[WORTHS], of[WORTHS];

	if (!f)
		return -ENOMEM;
	for (size_t i = 0; i < loads; i++)
		if (load[i].func < funcs)
			add_load(&f[load[i].func], &load[i], part);
	for (size_t w = 0; w < WORTHS; w++)
		usual[w] = 1. / WORTHS;
	for (int round = 0; round < ROUNDS; round++) {
		double sum[WORTHS] = { 0 }, all = 1;

		for (uint32_t i = 0; i < funcs; i++) {
			if (!(f[i].bursts > 0))
				continue;
			chances_of(&f[i], usual, of);
			all++;
			for (size_t w = 0; w < WORTHS; w++)
				sum[w] += of[w];
		}
		/* as one more function of which nothing is known */
		for (size_t w = 0; w < WORTHS; w++)
			usual[w] = (sum[w] + 1. / WORTHS) / all;
	}
	for (uint32_t i = 0; i < funcs; i++) {
		chances_of(&f[i], usual, of);
		worth[i] = 0;
		for (size_t w = 0; w < WORTHS; w++)
			worth[i] += of[w] * worths[w];
	}
	free(f);
	return 0;
}
