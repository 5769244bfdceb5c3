// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/syscall_stretch.h"

#include <math.h>
#include <string.h>

#define INTERVAL_NS 150e6 /* what stretches may cost at once is earned in this time */
/* Part of a stretch's cost that the account must hold. An account is filled with a quarter of a second's worth before
 * others get the rest, so to ask for all of it, or more, is to wait for what may never come; the debt delays the
 * next. */
#define NEEDED 0.9
#define CUT_AT 8.0     /* times what is planned: a target that runs by turns does all its calls in a part of the time */
#define LONGEST_NS 1e9 /* of a stretch, where calls are cheap; by hand */
#define FIRST_NS 3e6   /* of calls nothing is known yet, the target's or others' */
#define SHORTEST_NS 1e5       /* of a stretch; by hand */
#define LONGEST_PAUSE_NS 10e9 /* between stretches; by hand */
/* Until a call of the targets was met: a recording of seconds would end without one. The next is as short as others'
 * calls ask for, so they lose a sixth of the budget. */
#define FIRST_PAUSE_NS 1e9
/* Stretches that meet calls and do not wait for the account: it is empty at first, and a target that sleeps, or a dear
 * timer, fills it in many seconds only. As planned all of them cost what is earned in .6 s. */
#define ON_CREDIT 4
#define KEPT                                                                                                           \
	0.9 /* of what is known of the cost, at each stretch; it is the mean over quiet and busy times that counts */
#define RESTS 150.0       /* times what a question took, until the next: together they take .7 % of a CPU */
#define LEAST_REST_NS 1e9 /* between questions that are not at the ends of stretches: they are for the totals alone */

void stretch_init(struct syscall_stretch *p, double budget, unsigned cpus)
{
	memset(p, 0, sizeof(*p));
	p->budget = budget;
	p->cpus = cpus ? cpus : 1;
	p->others_rate = NAN;
}

static double planned(double rate)
{
	return rate * INTERVAL_NS;
}

double stretch_limit(double rate)
{
	return CUT_AT * planned(rate);
}

double stretch_needs(double rate)
{
	return NEEDED * planned(rate);
}

/* What others may lose at once. */
static double others_limit(const struct syscall_stretch *p)
{
	return p->budget * p->cpus * INTERVAL_NS;
}

bool stretch_on_credit(const struct syscall_stretch *p)
{
	return p->met < ON_CREDIT;
}

uint64_t stretch_begin(struct syscall_stretch *p, uint64_t from, double rate)
{
	double length = LONGEST_NS;

	p->on = true;
	p->began = from;
	if (!p->claimed)
		p->claimed = from;
	if (!(p->known_ns > 0))
		length = FIRST_NS;
	if (p->known_cost > 0)
		length = fmin(length, planned(rate) * p->known_ns / p->known_cost);
	if (p->others_rate > 0)
		length = fmin(length, others_limit(p) / p->others_rate);
	p->until = from + (uint64_t)fmax(length, SHORTEST_NS);
	return p->until;
}

bool stretch_due(const struct syscall_stretch *p, uint64_t now, uint64_t over_at)
{
	return over_at || now >= p->until;
}

/* shape: figures of one stretch, all of them measured by the caller. */
bool stretch_end(struct syscall_stretch *p, uint64_t now, uint64_t over_at, double cost, double earned, double others,
		 double spread)
{
	uint64_t end = over_at > p->began && over_at < now ? over_at : now;
	double attached = now > p->began ? (double)(now - p->began) : 1, pause, need_others, stands_for, longest;

	p->on = false;
	p->ended = end;
	p->observed = end > p->began ? end - p->began : 1;
	p->others_rate = others / attached;
	p->met += cost > 0;
	stands_for = end > p->claimed ? (double)(end - p->claimed) : 0;
	p->claimed = end;
	/* never for less than itself: clocks are read one after the other */
	p->factor = fmax(1, stands_for / (double)p->observed);
	p->known_ns = KEPT * p->known_ns + stands_for;
	p->known_cost = KEPT * p->known_cost + stands_for * cost / (over_at ? (double)p->observed : attached);
	need_others = others / (p->budget * p->cpus);
	if (!over_at && cost <= earned * attached && need_others <= attached) {
		p->next = now;
		return true;
	}
	pause = fmax(INTERVAL_NS, need_others - attached) * (0.5 + spread);
	longest = p->known_cost > 0 ? LONGEST_PAUSE_NS : FIRST_PAUSE_NS;
	p->next = now + (uint64_t)fmin(pause, longest);
	return false;
}

/* The first may have to bring the threads' data into the caches: a cheaper one is believed at once, a dearer one, which
 * an interrupt may have lengthened, by and by. */
void stretch_asked(struct syscall_stretch *p, double cpu_ns)
{
	p->asked_ns = !(p->asked_ns > 0) || cpu_ns < p->asked_ns ? cpu_ns : KEPT * p->asked_ns + (1 - KEPT) * cpu_ns;
}

bool stretch_encloses(const struct syscall_stretch *p)
{
	return 2 * RESTS * p->asked_ns <= INTERVAL_NS;
}

double stretch_rest(const struct syscall_stretch *p)
{
	return fmax(RESTS * p->asked_ns, LEAST_REST_NS);
}
