// SPDX-License-Identifier: GPL-2.0-or-later
#include "ingest/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "kmod-free/price.h"

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

#define TICK_NS 100000 /* rarer ones find colder caches, but a longer round is more often disturbed */
#define PIECES 10
#define TURNS 10
#define FEW_TICKS 3

struct trial {
	struct sampler *sampler;
	uint64_t before;
};

static uint64_t ticks_of(struct sampler *s)
{
	uint64_t ticks = 0;
	const char *name;
	bool loss;

	sampler_counter(s, 0, &name, &loss, &ticks);
	return ticks;
}

static int drop(void *ctx, const struct sample *s)
{
	return 0;
}

static bool begin(void *ctx)
{
	struct trial *t = ctx;

	t->before = ticks_of(t->sampler);
	return !sampler_attach_self(t->sampler, TICK_NS, NULL);
}

static double end(void *ctx)
{
	struct trial *t = ctx;
	double ticks;

	sampler_stop(t->sampler);
	ticks = (double)(ticks_of(t->sampler) - t->before);
	sampler_read(t->sampler, drop, NULL);
	return ticks < FEW_TICKS ? -1 : ticks;
}

double measure_tick_ns(struct sampler *s)
{
	struct trial t = { .sampler = s };
	struct price_own own = { .begin = begin, .end = end, .ctx = &t, .pieces = PIECES, .turns = TURNS };
	double cost = price_own(&own);

	sampler_forget(s);
	return cost > 0 ? cost : NAN;
}
