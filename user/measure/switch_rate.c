// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/switch_rate.h"

#include <errno.h>
#include <math.h>

#define MEMORY 1000.0 /* intervals after which older ones weigh 1/e */
#define ENOUGH 10.0   /* intervals, before a rate is told; by hand */

int switch_rate_tick(struct switch_rate *s, uint32_t tid, uint64_t total, double period_ns)
{
	double keep = 1 - 1 / MEMORY;
	bool added;
	uint64_t *last = map_put(&s->last, tid, &added);

	if (!last)
		return -ENOMEM;
	/* fewer than before: another thread of that number, whose beginning was not sampled */
	if (!added && total >= *last) {
		s->count = s->count * keep + (double)(total - *last);
		s->cpu_ns = s->cpu_ns * keep + period_ns;
		s->intervals = s->intervals * keep + 1;
	}
	*last = total;
	return 0;
}

void switch_rate_exit(struct switch_rate *s, uint32_t tid)
{
	map_del(&s->last, tid);
}

double switch_rate_of(const struct switch_rate *s)
{
	return s->intervals >= ENOUGH && s->cpu_ns > 0 ? s->count / s->cpu_ns : NAN;
}

void switch_rate_release(struct switch_rate *s)
{
	map_release(&s->last);
}
