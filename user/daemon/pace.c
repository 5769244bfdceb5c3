// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pace.h"
#include "daemon/account.h"

#include <math.h>

#define MEMORY_S 86400.0 /* the duty is that of about a day */

void pace_pass(struct pace *p, double target, double seconds)
{
	double turn = p->rate * ACCOUNT_TURN_S, most = target / 3600 * ACCOUNT_SAVED_S;

	p->passed += seconds;
	if (p->passed > MEMORY_S) {
		p->passed /= 2;
		p->recorded /= 2;
	}
	p->credit += target / 3600 * seconds;
	if (p->credit > (most > turn ? most : turn))
		p->credit = most > turn ? most : turn;
}

void pace_begin(struct pace *p)
{
	p->turn_s = 0;
}

void pace_record(struct pace *p, double seconds, double guess)
{
	p->credit -= (p->rate > 0 ? p->rate : guess) * seconds;
	p->turn_s += seconds;
	p->recorded += seconds;
}

void pace_learn(struct pace *p, double samples, double seconds)
{
	if (!(samples >= 0) || !(seconds > 1))
		return;
	p->rate = p->rate > 0 ? (p->rate + samples / seconds) / 2 : samples / seconds;
}

bool pace_may(struct pace *p, double target)
{
	if (!(target > 0))
		p->resting = false;
	else if (p->credit < 0 && p->turn_s >= ACCOUNT_TURN_S)
		p->resting = true;
	else if (p->resting && p->credit >= p->rate * ACCOUNT_TURN_S)
		p->resting = false;
	return !p->resting;
}

double pace_duty(const struct pace *p)
{
	return p->passed > 0 ? p->recorded / p->passed : NAN;
}
