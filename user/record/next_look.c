// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the recorder looks at its rings again: as seldom as nothing waits, just after a tick where a part wants its
 * sample fresh, and not before it is earned where looks are dear.
 */
#include "measure/cost.h"
#include "record/poll_interval.h"
#include "record/session_priv.h"
#include "util/clock.h"

#define SENT_NS 20000   /* after a tick: by then its record is in the ring */
#define LATE_NS 60000   /* a tick may be late: looked for again after so long */
#define TRIES 3         /* looks for a sample that is due; by hand */
#define WANTED_MS 3     /* where ticks cannot be foreseen */
#define APART_NS 400000 /* many CPUs tick one after the other; not all of them are awaited */

static double may_look(const struct session *s)
{
	return ledger_rate(&s->ledger, ACCOUNT_LOOKS) * s->running;
}

void session_count_look(struct session *s, uint64_t now)
{
	s->look_count++;
	double cost = wakeups_look(s->running, s->cpus, session_waits_for_itself(s));

	ledger_spend(&s->ledger, ACCOUNT_LOOKS, cost);
	wakeups_spend(&s->looks, now, cost, may_look(s));
}

void session_soon(struct session *s, unsigned ms)
{
	if (!s->soon_ms || ms < s->soon_ms)
		s->soon_ms = ms;
}

void session_want_sample(struct session *s, uint64_t not_before)
{
	if (!s->wanted || not_before < s->wanted)
		s->wanted = not_before ? not_before : 1;
}

/* When to look for the next tick's sample; 0: nobody wants it, or no telling. */
static uint64_t tick_at(struct session *s, uint64_t now, bool again)
{
	if (!s->wanted || s->idle_polls > PACE_SOME)
		return 0;
	if (again && s->due && s->newest + LATE_NS < s->due && s->tries++ < TRIES && now < s->due + s->period_ns / 2)
		return now + LATE_NS;
	s->tries = 0;
	s->due = tick_forecast_next(&s->beats, now + APART_NS > s->wanted ? now + APART_NS : s->wanted);
	return s->due ? s->due + SENT_NS : 0;
}

/* Until a look is earned again, where looks are dear. */
static uint64_t rest_ns(const struct session *s)
{
	uint64_t most = PACE_IDLE_MS * 1000000ull,
		 rest = session_waits_for_itself(s) ? wakeups_rest(&s->looks, may_look(s)) : 0;

	return rest < most ? rest : most;
}

uint64_t session_wait_ns(struct session *s)
{
	uint64_t now = clock_now(), rest = rest_ns(s), tick, ns;
	unsigned soon;

	/* then just after a tick, too */
	if (s->wanted && s->wanted < now + rest)
		s->wanted = now + rest;
	tick = tick_at(s, now, !rest);
	soon = s->wanted && !tick && (!s->soon_ms || s->soon_ms > WANTED_MS) ? WANTED_MS : s->soon_ms;
	ns = (uint64_t)poll_interval_ms(soon, s->idle_polls) * 1000000;
	ns = ns < rest ? rest : ns;
	if (tick && (!soon || rest || tick < now + ns))
		ns = tick > now ? tick - now : 0;
	return ns;
}
