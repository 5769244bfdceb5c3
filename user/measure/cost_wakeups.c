// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost_wakeups.h"

#include <math.h>

#include "measure/price_table.h"

#define SAVED_NS 100e6 /* what is not used for looks is kept for so long */
#define CLOSELY 5e-6   /* switches per ns: every 0.2 ms */

double wakeups_cost(double ns, double rate, double wake_ns, unsigned cpus)
{
	return rate > 0 && cpus > 1 ? ns + wake_ns * fmin(1, rate * ns) : ns;
}

bool wakeups_closely(double rate)
{
	return rate > CLOSELY;
}

double wakeups_look(double running, unsigned cpus, bool closely)
{
	return price_assumed(closely ? PRICE_LOOK_CLOSE : PRICE_LOOK) * fmax(0, fmin(1, running - (cpus - 1.0)));
}

void wakeups_spend(struct wakeups *l, uint64_t now, double price, double may)
{
	if (l->at && now > l->at)
		l->balance = fmin(l->balance + may * (double)(now - l->at), may * SAVED_NS);
	l->at = now;
	l->balance -= price;
}

uint64_t wakeups_rest(const struct wakeups *l, double may)
{
	return l->balance < 0 && may > 0 ? (uint64_t)fmin(-l->balance / may, 1e9) : 0;
}
