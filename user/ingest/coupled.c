// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/coupled.h"

#include <math.h>

#define CLOSELY 5e-6 /* switches per ns: every 0.2 ms */

double coupled_cost(double ns, double rate, double wake_ns, unsigned cpus)
{
	return rate > 0 && cpus > 1 ? ns + wake_ns * fmin(1, rate * ns) : ns;
}

bool coupled_closely(double rate)
{
	return rate > CLOSELY;
}

double coupled_look(double running, unsigned cpus)
{
	return COUPLED_LOOK_NS * fmax(0, fmin(1, running - (cpus - 1.0)));
}
