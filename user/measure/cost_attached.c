// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost_attached.h"

#define BUNCH_NS 1000000000ull
#define PART (1.0 / 3) /* of the budget */

bool attached_at(const struct attached *a, uint64_t time)
{
	return a->held || time < a->until;
}

void attached_take(struct attached *a, unsigned n, uint64_t now)
{
	if (!attached_at(a, now))
		a->since = now;
	a->held += n;
}

void attached_give(struct attached *a, unsigned n, uint64_t now)
{
	a->held -= n < a->held ? n : a->held;
	a->until = now + ATTACHED_LINGER_NS;
}

static double share(const struct attached *a, double rate, double cpu_ns)
{
	return rate > 0 && a->switch_ns > 0 && a->users ? cpu_ns * rate * a->switch_ns / a->users : 0;
}

double attached_cost(const struct attached *a, uint64_t time, double rate, double cpu_ns)
{
	return attached_at(a, time) ? share(a, rate, cpu_ns) : 0;
}

bool attached_rests(const struct attached *a, uint64_t now, double rate, double budget)
{
	double lost = rate > 0 && a->switch_ns > 0 ? rate * a->switch_ns : 0, may = budget * PART;

	if (!a->since || lost <= may)
		return false;
	if (attached_at(a, now))
		return now > a->since + BUNCH_NS;
	return (double)(now - a->until) < (double)(a->until - a->since) * (lost / may - 1);
}

double attached_entry(const struct attached *a, uint64_t now, double rate, double running)
{
	return attached_at(a, now) ? 0 : share(a, rate, (double)ATTACHED_LINGER_NS * running);
}
