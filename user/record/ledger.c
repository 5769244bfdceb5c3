// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/ledger.h"

#include <math.h>

#define BALANCE_SECONDS 2.0  /* an account holds at most so many CPU-seconds' worth */
#define FILLED_SECONDS 0.25  /* one with more than this lets what it earns go to accounts that have less */
#define FULL 0.95            /* of what an account can hold: it will hardly hold more */
#define LEAST_PART 0.1       /* of a source's budget, that a dear timer leaves it */
#define LEAST_RUNNING 0.05   /* threads of the target, as sources plan with */
#define MOST_AT_ONCE_NS 1e18 /* a spending beyond is a mistake: three years */

/* Share of execution counts where there are no windows: two to four times as many bursts tell more than half as many
 * samples again (tests/real/README.md). */
#define COUNTS_ALONE 0.65

enum sharing {
	WHOLE,
	LEAVES, /* this part of what those before it leave of the whole */
	WEIGHS, /* by weight, of what all those leave */
	SUM,    /* what those below it have */
	LIMIT,  /* none: the part of the nearest account above with a share that it may plan with */
};

static const struct ledger_row {
	const char *name;
	enum account parent;
	enum sharing how;
	double share;
	bool refused; /* may be */
	bool first;   /* gets what is spare before others: a window needs a large sum at once */
} rows[ACCOUNTS] = {
	[ACCOUNT_ALL] = { "budget", ACCOUNT_ALL, WHOLE, 1, false, false },
	[ACCOUNT_TIMER] = { "samples", ACCOUNT_ALL, WEIGHS, .40, false, false },
	[ACCOUNT_UNSEEN] = { "ticks without a sample", ACCOUNT_ALL, LIMIT, 0, false, false },
	[ACCOUNT_KERNEL_TICKS] = { "the kernel's own ticks", ACCOUNT_ALL, LIMIT, 0, false, false },
	/* where breakpoints would make timers of threads dearer than this, none are put */
	[ACCOUNT_SWITCHES] = { "timers at switches", ACCOUNT_ALL, LIMIT, .2, false, false },
	[ACCOUNT_WATCH] = { "watch windows", ACCOUNT_ALL, WEIGHS, .30, true, false },
	/* in programs full of copies it is what runs short */
	[ACCOUNT_ARMED] = { "slow while armed", ACCOUNT_ALL, WEIGHS, .20, true, true },
	[ACCOUNT_SYSCALLS] = { "system calls", ACCOUNT_ALL, WEIGHS, .10, true, false },
	[ACCOUNT_WAITS] = { "waits", ACCOUNT_ALL, WEIGHS, .10, true, false },
	[ACCOUNT_HARDWARE] = { "hardware records", ACCOUNT_ALL, WEIGHS, .30, true, false },
	[ACCOUNT_HEAP] = { "probes of allocators", ACCOUNT_ALL, WEIGHS, .30, true, false },
	[ACCOUNT_APART] = { "with a share of their own", ACCOUNT_ALL, SUM, 0, false, false },
	[ACCOUNT_OFFLOAD] = { "offload probes", ACCOUNT_APART, LEAVES, .33, true, false },
	[ACCOUNT_COUNTS] = { "execution counts", ACCOUNT_APART, LEAVES, .40, true, false },
	[ACCOUNT_WINDOWS] = { "count windows", ACCOUNT_COUNTS, LIMIT, 1, true, false },
	/* windows have what these leave; where there are none, these have all */
	[ACCOUNT_BURSTS] = { "bursts", ACCOUNT_COUNTS, LIMIT, .25, true, false },
	[ACCOUNT_SEGMENTS] = { "segments", ACCOUNT_COUNTS, LIMIT, .2, true, false },
	/* where they are dear */
	[ACCOUNT_LOOKS] = { "looks at the rings", ACCOUNT_APART, LIMIT, .05, false, false },
	[ACCOUNT_ATTACHED] = { "breakpoints at switches", ACCOUNT_ALL, LIMIT, 1.0 / 3, false, false },
};

double ledger_planned_for_timer(bool windows, bool counts)
{
	if (windows)
		return counts ? .25 : .40;
	return counts ? 1 - COUNTS_ALONE : .67;
}

