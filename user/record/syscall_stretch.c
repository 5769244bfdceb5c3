// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/syscall_stretch.h"

#include <math.h>
#include <string.h>

#define INTERVAL_NS 250e6 /* what bursts may cost at once is earned in this time */
/* Part of a burst's cost that the account must hold. An account is filled with a quarter of a second's worth before
 * others get the rest, so to ask for all of it, or more, is to wait for what may never come; the debt delays the
 * next. */
#define NEEDED 0.9
#define LONGEST_NS 1000000000ull
#define FIRST_LOOK_NS 5e6 /* at the machine's other calls, of which nothing is known yet */
#define SHORTEST_NS 1e6
#define LONGEST_PAUSE_NS 10e9

void stretch_init(struct syscall_stretch *p, double budget, unsigned cpus)
{
	memset(p, 0, sizeof(*p));
	p->budget = budget;
	p->cpus = cpus ? cpus : 1;
	p->others_rate = NAN;
}

double stretch_limit(double rate)
{
	return rate * INTERVAL_NS;
}

double stretch_needs(double rate)
{
	return NEEDED * stretch_limit(rate);
}

/* What others may lose at once. */
static double others_limit(const struct syscall_stretch *p)
{
	return p->budget * p->cpus * INTERVAL_NS;
}

uint64_t stretch_begin(struct syscall_stretch *p, uint64_t now)
{
	double look = FIRST_LOOK_NS;

	p->on = true;
	p->began = now;
	if (!p->claimed)
		p->claimed = now;
	if (p->others_rate > 0)
		look = others_limit(p) / p->others_rate;
	if (look < SHORTEST_NS)
		look = SHORTEST_NS;
	return now + (look < (double)LONGEST_NS ? (uint64_t)look : LONGEST_NS);
}

bool stretch_due(const struct syscall_stretch *p, uint64_t now, uint64_t over_at, double others)
{
	return over_at || now - p->began >= LONGEST_NS || others > others_limit(p);
}

/* shape: figures of one stretch, all of them measured by the caller. */
bool stretch_end(struct syscall_stretch *p, uint64_t now, uint64_t over_at, double cost, double earned, double others,
		 double spread)
{
	uint64_t end = over_at > p->began && over_at < now ? over_at : now;
	double attached = (double)(now - p->began), pause, need_others;

	p->on = false;
	p->ended = end;
	p->observed = end > p->began ? end - p->began : 1;
	p->others_rate = attached > 0 ? others / attached : NAN;
	need_others = others / (p->budget * p->cpus);
	if (!over_at && cost <= earned * attached && need_others <= attached) {
		p->next = now;
		return true;
	}
	pause = fmax(INTERVAL_NS, need_others - attached) * (0.5 + spread);
	p->next = now + (uint64_t)fmin(pause, LONGEST_PAUSE_NS);
	return false;
}

double stretch_factor(struct syscall_stretch *p, uint64_t next, bool last)
{
	uint64_t pause = next > p->ended ? next - p->ended : 0, until = p->ended + (last ? pause : pause / 2);
	double stands_for = until > p->claimed ? (double)(until - p->claimed) : 0;

	p->claimed = until;
	/* never for less than itself: clocks are read one after the other */
	return fmax(1, stands_for / (double)p->observed);
}
