// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/model_rate.h"

#include <math.h>
#include <stdlib.h>

#include "counts/counts_pace.h"
#include "counts/counts_repeats.h"
#include "counts/counts_windows.h"

/* Times: real processors are quicker than the model, and programs differ in how much. Native user time and exact counts
 * of twenty programs (nine of Debian's packages, eleven of tests/workloads: tests/results/model-rate.tsv), quiet
 * recordings of 9 to 20 s on one AMD machine: logs of true over model's have a mean of .23 and an sd of .265. They were
 * fitted before what moves in bulk had a pace of its own, which is left out here. */
#define MODEL_SHORT 1.26
/* Of the log of what is left: by Student's t of 19 degrees of freedom, and as the mean is known no better, these .265
 * are a normal sd of .29. 19 of the 20 are within 95 %. */
#define MODEL_SD 0.29
/* Of the same log, for code that runs for so short a time after each switch of threads that it runs on caches of
 * others. The twenty ran for milliseconds. nginx, at 300 requests a second and 2 % of a CPU, ran 2.9 times slower
 * than the model (callgrind's count, one recording beside other work). By hand, from this one. */
#define COLD_SD 0.6
/* ns: in which caches of a core, a megabyte, are filled again, 64 bytes in 10 ns. */
#define REFILL_NS 150e3
/* Of the log of one burst's rate: what is known of a program rests on few. By hand: of a single burst the rate was off
 * by .7, of 23 by .2. */
#define BURST_SD 0.5
/* Instructions of one burst, at most (emulate.c). */
#define BURST 10000.0
#define CYCLE_MOST 1e3 /* ns: more is damage */

static double cycle_of(const struct counts_record *r)
{
	const char *s = r->profile ? profile_meta(r->profile, "cycle_ns") : NULL;
	double ns = s ? strtod(s, NULL) : NAN;

	return ns > 0 && ns < CYCLE_MOST ? ns : NAN;
}

/* The part of its time that the program may run on caches of others; of all of it where switches are not known. */
static double part_cold(const struct counts_record *r)
{
	const char *s = r->profile ? profile_meta(r->profile, "switches_per_cpu_ns") : NULL;
	double rate = s ? strtod(s, NULL) : NAN;

	return rate >= 0 ? fmin(1, rate * REFILL_NS) : 1;
}

struct model_rate counts_model_rate(const struct counts_record *r)
{
	struct model_rate m = { .per_ns = NAN, .log_var = NAN };
	double timed = 0, time = 0, work = 0, usual, cold, cycle = cycle_of(r),
	       *repeated = counts_repeats_cycles(r, &usual);

	for (size_t g = 0; repeated && usual > 0 && !isnan(cycle) && g < r->funcs; g++) {
		const struct fmt_counts_func *f = &r->func[g];

		timed += f->timed;
		time += f->self_ns;
		work += f->self_ns / (counts_pace_repeated(f->timed, f->cycles, usual, 0, repeated[g]) * usual);
	}
	free(repeated);
	if (!(time > 0))
		return m;
	m.per_ns = MODEL_SHORT * work / time / cycle;
	cold = COLD_SD * part_cold(r);
	m.log_var = MODEL_SD * MODEL_SD + cold * cold + BURST_SD * BURST_SD * BURST / fmax(timed, BURST);
	return m;
}
