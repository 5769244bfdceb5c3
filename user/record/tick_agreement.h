/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the kernel's own ticks meet the target as the timers' do. The former come at fixed times: a program that
 * wakes by the clock, in step with them, is met at one place of its round or never. The timers' period is in step with
 * nothing, so they are the measure. Both fall into the same seconds of the same threads, and what differs between two
 * sets of samples but for chance is the places. Pure logic, no clock. Included by the recorder and tests.
 */
#ifndef ACCPERF_RECORD_TICK_AGREEMENT_H
#define ACCPERF_RECORD_TICK_AGREEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sample.h"

#define TICK_PLACES 64 /* into which code is sorted: enough to tell parts of a program apart, few enough to fill */

struct tick_agreement {
	uint32_t timer[TICK_PLACES], kernel[TICK_PLACES];
	double expected; /* ticks of the kernel */
	uint32_t timers; /* ticks of timers in all */
};

/* A tick of a timer, for which so many of the kernel's come, or one of these. */
void tick_agreement_seen(struct tick_agreement *a, const struct sample *m, double more);
/* True: both meet the same, or it is too early to tell. */
bool tick_agreement_holds(const struct tick_agreement *a);

#endif
