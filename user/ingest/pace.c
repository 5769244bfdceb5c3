// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/pace.h"

int pace_wait_ms(bool soon, unsigned idle)
{
	if (!soon || idle > PACE_MANY)
		return PACE_IDLE_MS;
	return idle > PACE_SOME ? PACE_LATER_MS : PACE_SOON_MS;
}
