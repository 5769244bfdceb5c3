// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/account.h"

#define BEGIN_S 5.0       /* attaching and first names, dearer than what follows */
#define BEGIN_COST 0.6    /* seconds of CPU time, until it was seen */
#define RUNNING_COST 0.05 /* part of a CPU, until it was seen; by hand */
#define BEGIN_BYTES 20e3  /* names and modules, until it was seen */
#define RUNNING_BYTES 4e3 /* a second, until it was seen; by hand */
#define DAY_S 86400.0     /* seconds */

static double turn_price(const struct turn_account *a)
{
	double running = a->running > 0 ? a->running : 0; /* files shrink now and then */

	return a->begin_cost + running * ACCOUNT_TURN_S;
}

void account_open(struct turn_account *a, double rate)
{
	*a = (struct turn_account){ .begin_cost = BEGIN_COST,
				    .begin_least = BEGIN_COST / 4,
				    .running = RUNNING_COST,
				    .saved_s = ACCOUNT_SAVED_S };
	a->credit = turn_price(a);
}

double account_disk_rate(double daily)
{
	return daily / (DAY_S + ACCOUNT_DISK_SAVED_S);
}

void account_open_disk(struct turn_account *a, double rate, double written)
{
	*a = (struct turn_account){ .begin_cost = BEGIN_BYTES,
				    .begin_least = BEGIN_BYTES / 4,
				    .running = RUNNING_BYTES,
				    .saved_s = ACCOUNT_DISK_SAVED_S };
	a->credit = rate * ACCOUNT_DISK_SAVED_S - written;
}

void account_earn(struct turn_account *a, double rate, double seconds)
{
	double most = rate * a->saved_s;

	if (most < turn_price(a))
		most = turn_price(a);
	a->credit += rate * seconds;
	if (a->credit > most)
		a->credit = most;
}

void account_begin(struct turn_account *a)
{
	a->turn_spent = a->turn_s = 0;
}

void account_spend(struct turn_account *a, double spent, double seconds)
{
	bool began = a->turn_s >= BEGIN_S;

	a->credit -= spent;
	a->turn_spent += spent;
	a->turn_s += seconds;
	if (!began)
		a->begin_cost = a->turn_spent > a->begin_least ? a->turn_spent : a->begin_least;
	else if (a->turn_s > BEGIN_S)
		a->running = (a->turn_spent - a->begin_cost) / (a->turn_s - BEGIN_S);
}

bool account_may(struct turn_account *a, double rate)
{
	if (a->credit < 0)
		a->resting = true;
	else if (a->resting && a->credit >= turn_price(a))
		a->resting = false;
	return !a->resting;
}
