// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/poll_interval.h"

int poll_interval_ms(unsigned soon_ms, unsigned idle)
{
	unsigned ms = idle > PACE_SOME ? PACE_LATER * soon_ms : soon_ms;

	return !soon_ms || idle > PACE_MANY || ms > PACE_IDLE_MS ? PACE_IDLE_MS : (int)ms;
}

bool poll_interval_prompt(unsigned *passed, uint64_t age_ns, uint64_t most_ns)
{
	bool take = age_ns < PACE_PROMPT_NS || (age_ns < most_ns && *passed >= PACE_PASSED);

	*passed = take ? 0 : *passed + 1;
	return take;
}
