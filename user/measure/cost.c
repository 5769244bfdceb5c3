// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "user/measure/price.h"
#include "util/clock.h"

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

#define TICK_NS 4100000 /* as rare as those of a recording, nearly; not in step with the kernel's own */
#define TICKS 32

struct trial {
	struct sampler *sampler;
	uint64_t *at;
	unsigned count, max;
};

static int note_time(void *ctx, const struct sample *s)
{
	struct trial *t = ctx;

	if (s->kind == SAMPLE_TICK && t->count < t->max)
		t->at[t->count++] = s->time;
	return 0;
}

static bool begin(void *ctx)
{
	struct trial *t = ctx;

	return !sampler_attach_self(t->sampler, TICK_NS, NULL);
}

static unsigned end(void *ctx, uint64_t *at, unsigned max)
{
	struct trial *t = ctx;

	t->at = at;
	t->max = max;
	sampler_stop(t->sampler);
	sampler_read(t->sampler, note_time, t);
	return t->count;
}

double measure_tick_ns(struct sampler *s)
{
	struct trial t = { .sampler = s };
	struct price_rare rare = { .begin = begin, .end = end, .ctx = &t, .wait_ns = TICKS * TICK_NS };
	double cost = price_rare(&rare);

	sampler_forget(s);
	return cost > 0 ? cost : NAN;
}
