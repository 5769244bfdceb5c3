// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/account.h"

#define BEGIN_S 5.0        /* attaching and first names, dearer than what follows */
#define BEGIN_COST 0.6     /* until it was seen */
#define RUNNING_COST 0.05  /* part of a CPU, until it was seen; by hand */
#define TURN_S 30.0        /* a shorter one would be its beginning alone */
#define MOST_SAVED_S 600.0 /* of idle time is not spent at once */

static double turn_price(const struct account *a)
{
	return a->begin_cost + a->running * TURN_S;
}

void account_open(struct account *a, double rate)
{
	*a = (struct account){ .begin_cost = BEGIN_COST, .running = RUNNING_COST };
	a->credit = turn_price(a);
}

void account_earn(struct account *a, double rate, double seconds)
{
	double most = rate * MOST_SAVED_S;

	if (most < turn_price(a))
		most = turn_price(a);
	a->credit += rate * seconds;
	if (a->credit > most)
		a->credit = most;
}

void account_begin(struct account *a)
{
	a->turn_spent = a->turn_s = 0;
}

void account_spend(struct account *a, double cpu_seconds, double seconds)
{
	bool began = a->turn_s >= BEGIN_S;

	a->credit -= cpu_seconds;
	a->turn_spent += cpu_seconds;
	a->turn_s += seconds;
	if (!began)
		a->begin_cost = a->turn_spent > BEGIN_COST / 4 ? a->turn_spent : BEGIN_COST / 4;
	else if (a->turn_s > BEGIN_S)
		a->running = (a->turn_spent - a->begin_cost) / (a->turn_s - BEGIN_S);
}

bool account_may(struct account *a, double rate)
{
	if (a->credit < 0)
		a->resting = true;
	else if (a->resting && a->credit >= turn_price(a))
		a->resting = false;
	return !a->resting;
}
