// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/call_stretches.h"
#include "util/bisect.h"
#include "util/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COST_UNSURE 0.25 /* of what observing is said to cost: 450 ns of 500 to 550 on one machine */
#define CLOCKS_NS 100000 /* the kernel's first calls of a stretch, before we had looked at the clock */

static double sum_of_measure(const struct call_stretches *b, enum call_measure m)
{
	double sum = 0;

	for (size_t i = 0; i < b->count; i++)
		sum += b->stretch[i].weight * b->stretch[i].seen[m];
	return sum;
}

double call_scale(const struct call_stretches *b, enum call_measure m)
{
	double sum = sum_of_measure(b, m);

	if (!isnan(b->total[m]))
		return sum > 0 ? b->total[m] / sum : 1;
	return m == CALLS_TIME ? 1 : call_scale(b, CALLS_TIME);
}

size_t call_stretch_at(const struct call_stretches *b, uint64_t time)
{
	size_t lo = BISECT(mid, b->count, b->stretch[mid].begin <= time + CLOCKS_NS);

	return lo ? lo - 1 : SIZE_MAX;
}

/* Part of what a stretch stands for that was not seen. */
static double unseen(const struct call_stretch *b)
{
	return b->weight > 1 ? 1 - 1 / b->weight : 0;
}

/* Student's factor over the normal one at 95 %. */
static double widened(size_t n)
{
	return n > 1 ? student_half((double)n - 1) / Z95 : INFINITY;
}

double call_half_width(const struct call_stretches *b, enum call_measure m, const double *by_stretch, double z)
{
	double sum = sum_of_measure(b, m), all = 0, rate, var = 0, n = (double)b->count;

	for (size_t i = 0; i < b->count; i++)
		all += by_stretch[i];
	rate = sum > 0 ? all / sum : 0;
	for (size_t i = 0; i < b->count; i++) {
		double e = by_stretch[i] - rate * b->stretch[i].weight * b->stretch[i].seen[m];

		var += unseen(&b->stretch[i]) * e * e;
		if (b->count == 1 && unseen(&b->stretch[i]) > 0 && all > 0)
			return INFINITY;
	}
	return b->count > 1 ? z * widened(b->count) * call_scale(b, m) * sqrt(var * n / (n - 1)) : 0;
}

double call_cost_unsure(const struct call_stretches *b, enum call_measure m)
{
	double own = 0, cost = 0;

	if (m != CALLS_TIME)
		return 0;
	for (size_t i = 0; i < b->count; i++) {
		own += b->stretch[i].weight * b->stretch[i].ran_ns;
		cost += b->stretch[i].weight * b->stretch[i].spent_ns * unseen(&b->stretch[i]);
	}
	return own > 0 ? COST_UNSURE * cost / own : 0;
}

double call_time_apart(const struct call_stretches *b)
{
	double apart = 0;

	for (int m = CALLS_READ; m < CALL_MEASURES; m++) {
		double told = sum_of_measure(b, (enum call_measure)m) * call_scale(b, CALLS_TIME);

		if (b->total[m] > 0 && told > 0)
			apart = fmax(apart, fabs(b->total[m] / told - 1));
	}
	return apart;
}

/* A stretch drawn more or less often than once differs from what it is by so much less as more of what it stands for
 * was seen. */
void call_draw(const struct call_stretches *b, const uint8_t *times, double (*factor)[CALL_MEASURES])
{
	double wider = b->count > 1 ? widened(b->count) * sqrt((double)b->count / (double)(b->count - 1)) : 1;

	for (int m = 0; m < CALL_MEASURES; m++) {
		double sum = sum_of_measure(b, m), drawn = 0;

		for (size_t i = 0; i < b->count; i++)
			drawn += times[i] * b->stretch[i].weight * b->stretch[i].seen[m];
		for (size_t i = 0; i < b->count; i++) {
			double of = drawn > 0 ? times[i] * sum / drawn : 1;

			factor[i][m] = fmax(0, 1 + (of - 1) * wider * sqrt(unseen(&b->stretch[i])));
		}
	}
}

void call_stretches_release(struct call_stretches *b)
{
	free(b->stretch);
	memset(b, 0, sizeof(*b));
}
