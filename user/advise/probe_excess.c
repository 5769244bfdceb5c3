// SPDX-License-Identifier: GPL-2.0-or-later
#include "advise/probe_excess.h"

#include <math.h>

#define ENOUGH 20 /* timed calls of about one size, for their mean */
#define LEAST 1.  /* ns: no call takes less */

/* Mean time of the calls of the size that takes least; NaN. */
static double shortest_calls(const struct offload_item *it)
{
	double least = NAN;

	for (int k = 1; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (o->timed >= ENOUGH && !(o->ns / o->timed >= least))
			least = o->ns / o->timed;
	}
	return least;
}

/*
 * The shortest calls read m = t + e: t is theirs, e the excess, from -early to late. So t lies from m - late (or
 * nothing) to m + early. Of what order it is nobody knows: with each order as likely, its mean is (b - a) / ln(b / a).
 * Where m is far above the doubt that is m itself, and e is 0; where it is below, most of it is the probe's.
 */
double probe_excess(const struct offload_item *it, double *most)
{
	double m = shortest_calls(it), a, b;

	*most = it->late_ns;
	if (!(m >= 0) || !(it->late_ns > 0))
		return 0;
	a = fmax(m - it->late_ns, LEAST);
	b = m + it->early_ns;
	*most = fmin(it->late_ns, m);
	return b > a ? fmin(m - (b - a) / log(b / a), *most) : 0;
}

double call_mean_by_size(const struct offload_item *it)
{
	double calls = 0, sum = 0;

	for (int k = 0; k < OFFLOAD_OCTAVES; k++) {
		const struct offload_octave *o = &it->octave[k];

		if (!(o->calls > 0))
			continue;
		if (2 * o->timed < o->calls || (o->switched_ns > 0 && o->ns == o->switched_ns))
			return NAN;
		calls += o->calls;
		sum += o->calls * o->ns / o->timed;
	}
	return calls > 0 && 2 * it->unknown_calls < calls ? sum / calls : NAN;
}
