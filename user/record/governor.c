// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "measure/price_table.h"
#include "record/governor.h"

#define MEMORY_TICKS 5000.0 /* samples after which older ones weigh 1/e */
#define BALANCE_SECONDS 2.0 /* an account holds at most so many CPU-seconds' worth */
#define FILLED_SECONDS 0.25 /* one with more than this lets what it earns go to accounts that have less */
#define LEAST_PART 0.1
#define EVERYONE ((1u << GOV_ACCOUNTS) - 1)

void governor_init(struct governor *g, double budget, unsigned used)
{
	static const double weight[GOV_ACCOUNTS] = {
		[GOV_TIMER] = 0.40, [GOV_HITS] = 0.30, [GOV_ARMED] = 0.20, [GOV_SYSCALLS] = 0.10, [GOV_HARDWARE] = 0.30,
	};
	double sum = 0;

	memset(g, 0, sizeof(*g));
	g->budget = budget;
	g->running = 1;
	g->hit_ns = price_assumed(PRICE_WATCH_HIT);
	g->arm_ns = price_assumed(PRICE_WATCH_ARM);
	g->wake_ns = price_assumed(PRICE_WATCH_WAKE);
	for (int i = 0; i < GOV_ACCOUNTS; i++)
		sum += used >> i & 1 ? weight[i] : 0;
	for (int i = 0; i < GOV_ACCOUNTS && sum > 0; i++)
		g->share[i] = used >> i & 1 ? weight[i] / sum : 0;
}

void governor_reserve(struct governor *g, double part)
{
	for (int i = 0; i < GOV_ACCOUNTS; i++)
		g->share[i] *= 1 - part;
	g->share[GOV_ELSEWHERE] = part;
}

double governor_left_by_timer(double took, double planned)
{
	return took > planned ? fmax(LEAST_PART, (1 - took) / (1 - planned)) : 1;
}

void governor_costs(struct governor *g, double hit_ns, double arm_ns, double wake_ns)
{
	if (hit_ns > 0)
		g->hit_ns = hit_ns;
	if (arm_ns > 0)
		g->arm_ns = arm_ns;
	if (wake_ns > 0)
		g->wake_ns = wake_ns;
}

double governor_window_cost(const struct governor *g, double hits, double phases, double threads)
{
	double running = g->running < threads ? g->running : threads;

	return g->hit_ns * hits + phases * (g->wake_ns + g->arm_ns * running);
}

static double worth(const struct governor *g, int account, double seconds)
{
	return seconds * 1e9 * g->budget * g->share[account];
}

/* Shares `ns` out among the accounts below the level, by share; returns what none had room for. */
static double pour(struct governor *g, unsigned accounts, double ns, double seconds)
{
	/* each round fills at least one account or empties the jug */
	for (int round = 0; round < GOV_ACCOUNTS && ns > 0; round++) {
		double open = 0, rest = 0;

		for (int i = 0; i < GOV_ACCOUNTS; i++)
			open += accounts >> i & 1 && g->share[i] > 0 && g->balance[i] < worth(g, i, seconds)
					? g->share[i]
					: 0;
		if (open <= 0)
			return ns;
		for (int i = 0; i < GOV_ACCOUNTS; i++) {
			double most = worth(g, i, seconds), part = ns * g->share[i] / open;

			if (!(accounts >> i & 1) || g->share[i] <= 0 || g->balance[i] >= most)
				continue;
			g->balance[i] += part;
			if (g->balance[i] > most) {
				rest += g->balance[i] - most;
				g->balance[i] = most;
			}
		}
		ns = rest;
	}
	return ns;
}

/* What a source that cannot be refused has spent beyond its share is paid by the others, out of what
 * they would earn now. Returns what is left of each unit of that. */