double ledger_left_by_timer(double took, double planned)
{
	return took > planned ? fmax(LEAST_PART, (1 - took) / (1 - planned)) : 1;
}

static void share_out_budget(struct ledger *l)
{
	double left = l->budget, weights = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		l->of[i].rate = 0;
	l->of[ACCOUNT_ALL].rate = l->budget;
	for (int i = 0; i < ACCOUNTS; i++) {
		weights += rows[i].how == WEIGHS && l->of[i].used ? rows[i].share : 0;
		if (rows[i].how != LEAVES || !l->of[i].used)
			continue;
		l->of[i].rate =
			left * (i == ACCOUNT_COUNTS && !l->of[ACCOUNT_WINDOWS].used ? COUNTS_ALONE : rows[i].share);
		l->of[rows[i].parent].rate += l->of[i].rate;
		left -= l->of[i].rate;
		/* a part that is cut off is nobody's */
		l->of[i].rate *= l->of[i].part;
	}
	for (int i = 0; i < ACCOUNTS && weights > 0; i++)
		if (rows[i].how == WEIGHS && l->of[i].used)
			l->of[i].rate = left * rows[i].share / weights;
}

void ledger_open(struct ledger *l, double budget)
{
	*l = (struct ledger){ .budget = budget, .running = 1 };
	for (int i = 0; i < ACCOUNTS; i++)
		l->of[i].part = 1;
	share_out_budget(l);
}

void ledger_use(struct ledger *l, enum account a)
{
	l->of[a].used = true;
	share_out_budget(l);
}

bool ledger_used(const struct ledger *l, enum account a)
{
	return l->of[a].used;
}

void ledger_cut(struct ledger *l, enum account a, double part)
{
	l->of[a].part = part;
	share_out_budget(l);
}

/* The nearest account above that has a share. */
static enum account with_share(enum account a)
{
	while (rows[a].how == LIMIT || rows[a].how == SUM)
		a = rows[a].parent;
	return a;
}

/* Of what is above it. */
static double limit_of(const struct ledger *l, enum account a)
{
	bool all = rows[a].parent == ACCOUNT_COUNTS && !l->of[ACCOUNT_WINDOWS].used;

	return rows[a].share / (all ? rows[ACCOUNT_BURSTS].share + rows[ACCOUNT_SEGMENTS].share : 1);
}

double ledger_rate(const struct ledger *l, enum account a)
{
	return rows[a].how == LIMIT ? l->of[with_share(a)].rate * limit_of(l, a) : l->of[a].rate;
}

/* ---- what is earned ---- */

static double allowance(const struct ledger *l, int account, double seconds)
{
	return seconds * 1e9 * l->of[account].rate;
}

/* Of those that share what they do not use. */
static bool pooled(const struct ledger *l, int account)
{
	return account != ACCOUNT_ALL && rows[account].parent == ACCOUNT_ALL && l->of[account].rate > 0;
}

static bool open_below(const struct ledger *l, int account, bool first, double seconds)
{
	return pooled(l, account) && (!first || rows[account].first) &&
	       l->of[account].balance < allowance(l, account, seconds);
}

/* Shares `ns` out among the accounts below the level, by share; returns what none had room for. */
static double pour(struct ledger *l, bool first, double ns, double seconds)
{
	/* each round fills at least one account or empties the jug */
	for (int round = 0; round < ACCOUNTS && ns > 0; round++) {
		double open = 0, rest = 0;

		for (int i = 0; i < ACCOUNTS; i++)
			open += open_below(l, i, first, seconds) ? l->of[i].rate : 0;
		if (open <= 0)
			return ns;
		for (int i = 0; i < ACCOUNTS; i++) {
			double most = allowance(l, i, seconds);

			if (!open_below(l, i, first, seconds))
				continue;
			l->of[i].balance += ns * l->of[i].rate / open;
			rest += fmax(0, l->of[i].balance - most);
			l->of[i].balance = fmin(l->of[i].balance, most);
		}
		ns = rest;
	}
	return ns;
}

/* What a source that cannot be refused has spent beyond its share is paid by the others, out of what
 * they would earn now. Returns what is left of each unit of that. */
