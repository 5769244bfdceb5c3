// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/tick_forecast.h"

void tick_forecast_seen(struct tick_forecast *b, uint64_t timer, uint64_t time, uint64_t period_ns)
{
	unsigned at = 0, oldest = 0;

	while (at < b->count && b->of[at].timer != timer) {
		if (b->of[at].last < b->of[oldest].last)
			oldest = at;
		at++;
	}
	if (at == BEAT_TIMERS)
		at = oldest;
	else if (at == b->count)
		b->count++;
	else if (time < b->of[at].last)
		return;
	b->of[at] = (struct beat){ timer, time, period_ns };
}

uint64_t tick_forecast_next(const struct tick_forecast *b, uint64_t after)
{
	uint64_t first = 0;

	for (unsigned i = 0; i < b->count; i++) {
		uint64_t last = b->of[i].last, period_ns = b->of[i].period_ns, due;

		if (!period_ns || (after > last && after - last > BEAT_SILENT * period_ns))
			continue;
		due = after < last ? last : last + ((after - last) / period_ns + 1) * period_ns;
		if (due > after && (!first || due < first))
			first = due;
	}
	return first;
}
