// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/call_bursts.h"
#include "util/bisect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COST_UNSURE 0.25 /* of what observing is said to cost: 450 ns of 500 to 550 on one machine */
#define CLOCKS_NS 100000 /* the kernel's first calls of a burst, before we had looked at the clock */

static double sum_of_measure(const struct call_bursts *b, enum call_measure m)
{
	double sum = 0;

	for (size_t i = 0; i < b->count; i++)
		sum += b->burst[i].weight * b->burst[i].seen[m];
	return sum;
}

double call_scale(const struct call_bursts *b, enum call_measure m)
{
	double sum = sum_of_measure(b, m);

	if (!isnan(b->total[m]))
		return sum > 0 ? b->total[m] / sum : 1;
	return m == CALLS_TIME ? 1 : call_scale(b, CALLS_TIME);
}

size_t call_burst_at(const struct call_bursts *b, uint64_t time)
{
	size_t lo = BISECT(mid, b->count, b->burst[mid].begin <= time + CLOCKS_NS);

	return lo ? lo - 1 : SIZE_MAX;
}

/* Part of what a burst stands for that was not seen. */
static double unseen(const struct call_burst *b)
{
	return b->weight > 1 ? 1 - 1 / b->weight : 0;
}

/* Student's factor over the normal one at 95 %, within a tenth from three bursts on. */
static double widened(size_t n)
{
	double freedom = (double)(n - 1);

	return n > 1 ? 1 + 1.2 / freedom + 3 / (freedom * freedom) : INFINITY;
}

double call_half_width(const struct call_bursts *b, enum call_measure m, const double *by_burst, double z)
{
	double sum = sum_of_measure(b, m), all = 0, rate, var = 0, n = (double)b->count;

	for (size_t i = 0; i < b->count; i++)
		all += by_burst[i];
	rate = sum > 0 ? all / sum : 0;
	for (size_t i = 0; i < b->count; i++) {
		double e = by_burst[i] - rate * b->burst[i].weight * b->burst[i].seen[m];

		var += unseen(&b->burst[i]) * e * e;
		if (b->count == 1 && unseen(&b->burst[i]) > 0 && all > 0)
			return INFINITY;
	}
	return b->count > 1 ? z * widened(b->count) * call_scale(b, m) * sqrt(var * n / (n - 1)) : 0;
}

double call_cost_unsure(const struct call_bursts *b, enum call_measure m)
{
	double own = 0, cost = 0;

	if (m != CALLS_TIME)
		return 0;
	for (size_t i = 0; i < b->count; i++) {
		own += b->burst[i].weight * b->burst[i].ran_ns;
		cost += b->burst[i].weight * b->burst[i].spent_ns * unseen(&b->burst[i]);
	}
	return own > 0 ? COST_UNSURE * cost / own : 0;
}

/* A burst drawn more or less often than once differs from what it is by so much less as more of what it stands for was
 * seen. */
void call_draw(const struct call_bursts *b, const uint8_t *times, double (*factor)[CALL_MEASURES])
{
	double wider = b->count > 1 ? widened(b->count) * sqrt((double)b->count / (double)(b->count - 1)) : 1;

	for (int m = 0; m < CALL_MEASURES; m++) {
		double sum = sum_of_measure(b, m), drawn = 0;

		for (size_t i = 0; i < b->count; i++)
			drawn += times[i] * b->burst[i].weight * b->burst[i].seen[m];
		for (size_t i = 0; i < b->count; i++) {
			double of = drawn > 0 ? times[i] * sum / drawn : 1;

			factor[i][m] = fmax(0, 1 + (of - 1) * wider * sqrt(unseen(&b->burst[i])));
		}
	}
}

void call_bursts_release(struct call_bursts *b)
{
	free(b->burst);
	memset(b, 0, sizeof(*b));
}
