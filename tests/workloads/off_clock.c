// cflags: -O2 -shared -fPIC
// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LD_PRELOAD: the time of day is stepped a year forth and back with every look at it. The other clocks
 * are what they are. For whatever must not measure by the time of day.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

#define YEAR (365 * 86400)

static time_t stepped(time_t t)
{
	static atomic_uint looks;

	return t + (atomic_fetch_add(&looks, 1) & 1 ? YEAR : -YEAR);
}

int clock_gettime(clockid_t c, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int r;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	r = real(c, ts);
	if (!r && (c == CLOCK_REALTIME || c == CLOCK_REALTIME_COARSE))
		ts->tv_sec = stepped(ts->tv_sec);
	return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -1;
	*tv = (struct timeval){ ts.tv_sec, ts.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *at)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts))
		return -1;
	if (at)
		*at = ts.tv_sec;
	return ts.tv_sec;
}
