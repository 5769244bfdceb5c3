// SPDX-License-Identifier: GPL-2.0-or-later
#include "counts/drawn_time.h"

#include <math.h>
#include <stddef.h>

#include "counts/counts_windows.h"
#include "counts/segment_rate.h"
#include "util/normal.h"

#define TICKS_LEAST 10.0 /* fewer tell a mean within a third at best */

/* Of all time. */
static struct drawn_running in_the_mean(const struct counts_record *r)
{
	double wall = r->profile ? (double)r->profile->duration_ns : 0, user = 0, samples = 0;

	for (size_t i = 0; i < r->funcs; i++) {
		user += r->func[i].self_ns;
		samples += (double)r->func[i].samples;
	}
	return (struct drawn_running){ .cpus = wall > 0 && user > 0 ? user / wall : NAN, .ticks = samples };
}

/* One of a piece that was cut short stands for more time than others do. */
static double ticks_alike(const struct drawn_time *t)
{
	return t->square > 0 ? t->running * t->running / t->square : 0;
}

struct drawn_running drawn_running(const struct counts_record *r)
{
	struct drawn_running all = in_the_mean(r), drawn;
	const struct drawn_time *t = &r->drawn_time;

	drawn.ticks = ticks_alike(t);
	if (!(t->stretches >= STRETCHES_LEAST) || !(drawn.ticks >= TICKS_LEAST))
		return all;
	drawn.cpus = t->running / t->stretches;
	if (isnan(all.cpus) || fabs(drawn.cpus / all.cpus - 1) > Z95 / sqrt(drawn.ticks))
		return drawn;
	return all;
}
