// SPDX-License-Identifier: GPL-2.0-or-later
/* Hours in seconds, for tests of outages: preloaded, it has a daemon's clocks go as many times as fast as the file says
 * whose name is in $PACE, and its waits be as much shorter. What the daemon starts keeps the machine's clock.
 * cc -shared -fPIC -o clocks.so tests/daemon/clocks.c */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
	long long real, told; /* ns */
} last[16];

/* 1 in all that is no daemon. */
static long long pace(void)
{
	static int is = -1;
	char line[4096] = "";
	FILE *f = fopen(is < 0 ? "/proc/self/cmdline" : getenv("PACE"), "r");
	long long n = 1;

	if (is < 0 && f) {
		size_t got = fread(line, 1, sizeof(line) - 1, f);

		is = got > 8 && !strcmp(line + strlen(line) + 1, "daemon");
		fclose(f);
		f = is ? fopen(getenv("PACE"), "r") : NULL;
	}
	if (f) {
		n = is > 0 && fscanf(f, "%lld", &n) == 1 && n > 0 ? n : 1;
		fclose(f);
	}
	return n;
}

int clock_gettime(clockid_t c, struct timespec *t)
{
	int r = (int)syscall(SYS_clock_gettime, c, t);
	long long ns = t->tv_sec * 1000000000ll + t->tv_nsec;

	if (c != CLOCK_REALTIME && c != CLOCK_MONOTONIC && c != CLOCK_BOOTTIME)
		return r;
	if (!last[c].real)
		last[c].real = last[c].told = ns;
	last[c].told += (ns - last[c].real) * pace();
	last[c].real = ns;
	*t = (struct timespec){ last[c].told / 1000000000, last[c].told % 1000000000 };
	return r;
}

int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *m)
{
	struct timespec less = { 0 };

	if (t) {
		long long ns = (t->tv_sec * 1000000000ll + t->tv_nsec) / pace();

		less = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	}
	return (int)syscall(SYS_ppoll, p, n, t ? &less : NULL, m, 8);
}
