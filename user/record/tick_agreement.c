// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/tick_agreement.h"

#include <math.h>

#define PLACE_BITS 8    /* of an address that make no other place: a short function's length */
#define ENOUGH 100      /* ticks of timers, before anything is told: a second or two of work; by hand */
#define REMEMBERED 4000 /* ticks of timers: of more, differences would be told that matter to nobody; by hand */
#define CHANCE 6.0      /* standard deviations that chance does not reach in a day of looking once a second */
#define OFF_MOST 0.25   /* the numbers may be off by so much: a busy machine's interrupts come late and together */
#define SPREAD_BITS 58  /* 64 less those that number TICK_PLACES */

/* What was long ago counts for half, again and again. */
static void forget_half(struct tick_agreement *a)
{
	for (unsigned i = 0; i < TICK_PLACES; i++) {
		a->timer[i] /= 2;
		a->kernel[i] /= 2;
	}
	a->expected /= 2;
	a->timers /= 2;
}

void tick_agreement_seen(struct tick_agreement *a, const struct sample *m, double more)
{
	uint64_t place = m->flags & SF_KERNEL ? 0 : (m->ip >> PLACE_BITS) * 0x9e3779b97f4a7c15ull >> SPREAD_BITS;

	if (m->flags & SF_KERNEL_TICK) {
		a->kernel[place]++;
	} else {
		a->timer[place]++;
		a->expected += more;
		if (++a->timers > REMEMBERED)
			forget_half(a);
	}
}

/* By how many standard deviations more than chance has it the two sets differ in their places. */
static double off_places(const struct tick_agreement *a, double timer, double kernel)
{
	double sum = 0, free = -1;

	for (unsigned i = 0; i < TICK_PLACES; i++) {
		double t = a->timer[i], k = a->kernel[i], d = k * sqrt(timer / kernel) - t * sqrt(kernel / timer);

		if (!(t + k > 0))
			continue;
		sum += d * d / (t + k);
		free++;
	}
	return free > 0 ? (sum - free) / sqrt(2 * free) : 0;
}

bool tick_agreement_holds(const struct tick_agreement *a)
{
	double timer = 0, kernel = 0, off;

	for (unsigned i = 0; i < TICK_PLACES; i++) {
		timer += a->timer[i];
		kernel += a->kernel[i];
	}
	if (timer < ENOUGH)
		return true;
	off = kernel - a->expected;
	if (fabs(off) > OFF_MOST * a->expected && fabs(off) > CHANCE * sqrt(kernel + a->expected * a->expected / timer))
		return false;
	return !(kernel > 0) || off_places(a, timer, kernel) < CHANCE;
}
