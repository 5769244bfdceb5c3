// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/normal.h"

#include <math.h>
#include <stddef.h>

double student_half(double freedom)
{
	static const double few[] = { NAN, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469 };
	const double z = Z95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, n = freedom;

	if (!isfinite(n))
		return z;
	if (n < (double)(sizeof(few) / sizeof(*few)))
		return n >= 1 ? few[(size_t)n] : NAN;
	/* Cornish and Fisher's expansion: right to half a thousandth from seven on */
	return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
	       (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}
