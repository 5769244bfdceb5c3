// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/limits.h"

#include <math.h>

const char *acm_design_str(enum acm_design d)
{
	static const char *const name[ACM_DESIGNS] = { "sync", "sync-os", "async" };

	return (unsigned)d < ACM_DESIGNS ? name[d] : "unknown";
}

double acm_speedup(const struct acm *a, enum acm_design d)
{
	double per_call = a->o0 + a->L + a->Q, rest = 1 - a->alpha;

	switch (d) {
	case ACM_SYNC: rest += a->alpha / a->A; break;
	case ACM_SYNC_OS: per_call += a->o1; break;
	case ACM_ASYNC: break;
	case ACM_DESIGNS: return NAN;
	}
	return 1 / (rest + a->n / a->C * per_call);
}

double acm_break_even(const struct acm *a, enum acm_design d, double c, double beta)
{
	double x = a->o0 + a->L + a->Q;

	if (!(c > 0) || !(beta > 0) || (unsigned)d >= ACM_DESIGNS)
		return NAN;
	if (d == ACM_SYNC) {
		if (!(a->A > 1))
			return NAN;
		x *= isinf(a->A) ? 1 : a->A / (a->A - 1);
	} else if (d == ACM_SYNC_OS) {
		x += a->o1;
	}
	return pow(x / c, 1 / beta);
}

double amdahl(double f, double s)
{
	return 1 / (1 - f + f / s);
}

double transfer_bound(double seconds, double A, double bytes, double bytes_per_second)
{
	return seconds / (seconds / A + bytes / bytes_per_second);
}
