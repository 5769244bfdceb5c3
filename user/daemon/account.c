// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/account.h"

#define BEGIN_S 5.0        /* attaching and first names, dearer than what follows */
#define BEGIN_COST 0.6     /* seconds of CPU time, until it was seen */
#define RUNNING_COST 0.03  /* part of a CPU, until it was seen: of the programs of bench-daemon */
#define END_COST 0.5       /* seconds of CPU time, until it was seen */
#define BEGIN_BYTES 20e3   /* names and modules, until it was seen */
#define RUNNING_BYTES 4e3  /* a second, until it was seen; by hand */
#define TURN_S 30.0        /* a shorter one would be its beginning alone */
#define MOST_SAVED_S 600.0 /* seconds: what more of idle time would bring is not spent at once */
#define DAY_S 86400.0      /* seconds */

static double turn_price(const struct turn_account *a)
{
	double running = a->running > 0 ? a->running : 0; /* files shrink now and then */

	return a->begin_cost + running * TURN_S + a->end_cost;
}

void account_open(struct turn_account *a, double part)
{
	*a = (struct turn_account){ .begin_cost = part * BEGIN_COST,
				    .begin_least = part * BEGIN_COST / 4,
				    .running = part * RUNNING_COST,
				    .end_cost = part * END_COST,
				    .saved_s = MOST_SAVED_S,
				    .resting = true };
}

double account_lacks(const struct turn_account *a)
{
	double lacks = turn_price(a) - a->credit;

	return lacks > 0 ? lacks : 0;
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
	if (a->end_spent > 0)
		a->end_cost = a->end_spent;
	a->turn_spent = a->turn_s = a->end_spent = 0;
}

void account_spend(struct turn_account *a, double spent, double seconds)
{
	bool began = a->turn_s >= BEGIN_S;

	if (a->resting) {
		account_spend_late(a, spent);
		return;
	}
	a->credit -= spent;
	a->turn_spent += spent;
	a->turn_s += seconds;
	if (!began)
		a->begin_cost = a->turn_spent > a->begin_least ? a->turn_spent : a->begin_least;
	else if (a->turn_s > BEGIN_S)
		a->running = (a->turn_spent - a->begin_cost) / (a->turn_s - BEGIN_S);
}

void account_spend_late(struct turn_account *a, double spent)
{
	a->credit -= spent;
	if (a->resting)
		a->end_spent += spent;
}

bool account_may(struct turn_account *a)
{
	if (a->resting && a->credit >= turn_price(a))
		a->resting = false;
	else if (a->credit < a->end_cost)
		a->resting = true;
	return !a->resting;
}
