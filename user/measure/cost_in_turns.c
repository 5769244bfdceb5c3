// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost_in_turns.h"

#include <math.h>
#include <stdlib.h>

#include "util/clock.h"

#define OUTSIDE .05 /* at each end, the chance that the true median lies there */

bool in_turns_add(struct in_turns *t, const struct turn *without, const struct turn *with)
{
	if (t->pairs == TURN_PAIRS_MOST)
		return false;
	t->without[t->pairs] = *without;
	t->with[t->pairs++] = *with;
	return true;
}

bool in_turns_with(unsigned turn)
{
	return (turn & 1) ^ (turn >> 1 & 1);
}

/* How many of n values may be left off at each end: as many of them fall below the median as coins show heads. */
static unsigned left_off(unsigned n)
{
	double chance = pow(.5, n), below = 0;
	unsigned k = 0;

	while (k < n / 2 && below + chance <= OUTSIDE) {
		below += chance;
		chance *= (double)(n - k) / (k + 1);
		k++;
	}
	return k;
}

/* Of ratios, in any order. */
static struct turn_change change_of(double *ratio, unsigned n)
{
	struct turn_change c = { NAN, NAN, NAN, NAN, NAN, n };
	unsigned k = left_off(n);

	if (!n)
		return c;
	qsort(ratio, n, sizeof(*ratio), by_double);
	c.median = n % 2 ? ratio[n / 2] - 1 : sqrt(ratio[n / 2 - 1] * ratio[n / 2]) - 1;
	c.least = ratio[0] - 1;
	c.most = ratio[n - 1] - 1;
	if (k) {
		c.low = ratio[k - 1] - 1;
		c.high = ratio[n - k] - 1;
	}
	return c;
}

static struct turn_change compared(const struct in_turns *t, double (*figure)(const struct turn *))
{
	double ratio[TURN_PAIRS_MOST];
	unsigned n = 0;

	for (unsigned i = 0; i < t->pairs; i++) {
		double r = figure(&t->with[i]) / figure(&t->without[i]);

		if (isfinite(r) && r > 0)
			ratio[n++] = r;
	}
	return change_of(ratio, n);
}

static double work_rate(const struct turn *t)
{
	return t->work / t->seconds;
}

static double cpu_per_work(const struct turn *t)
{
	return t->cpu_s / t->work;
}

struct turn_change in_turns_work(const struct in_turns *t)
{
	return compared(t, work_rate);
}

struct turn_change in_turns_cpu(const struct in_turns *t)
{
	return compared(t, cpu_per_work);
}