static double pay_debts(struct ledger *l, double cpu_ns)
{
	double debt = 0, can_pay = 0;

	for (int i = 0; i < ACCOUNTS; i++)
		can_pay += pooled(l, i) && rows[i].refused ? cpu_ns * l->of[i].rate : 0;
	for (int i = 0; i < ACCOUNTS; i++) {
		double owes;

		if (!pooled(l, i) || rows[i].refused)
			continue;
		owes = fmin(-l->of[i].balance - cpu_ns * l->of[i].rate, can_pay - debt);
		if (owes <= 0)
			continue;
		l->of[i].balance += owes;
		debt += owes;
	}
	return can_pay > 0 ? 1 - debt / can_pay : 1;
}

void ledger_earn(struct ledger *l, double cpu_ns)
{
	double spare = 0, left = pay_debts(l, cpu_ns);

	l->run_ns += cpu_ns;
	for (int i = 1; i < ACCOUNTS; i++) {
		struct ledger_account *a = &l->of[i];
		double earned = cpu_ns * a->rate;

		if (!pooled(l, i))
			a->balance = fmin(a->balance + earned, allowance(l, i, BALANCE_SECONDS));
		else if (a->balance < allowance(l, i, FILLED_SECONDS))
			a->balance += earned * (rows[i].refused ? left : 1);
		else
			spare += earned * (rows[i].refused ? left : 1);
	}
	spare = pour(l, false, spare, FILLED_SECONDS);
	spare = pour(l, true, spare, BALANCE_SECONDS);
	pour(l, false, spare, BALANCE_SECONDS);
}

void ledger_wall(struct ledger *l, double wall_ns, double cpu_ns)
{
	if (wall_ns > 0)
		l->running = 0.8 * l->running + 0.2 * cpu_ns / wall_ns;
}

double ledger_running(const struct ledger *l)
{
	return fmax(l->running, LEAST_RUNNING);
}

/* ---- what is spent ---- */

void ledger_spend_likely(struct ledger *l, enum account a, double likely, double most)
{
	bool known = likely > 0 && likely<MOST_AT_ONCE_NS, charged = most> 0 && most < MOST_AT_ONCE_NS;

	for (enum account i = a;; i = rows[i].parent) {
		l->of[i].balance -= charged ? most : 0;
		l->of[i].spent += known ? likely : 0;
		if (i == ACCOUNT_ALL)
			break;
	}
}

void ledger_spend(struct ledger *l, enum account a, double ns)
{
	ledger_spend_likely(l, a, ns, ns);
}

void ledger_count(struct ledger *l, enum account a, double total)
{
	double more = total - l->of[a].spent;

	for (enum account i = a; isfinite(more); i = rows[i].parent) {
		l->of[i].balance -= more;
		l->of[i].spent += more;
		if (i == ACCOUNT_ALL)
			break;
	}
}

bool ledger_allows(const struct ledger *l, enum account a, double ns)
{
	/* What costs more than an account can hold must be possible, too, if rarely: then a full one
	 * suffices, and the debt delays the next. */
	enum account of = with_share(a);
	double most = allowance(l, of, BALANCE_SECONDS) * FULL;

	return !rows[a].refused || (l->of[of].rate > 0 && l->of[of].balance >= fmin(ns, most));
}

double ledger_affords(const struct ledger *l, enum account a, double ns)
{
	const struct ledger_account *of = &l->of[with_share(a)];

	if (of->rate <= 0 || of->balance <= 0)
		return 0;
	return ns <= of->balance ? 1 : of->balance / ns;
}

bool ledger_plenty(const struct ledger *l, enum account a)
{
	enum account of = with_share(a);

	return l->of[of].rate > 0 && l->of[of].balance >= allowance(l, of, 2 * FILLED_SECONDS);
}

/* ---- what is told ---- */

const char *ledger_name(enum account a)
{
	return rows[a].name;
}

bool ledger_report(const struct ledger *l, unsigned i, struct ledger_line *line)
{
	if (i >= ACCOUNTS)
		return false;
	*line = (struct ledger_line){
		.name = rows[i].name, .leaf = true, .rate = ledger_rate(l, i), .spent = l->of[i].spent
	};
	for (unsigned k = 0; k < ACCOUNTS; k++)
		line->leaf &= rows[k].parent != i;
	return true;
}

double ledger_spent(const struct ledger *l, enum account a)
{
	return l->of[a].spent;
}
