/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When the next sample is to be expected. A timer of a CPU ticks with a fixed period whatever runs there, and one of
 * a thread does while that runs on, so the last tick tells all that follow. A recorder that wants a fresh sample
 * sleeps until just after one is due: that costs the target nothing, where being woken for it would cost 30 us, and
 * looking every few ms finds samples that are that old. Pure logic, no clock. Included by this room and tests.
 */
#ifndef ACCPERF_RECORD_TICK_FORECAST_H
#define ACCPERF_RECORD_TICK_FORECAST_H

#include <stdint.h>

#define BEAT_TIMERS 64 /* more are taken in turns: those that ticked last */
#define BEAT_SILENT 16 /* periods without a sample: a CPU that does other things now, a thread that sleeps */

struct tick_forecast {
	struct beat {
		uint64_t timer, last, period_ns;
	} of[BEAT_TIMERS];
	unsigned count;
};

/* A sample by this timer, a number of its CPU or thread, which ticks once a period. */
void tick_forecast_seen(struct tick_forecast *b, uint64_t timer, uint64_t time, uint64_t period_ns);
/* The first time after `after` at which a tick is due; 0: none is known. */
uint64_t tick_forecast_next(const struct tick_forecast *b, uint64_t after);

#endif
