// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t c)
{
	struct timespec t;

	if (clock_gettime(c, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t own_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t own_peak_rss(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : (uint64_t)u.ru_maxrss * 1024;
}

uint64_t process_cpu_ns(int pid)
{
	char path[64], line[1024], *p;
	unsigned long long utime, stime;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	p = strrchr(line, ')'); /* comm may hold anything */
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &utime, &stime) != 2)
		return 0;
	return (utime + stime) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

#define ROUNDS 9
#define TICK_NS 50000
#define LOOP 600000

static uint64_t spin(void)
{
	uint64_t t = clock_ns(CLOCK_MONOTONIC);

	for (volatile unsigned i = 0; i < LOOP; i++)
		;
	return clock_ns(CLOCK_MONOTONIC) - t;
}

static int drop(void *ctx, const struct sample *s)
{
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double measure_tick_ns(struct sampler *s)
{
	double cost[ROUNDS];
	unsigned n = 0;

	spin();
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t without = spin(), with, before, after;
		const char *name;
		bool loss;

		sampler_counter(s, 0, &name, &loss, &before);
		if (sampler_attach_self(s, TICK_NS, NULL))
			break;
		with = spin();
		sampler_stop(s);
		sampler_counter(s, 0, &name, &loss, &after);
		sampler_read(s, drop, NULL);
		/* a run that was preempted says nothing about ticks */
		if (after > before && with > without && with < 4 * without)
			cost[n++] = (double)(with - without) / (double)(after - before);
	}
	sampler_forget(s);
	if (n < 3)
		return NAN;
	qsort(cost, n, sizeof(cost[0]), by_value);
	return cost[n / 2];
}
