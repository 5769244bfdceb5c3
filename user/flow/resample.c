// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/resample.h"

#include <math.h>

#include "util/normal.h"
#include "util/random.h"

void resample_draw(uint8_t *times, size_t n, uint64_t *state)
{
	/* P(count <= k) of a Poisson variable of mean 1, in 65,536ths */
	static const uint16_t below[] = { 24109, 48218, 60273, 64291, 65295, 65496, 65530 };
	uint64_t bits = 0;

	for (size_t i = 0; i < n; i++, bits >>= 16) {
		uint8_t k = 0;

		if (!(i & 3))
			bits = random_next(state);
		/* without a branch, which nobody could foretell */
		for (unsigned c = 0; c < sizeof(below) / sizeof(below[0]); c++)
			k += (bits & 0xffff) >= below[c];
		times[i] = k;
	}
}

void spread_add(struct resample_spread *sp, size_t i, double value)
{
	sp->sum[i] += value;
	sp->squares[i] += value * value;
}

double spread_deviation(const struct resample_spread *sp, size_t i, const struct est_opts *o)
{
	double n = o->bootstraps, mean = sp->sum[i] / n, var = (sp->squares[i] - n * mean * mean) / (n - 1);

	return sqrt(var > 0 ? var : 0);
}

double spread_half_width(const struct resample_spread *sp, size_t i, const struct est_opts *o)
{
	return normal_half(o->level) * spread_deviation(sp, i, o);
}

void spread_range(double value, double half, double *low, double *high)
{
	*low = value > half ? value - half : 0;
	*high = value + half;
}

double farther_of(double a, double w, double fused)
{
	double x = fabs(a - fused), y = isnan(w) ? 0 : fabs(w - fused);

	return x > y ? x : y;
}

double resample_normal(uint64_t *state)
{
	return sqrt(-2 * log(random_unit(state))) * cos(2 * M_PI * random_unit(state));
}
