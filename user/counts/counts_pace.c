// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_pace.h"

#include <math.h>

/* How much more alike samples are than what ran, where nothing is known of it: such code runs seldom and waits long.
 * Of 4 to 30 by the shares of ten real programs: mean TV .193, .171 (8), .165 (12), .161 (16), .159 (20 and 30). */
#define USUAL 16.0
#define PAIRS 30.0 /* that weighs as much as so many pairs, those of eight samples; 15 and 60 are as good */

double counts_pace(const struct counts_met *m)
{
	double pairs = m->samples > 1 ? m->samples * (m->samples - 1) / 2 : 0, alike = USUAL;

	if (m->same >= 0 && m->same <= pairs && m->alike > 0)
		alike = (m->same / m->alike + USUAL * PAIRS) / (pairs + PAIRS);
	return sqrt(fmax(alike, 1));
}
