// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/account.h"

#include <math.h>
#include <stddef.h>

#define BEGIN_S 5.0 /* attaching and first names, dearer than what follows */
/* Until it was seen, of kv, ingestd, a loop of Python's and sleep, begun as the daemon begins them, on a busy machine.
 * The first of a machine measure what their ticks and hits cost, .45 to .56 s; later ones begin with .29 to .52 s. */
#define BEGIN_COST 0.6     /* seconds of CPU time */
#define RUNNING_COST 0.03  /* part of a CPU: .007 to .026, and what a busy program loses */
#define END_COST 0.3       /* seconds of CPU time: .02 to .16, and .01 to .1 to read what it wrote */
#define BEGIN_BYTES 20e3   /* names and modules, until it was seen */
#define RUNNING_BYTES 4e3  /* a second, until it was seen; by hand */
#define TURN_S 30.0        /* a shorter one would be its beginning alone */
#define LEAST_S 15.0       /* .5 s of CPU time at most, so that what its beginning took is not lost; by hand */
#define MOST_SAVED_S 600.0 /* seconds: what more of idle time would bring is not spent at once */
#define DAY_S 86400.0      /* seconds */

static double turn_price(const struct turn_account *a)
{
	double running = a->running > 0 ? a->running : 0; /* files shrink now and then */

	return a->begin_cost + running * TURN_S + a->end_cost;
}

void account_open(struct turn_account *a, double part)
{
	*a = (struct turn_account){ .part = part,
				    .begin_cost = part * BEGIN_COST,
				    .begin_least = part * BEGIN_COST / 4,
				    .running = part * RUNNING_COST,
				    .end_cost = part * END_COST,
				    .saved_s = MOST_SAVED_S,
				    .resting = true };
}

void account_learn(struct turn_account *a, const struct turn_account *const *others, unsigned count)
{
	const struct turn_account *dearest = NULL;
	double times;

	for (unsigned i = 0; i < count; i++)
		if (others[i]->seen &&
		    (!dearest || turn_price(others[i]) / others[i]->part > turn_price(dearest) / dearest->part))
			dearest = others[i];
	if (!dearest || a->seen)
		return;
	times = a->part / dearest->part;
	a->begin_cost = dearest->begin_cost * times;
	a->running = dearest->running * times;
	a->end_cost = (dearest->end_spent > 0 ? dearest->end_spent : dearest->end_cost) * times;
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

void account_join_disk(struct turn_account *a, double rate, struct turn_account *const *others, const double *rates,
		       unsigned count)
{
	double all = rate, takes = 0, price;

	account_open_disk(a, rate, 0);
	price = turn_price(a);
	for (unsigned i = 0; i < count; i++) {
		all += rates[i];
		takes += others[i]->credit > 0 ? others[i]->credit : 0;
	}
	takes *= rate / all;
	a->credit = takes > price ? takes : price;
	for (unsigned i = 0; i < count; i++)
		others[i]->credit -= takes > price ? fmax(others[i]->credit, 0) * rate / all
						   : price * (all > rate ? rates[i] / (all - rate) : 1.0 / count);
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
	else if (a->turn_s >= 2 * BEGIN_S)
		a->running = (a->turn_spent - a->begin_cost) / (a->turn_s - BEGIN_S);
	a->seen = a->seen || a->turn_s >= TURN_S;
}

void account_spend_late(struct turn_account *a, double spent)
{
	a->credit -= spent;
	if (a->resting)
		a->end_spent += spent;
}

bool account_young(const struct turn_account *a)
{
	return !a->resting && a->turn_s < LEAST_S;
}

bool account_may(struct turn_account *a)
{
	if (a->resting && a->credit >= turn_price(a))
		a->resting = false;
	else if (a->credit < a->end_cost)
		a->resting = true;
	return !a->resting;
}
