// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/call_intervals.h"

#include <math.h>

#include "util/normal.h"

#define OCTAVE_VARIANCE                                                                                                \
	(1. / 27) /* of sizes spread evenly from x to 2x, over their mean's square: (x^2 / 12) / (1.5 x)^2 */

double offload_mean_uncertain(const struct offload_item *it, double n)
{
	double calls = 0, sum = 0, squares = 0, mean;

	for (int k = 1; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];
		double size = o->calls > 0 ? o->bytes / o->calls : 0;

		calls += o->calls;
		sum += o->bytes;
		/* an octave's own sizes lie evenly in it, as far as is known */
		squares += o->calls * size * size * (1 + OCTAVE_VARIANCE);
	}
	mean = calls > 0 ? sum / calls : 0;
	if (!(mean > 0) || !(n > 0))
		return INFINITY;
	return normal_half(0.9) * sqrt(fmax(squares / calls - mean * mean, 0) / n) / mean;
}

struct call_interval offload_bytes_interval(const struct offload_item *it, double counted)
{
	double calls = (double)it->calls, known = calls - (double)it->unknown_bytes, mean = counted / known;
	/* what was counted is certain; the others are as many as is known, each of a size like those */
	double least = fmax(it->low - calls, 0), most = fmax(it->high - calls, 0) + (double)it->unknown_bytes;
	double part = offload_mean_uncertain(it, known);

	if (!(known > 0))
		return (struct call_interval){ NAN, NAN };
	/* calls that were not seen may be others */
	if (!(counted > 0) && (most > 0 || isnan(it->high)))
		return (struct call_interval){ NAN, NAN };
	if (isinf(part))
		return (struct call_interval){ counted, most > 0 || isnan(it->high) ? NAN : counted };
	return (struct call_interval){ counted + least * mean * fmax(1 - part, 0),
				       isnan(it->high) ? NAN : counted + most * mean * (1 + part) };
}

struct call_interval spread_median_interval(const struct spread *s)
{
	double n = s->squares > 0 ? s->total * s->total / s->squares : NAN, off = normal_half(0.9) * 0.5 / sqrt(n);

	/* none, or so few that the median may lie beyond all of them */
	if (!(off < 0.5))
		return (struct call_interval){ NAN, NAN };
	/* from edge to edge of their bins */
	return (struct call_interval){ spread_quantile(s, 0.5 - off) * exp2(-0.5 / SPREAD_FINE),
				       spread_quantile(s, 0.5 + off) * exp2(0.5 / SPREAD_FINE) };
}
