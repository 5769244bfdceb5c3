// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/session_breakpoints.h"

#include "record/breakpoint_gate.h"
#include "record/session_priv.h"
#include "util/clock.h"

#define BREAKPOINTS 4 /* of a thread, as x86-64 has them (DR0 to DR3) */

unsigned session_breakpoints_free(const struct session *s)
{
	return s->breakpoints < BREAKPOINTS ? BREAKPOINTS - s->breakpoints : 0;
}

void session_breakpoints_take(struct session *s, unsigned n)
{
	s->breakpoints += n;
	s->armed = true;
	cost_attached_take(&s->attached, n, clock_now());
	s->marked = true;
}

void session_breakpoints_give(struct session *s, unsigned n)
{
	s->breakpoints -= n < s->breakpoints ? n : s->breakpoints;
	cost_attached_give(&s->attached, n, clock_now());
}

void session_breakpoints_take_apart(struct session *s, unsigned n)
{
	s->breakpoints += n;
	s->armed = true;
}

void session_breakpoints_give_apart(struct session *s, unsigned n)
{
	s->breakpoints -= n < s->breakpoints ? n : s->breakpoints;
}

void session_breakpoints_user(struct session *s)
{
	if (!s->attached.users++)
		s->attached.switch_ns = session_price(s, PRICE_SWITCH_ATTACHED);
}

double session_attached_cost(const struct session *s, const struct sample *m)
{
	return cost_attached_ns(&s->attached, m->time, switch_rate_of(&s->switches), (double)m->period);
}

bool session_breakpoints_rest(const struct session *s)
{
	return cost_attached_rests(&s->attached, clock_now(), switch_rate_of(&s->switches),
				   ledger_rate(&s->ledger, ACCOUNT_ATTACHED));
}

double session_attached_entry(const struct session *s, double running)
{
	return cost_attached_entry(&s->attached, clock_now(), switch_rate_of(&s->switches), running);
}

void session_breakpoints_want(struct session *s, bool want)
{
	s->breakpoints_wanted = want;
}

bool session_breakpoints_wanted(const struct session *s)
{
	return s->breakpoints_wanted;
}

double session_switch_cost(struct session *s)
{
	if (s->switch_ns <= 0)
		s->switch_ns = session_price(s, PRICE_SWITCH_BREAKPOINT);
	return s->switch_ns;
}

bool session_breakpoints_open(const struct session *s)
{
	return s->o.breakpoints && breakpoint_gate_open(s->o.breakpoints);
}

bool session_breakpoints_forbidden(struct session *s)
{
	/* not known is not few */
	bool forbidden = s->timer_switch_ns > 0 && !(switch_rate_of(&s->switches) * s->timer_switch_ns <
						     ledger_rate(&s->ledger, ACCOUNT_SWITCHES));

	s->totals.put_off += forbidden;
	return forbidden;
}
