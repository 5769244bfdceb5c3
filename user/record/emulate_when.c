// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/emulate_when.h"

#include <math.h>

#include "measure/price_table.h"
#include "util/random.h"

#define COST_SPEED 0.05 /* of the running mean of a burst's cost; by hand */
#define RATE_SPEED 0.3  /* of the running mean of samples a second; by hand */

void emulate_when_begin(struct emulate_when *w, double part, double target_part, double period_ns, uint64_t seed)
{
	*w = (struct emulate_when){ .part = part,
				    .target_part = target_part,
				    .own_ns = price_assumed(PRICE_BURST_OWN),
				    .target_ns = price_assumed(PRICE_BURST),
				    .rate = 1e9 / period_ns,
				    .period_ns = period_ns,
				    .random = seed | 1 };
	emulate_when_draw(w);
}

bool emulate_when_sample(struct emulate_when *w)
{
	if (!w->skip)
		return true;
	w->skip--;
	return false;
}

void emulate_when_draw(struct emulate_when *w)
{
	double chance = fmin(w->part * 1e9 / (w->rate * w->own_ns), w->target_part * w->period_ns / w->target_ns);

	w->skip = chance < 1 ? (uint64_t)fmin(log(random_unit(&w->random)) / log1p(-chance), 1e9) : 0;
}

static double of_late(double mean, double value, uint64_t n)
{
	return mean + fmax(COST_SPEED, 1 / (double)(n + 1)) * (value - mean);
}

void emulate_when_own(struct emulate_when *w, double ns)
{
	w->own_ns = fmax(1, of_late(w->own_ns, ns, ++w->bursts));
}

void emulate_when_target(struct emulate_when *w, double ns)
{
	w->target_ns = fmax(1, of_late(w->target_ns, ns, ++w->taken));
}

double emulate_when_paid(const struct emulate_when *w, double own_ns, double target_ns)
{
	return fmax(own_ns / w->part, target_ns / w->target_part);
}

void emulate_when_second(struct emulate_when *w, uint64_t now)
{
	double rate;

	if (w->second && now > w->second) {
		rate = (double)(w->samples - w->samples_then) * 1e9 / (double)(now - w->second);
		w->rate = fmax(1, w->rate + RATE_SPEED * (rate - w->rate));
	}
	w->second = now;
	w->samples_then = w->samples;
}

uint64_t emulate_when_wait(const struct emulate_when *w)
{
	return (uint64_t)((double)w->skip * 1e9 / w->rate);
}
