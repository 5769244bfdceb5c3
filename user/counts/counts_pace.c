// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/counts_pace.h"

#include <math.h>

/* Instructions: of a function of which fewer ran in bursts, what is usual decides. Of 500, 2,000 and 8,000 by twenty
 * quiet recordings of ten real programs: mean TV of instruction shares .100, .099, .102. */
#define FEW 2000.0
/* As many times as long as usual, where bursts met none of it: what time met and bursts did not waits. Of 1, 1.5, 2, 3,
 * 4 and 8 by the same: .097, .097, .099, .102, .105, .114; by ten beside other work .142 (1), .128 (2), .122 (4). */
#define UNMET 2.0

/* Instructions: the same where code moves data in bulk, which bursts alone made up to eight times as quick as it was
 * (why is not known). Of 2,000 and 200,000, two recordings each of zstd and git, the programs that showed it: mean TV
 * of store bytes .220, .137, of load bytes .116, .079; of instructions, 24 of eight programs: .113, .113. */
#define FEW_BULK 200000.0

/* Bytes in a cycle of the clock, which one core copies of memory that is far: 5 to 10 GB a second. Code that moves data
 * in bulk and was not met by bursts is long and far. Of 1, 2 and 4, and without, ten of those recordings: mean TV of
 * the volume of flows .152, .154, .155, .160; of instructions .101, .100, .100, .100. */
#define FAR_BYTES 2.0
/* Bytes of a load or store: as wide ones move data in bulk, narrower ones seldom do; by hand. */
#define WIDE 16.0

double counts_pace_bulk(double instructions, const struct counts_pace_moves *m)
{
	double bytes = fmax(m->load_bytes, m->store_bytes), times = m->loads + m->stores;

	return instructions > 0 && m->load_bytes + m->store_bytes >= WIDE * times ? bytes / instructions : 0;
}

double counts_pace(double timed, double cycles, double usual, double bulk)
{
	double unmet = fmax(UNMET, bulk / FAR_BYTES / usual);
	double few = bulk > 0 ? FEW_BULK : FEW;

	return (cycles / usual + few * unmet) / (timed + few);
}

double counts_pace_repeated(double timed, double cycles, double usual, double bulk, double repeated)
{
	return counts_pace(timed, fmax(0, cycles - repeated * timed), usual, bulk) + repeated / usual;
}
