// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost_watch.h"

#include <math.h>

#include "measure/price_table.h"

#define MEMORY_TICKS 5000.0 /* samples after which older ones weigh 1/e */
#define LEAST_LOSING 0.01   /* threads: one that sleeps nearly all the time loses when it wakes up */

void cost_watch_init(struct cost_watch *c)
{
	*c = (struct cost_watch){ .hit_ns = price_assumed(PRICE_WATCH_HIT),
				  .arm_ns = price_assumed(PRICE_WATCH_ARM),
				  .wake_ns = price_assumed(PRICE_WATCH_WAKE) };
}

void cost_watch_prices(struct cost_watch *c, double hit_ns, double arm_ns, double wake_ns)
{
	if (hit_ns > 0)
		c->hit_ns = hit_ns;
	if (arm_ns > 0)
		c->arm_ns = arm_ns;
	if (wake_ns > 0)
		c->wake_ns = wake_ns;
}

double cost_watch_window(const struct cost_watch *c, double hits, double phases, double threads, double running)
{
	return c->hit_ns * hits + phases * (c->wake_ns + c->arm_ns * fmin(running, threads));
}

void cost_watch_switching(struct cost_watch *c, double rate, double cost_ns)
{
	c->switch_share = rate > 0 && cost_ns > 0 ? rate * cost_ns : 0;
}

void cost_watch_tick(struct cost_watch *c, bool string, bool kernel)
{
	double keep = 1 - 1 / MEMORY_TICKS;

	c->ticks = c->ticks * keep + 1;
	c->string_ticks = c->string_ticks * keep + string;
	c->kernel_ticks = c->kernel_ticks * keep + kernel;
}

static double crawling(double strings, double kernel)
{
	return price_assumed(PRICE_ARMED_STRINGS) * strings + price_assumed(PRICE_ARMED_KERNEL) * kernel;
}

double cost_watch_slowdown(const struct cost_watch *c)
{
	/* half a sample more than was seen: with few samples nothing is excluded yet */
	double n = c->ticks + 1;

	return c->switch_share + crawling((c->string_ticks + 0.5) / n, c->kernel_ticks / n);
}

/* In a slowed-down stretch the target does 1/(1+slow) of its work: never more than all is lost. */
static double lost_time(double wall_ns, double running, double slow)
{
	return wall_ns * fmax(running, LEAST_LOSING) * slow / (1 + slow);
}

double cost_watch_armed(const struct cost_watch *c, double wall_ns, double running)
{
	return lost_time(wall_ns, running, cost_watch_slowdown(c));
}

double cost_watch_armed_likely(const struct cost_watch *c, double wall_ns, double running)
{
	double copies = c->ticks > 0 ? crawling(c->string_ticks / c->ticks, c->kernel_ticks / c->ticks) : 0;

	return lost_time(wall_ns, running, copies + c->switch_share);
}

double cost_watch_slots(const struct cost_watch *c, double slot_ns, double running)
{
	return slot_ns > 0 ? lost_time(slot_ns, running, c->switch_share) : 0;
}
