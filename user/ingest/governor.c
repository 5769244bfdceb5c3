// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "ingest/governor.h"

#define MEMORY_TICKS 5000.0 /* samples after which older ones weigh 1/e */
#define BALANCE_SECONDS 2.0 /* an account holds at most so many CPU-seconds' worth */
/* measured: rep movsb of 4 KiB 20-36 times slower, a pread of 4 KiB 3.8 times */
#define STRING_FACTOR 30.0
#define KERNEL_FACTOR 3.0

void governor_init(struct governor *g, double budget, unsigned used)
{
	static const double weight[GOV_ACCOUNTS] = {
		[GOV_TIMER] = 0.40, [GOV_HITS] = 0.30, [GOV_ARMED] = 0.20, [GOV_SYSCALLS] = 0.10, [GOV_UPROBES] = 0.20,
	};
	double sum = 0;

	memset(g, 0, sizeof(*g));
	g->budget = budget;
	g->running = 1;
	for (int i = 0; i < GOV_ACCOUNTS; i++)
		sum += used >> i & 1 ? weight[i] : 0;
	for (int i = 0; i < GOV_ACCOUNTS && sum > 0; i++)
		g->share[i] = used >> i & 1 ? weight[i] / sum : 0;
}

void governor_tick(struct governor *g, double cpu_ns, bool string, bool kernel)
{
	double keep = 1 - 1 / MEMORY_TICKS;

	g->run_ns += cpu_ns;
	g->ticks = g->ticks * keep + 1;
	g->string_ticks = g->string_ticks * keep + string;
	g->kernel_ticks = g->kernel_ticks * keep + kernel;
	for (int i = 0; i < GOV_ACCOUNTS; i++) {
		double most = BALANCE_SECONDS * 1e9 * g->budget * g->share[i];

		g->balance[i] += cpu_ns * g->budget * g->share[i];
		if (g->balance[i] > most)
			g->balance[i] = most;
	}
}

void governor_wall(struct governor *g, double wall_ns, double cpu_ns)
{
	if (wall_ns > 0)
		g->running = 0.8 * g->running + 0.2 * cpu_ns / wall_ns;
}

void governor_spend(struct governor *g, enum governor_account a, double ns)
{
	g->balance[a] -= ns;
	g->spent[a] += ns;
}

bool governor_allows(const struct governor *g, enum governor_account a, double ns)
{
	/* What costs more than an account can hold must be possible, too, if rarely: then a full one
	 * suffices, and the debt delays the next. */
	double most = BALANCE_SECONDS * 1e9 * g->budget * g->share[a] * 0.95;

	return g->share[a] > 0 && g->balance[a] >= (ns < most ? ns : most);
}

double governor_armed_slowdown(const struct governor *g)
{
	/* one more than was seen: with few samples nothing is excluded yet */
	double n = g->ticks + 1;

	return STRING_FACTOR * (g->string_ticks + 1) / n + KERNEL_FACTOR * g->kernel_ticks / n;
}

/* In a slowed-down stretch the target does 1/(1+slow) of its work: never more than all is lost. */
static double lost_time(const struct governor *g, double wall_ns, double slow)
{
	double running = g->running > 0.01 ? g->running : 0.01;

	return wall_ns * running * slow / (1 + slow);
}

double governor_armed_cost(const struct governor *g, double wall_ns)
{
	return lost_time(g, wall_ns, governor_armed_slowdown(g));
}

double governor_armed_likely(const struct governor *g, double wall_ns)
{
	return lost_time(g, wall_ns, g->ticks > 0 ? (STRING_FACTOR * g->string_ticks + KERNEL_FACTOR * g->kernel_ticks) / g->ticks : 0);
}

double governor_armed_time(const struct governor *g, double most)
{
	double cost = governor_armed_cost(g, most);

	if (g->share[GOV_ARMED] <= 0 || g->balance[GOV_ARMED] <= 0)
		return 0;
	return cost <= g->balance[GOV_ARMED] ? most : most * g->balance[GOV_ARMED] / cost;
}

double governor_rate(const struct governor *g, enum governor_account a)
{
	return g->budget * g->share[a];
}

double governor_spent_share(const struct governor *g)
{
	double sum = 0;

	for (int i = 0; i < GOV_ACCOUNTS; i++)
		sum += g->spent[i];
	return g->run_ns > 0 ? sum / g->run_ns : NAN;
}
