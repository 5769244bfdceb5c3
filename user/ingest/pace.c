// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/pace.h"

int pace_wait_ms(unsigned soon_ms, unsigned idle)
{
	unsigned ms = idle > PACE_SOME ? PACE_LATER * soon_ms : soon_ms;

	return !soon_ms || idle > PACE_MANY || ms > PACE_IDLE_MS ? PACE_IDLE_MS : (int)ms;
}
