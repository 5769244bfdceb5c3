// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost_attached.h"

#define BUNCH_NS 1000000000ull /* attached for at most so long at a time; by hand */

bool cost_attached_at(const struct cost_attached *a, uint64_t time)
{
	return a->held || time < a->until;
}

void cost_attached_take(struct cost_attached *a, unsigned n, uint64_t now)
{
	if (!cost_attached_at(a, now))
		a->since = now;
	a->held += n;
}

void cost_attached_give(struct cost_attached *a, unsigned n, uint64_t now)
{
	a->held -= n < a->held ? n : a->held;
	a->until = now + ATTACHED_LINGER_NS;
}

static double share(const struct cost_attached *a, double rate, double cpu_ns)
{
	return rate > 0 && a->switch_ns > 0 && a->users ? cpu_ns * rate * a->switch_ns / a->users : 0;
}

double cost_attached_ns(const struct cost_attached *a, uint64_t time, double rate, double cpu_ns)
{
	return cost_attached_at(a, time) ? share(a, rate, cpu_ns) : 0;
}

bool cost_attached_rests(const struct cost_attached *a, uint64_t now, double rate, double may)
{
	double lost = rate > 0 && a->switch_ns > 0 ? rate * a->switch_ns : 0;

	if (!a->since || lost <= may)
		return false;
	if (cost_attached_at(a, now))
		return now > a->since + BUNCH_NS;
	return (double)(now - a->until) < (double)(a->until - a->since) * (lost / may - 1);
}

double cost_attached_entry(const struct cost_attached *a, uint64_t now, double rate, double running)
{
	return cost_attached_at(a, now) ? 0 : share(a, rate, (double)ATTACHED_LINGER_NS * running);
}
