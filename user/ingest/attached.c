// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/attached.h"

void attached_take(struct attached *a, unsigned n)
{
	a->held += n;
}

void attached_give(struct attached *a, unsigned n, uint64_t now)
{
	a->held -= n < a->held ? n : a->held;
	a->until = now + ATTACHED_LINGER_NS;
}

bool attached_at(const struct attached *a, uint64_t time)
{
	return a->held || time < a->until;
}

static double share(const struct attached *a, double rate, double cpu_ns)
{
	return rate > 0 && a->switch_ns > 0 && a->users ? cpu_ns * rate * a->switch_ns / a->users : 0;
}

double attached_cost(const struct attached *a, uint64_t time, double rate, double cpu_ns)
{
	return attached_at(a, time) ? share(a, rate, cpu_ns) : 0;
}

double attached_entry(const struct attached *a, uint64_t now, double rate, double running)
{
	return attached_at(a, now) ? 0 : share(a, rate, (double)ATTACHED_LINGER_NS * running);
}
