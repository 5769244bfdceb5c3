// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_pace.h"

#include <math.h>

/* power of the chance that two samples meet: shares by time are wrong by .225 without it, .165 so, .171 with .3
 * (eight programs, live) */
#define STRENGTH 0.35
#define USUAL 0.2  /* that chance, where nothing is known of it... */
#define PAIRS 10.0 /* ...which weighs as much as so many pairs */
/* below it, it tells how much code there is and no longer how fast it runs (.05: the worst program was .021 above
 * plain time) */
#define LEAST 0.1
/* the same, where bursts told how the instructions of the time around are parted, so that how much code there is
 * matters less: .05 instead of .2 took .014 from the mean TV of ten real programs, perl was worse by .004 */
#define LEAST_TOLD 0.05

double counts_pace(uint64_t samples, double same, double cost, bool told)
{
	double n = (double)samples, pairs = n > 1 ? n * (n - 1) / 2 : 0, chance = USUAL;

	if (same >= 0 && same <= pairs)
		chance = (same + USUAL * PAIRS) / (pairs + PAIRS);
	return pow(fmax(chance, told ? LEAST_TOLD : LEAST), STRENGTH) * (cost >= 1 ? cost : 1);
}
