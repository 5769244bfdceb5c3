// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_pace.h"

/* Instructions: of a function of which fewer ran in bursts, what is usual decides. Of 500, 2,000 and 8,000 by twenty
 * quiet recordings of ten real programs: mean TV of instruction shares .100, .099, .102. */
#define FEW 2000.0
/* As many times as long as usual, where bursts met none of it: what time met and bursts did not waits. Of 1, 1.5, 2, 3,
 * 4 and 8 by the same: .097, .097, .099, .102, .105, .114; by ten beside other work .142 (1), .128 (2), .122 (4). */
#define UNMET 2.0

double counts_pace(double timed, double cycles, double usual)
{
	return (cycles / usual + FEW * UNMET) / (timed + FEW);
}
