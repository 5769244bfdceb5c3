// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost.h"

#include <sys/resource.h>

#include "kmod-free/planter.h"
#include "util/clock.h"

uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + planter_cpu_ns();
}

uint64_t own_peak_rss(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : (uint64_t)u.ru_maxrss * 1024;
}