static double pay_debts(struct governor *g, double all)
{
	static const enum governor_account unruly[] = { GOV_TIMER, GOV_ELSEWHERE };
	double debt = 0, can_pay = all;

	for (unsigned i = 0; i < sizeof(unruly) / sizeof(unruly[0]); i++)
		can_pay -= all * g->share[unruly[i]];
	for (unsigned i = 0; i < sizeof(unruly) / sizeof(unruly[0]); i++) {
		double earns = all * g->share[unruly[i]], owes = -g->balance[unruly[i]] - earns;

		if (g->share[unruly[i]] <= 0 || owes <= 0)
			continue;
		if (owes > can_pay - debt)
			owes = can_pay - debt;
		g->balance[unruly[i]] += owes;
		debt += owes;
	}
	return can_pay > 0 ? 1 - debt / can_pay : 1;
}

void governor_tick(struct governor *g, double cpu_ns, bool string, bool kernel)
{
	double keep = 1 - 1 / MEMORY_TICKS, all = cpu_ns * g->budget, spare = 0, left;

	g->run_ns += cpu_ns;
	g->ticks = g->ticks * keep + 1;
	g->string_ticks = g->string_ticks * keep + string;
	g->kernel_ticks = g->kernel_ticks * keep + kernel;
	left = pay_debts(g, all);
	for (int i = 0; i < GOV_ACCOUNTS; i++) {
		double earned = all * g->share[i] * (i == GOV_TIMER || i == GOV_ELSEWHERE ? 1 : left);

		if (g->balance[i] < worth(g, i, FILLED_SECONDS))
			g->balance[i] += earned;
		else
			spare += earned;
	}
	spare = pour(g, EVERYONE, spare, FILLED_SECONDS);
	/* in programs full of copies armed time is what runs short, and a window needs a large sum at once */
	spare = pour(g, 1u << GOV_ARMED, spare, BALANCE_SECONDS);
	pour(g, EVERYONE, spare, BALANCE_SECONDS);
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
	double most = worth(g, a, BALANCE_SECONDS) * 0.95;

	return g->share[a] > 0 && g->balance[a] >= (ns < most ? ns : most);
}

bool governor_plenty(const struct governor *g, enum governor_account a)
{
	return g->share[a] > 0 && g->balance[a] >= worth(g, a, 2 * FILLED_SECONDS);
}

void governor_switching(struct governor *g, double rate, double cost_ns)
{
	g->switch_share = rate > 0 && cost_ns > 0 ? rate * cost_ns : 0;
}

double governor_armed_slowdown(const struct governor *g)
{
	/* half a sample more than was seen: with few samples nothing is excluded yet */
	double n = g->ticks + 1;

	return g->switch_share + price_assumed(PRICE_ARMED_STRINGS) * (g->string_ticks + 0.5) / n +
	       price_assumed(PRICE_ARMED_KERNEL) * g->kernel_ticks / n;
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
	double copies = g->ticks > 0 ? (price_assumed(PRICE_ARMED_STRINGS) * g->string_ticks +
					price_assumed(PRICE_ARMED_KERNEL) * g->kernel_ticks) /
					       g->ticks
				     : 0;

	return lost_time(g, wall_ns, copies + g->switch_share);
}

double governor_slots_cost(const struct governor *g, double slot_ns)
{
	return slot_ns > 0 ? lost_time(g, slot_ns, g->switch_share) : 0;
}

double governor_armed_time(const struct governor *g, double least, double most)
{
	double cost = governor_armed_cost(g, most), time;

	if (g->share[GOV_ARMED] <= 0 || g->balance[GOV_ARMED] <= 0)
		return 0;
	time = cost <= g->balance[GOV_ARMED] ? most : most * g->balance[GOV_ARMED] / cost;
	if (time >= least)
		return time;
	/* as in governor_allows(): a full account suffices, and the debt delays the next */
	return g->balance[GOV_ARMED] >= worth(g, GOV_ARMED, BALANCE_SECONDS) * 0.95 ? least : 0;
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
