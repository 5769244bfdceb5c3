/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recording takes from its target, and what it may: the only book of it. Accounts form a tree, in one table
 * (ledger.c). What is spent is booked once, in the account that spends it, and shows in all above. The target's CPU
 * time fills accounts; a source asks ledger_allows() before it spends.
 *
 * Children of the whole share what they do not use: the timer ticks at a fixed rate, and armed watchpoints cost next
 * to nothing in programs without string instructions, so fixed shares would leave much of the budget idle. The timer,
 * and those that keep to a share by themselves (offload probes, execution counts), cannot be refused by the others:
 * what they spend beyond their share, the others pay. Pure logic, no I/O, no clock. Included by the recorder's parts,
 * record and tests (foreground).
 *
 * To add an account: append to the enum, and a row to the table.
 */
#ifndef ACCPERF_RECORD_LEDGER_H
#define ACCPERF_RECORD_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum account {
	ACCOUNT_ALL,          /* the budget */
	ACCOUNT_TIMER,        /* samples */
	ACCOUNT_UNSEEN,       /* ticks that brought none: lost, or of a kernel thread */
	ACCOUNT_KERNEL_TICKS, /* the kernel's own, taken along: no interrupt of ours */
	ACCOUNT_SWITCHES,     /* timers of threads at context switches */
	ACCOUNT_WATCH,        /* watch windows: hits, arming, being attached */
	ACCOUNT_ARMED,        /* and what runs slowly meanwhile */
	ACCOUNT_SYSCALLS,
	ACCOUNT_WAITS,    /* threads that leave the CPU, as some are told of */
	ACCOUNT_HARDWARE, /* the processor's records */
	ACCOUNT_HEAP,     /* probes of allocators */
	ACCOUNT_APART,    /* all that keep to a share by themselves */
	ACCOUNT_OFFLOAD,  /* probes */
	ACCOUNT_COUNTS,
	ACCOUNT_WINDOWS, /* of execute breakpoints */
	ACCOUNT_BURSTS,
	ACCOUNT_SEGMENTS,
	ACCOUNT_LOOKS,    /* at the rings */
	ACCOUNT_ATTACHED, /* breakpoints at context switches, of both kinds of windows, which book it */
	ACCOUNTS
};

struct ledger {
	double budget; /* share of the target's CPU time */
	struct ledger_account {
		bool used;
		double part;    /* ledger_cut() */
		double rate;    /* what it may take per ns of the target's CPU time */
		double balance; /* ns */
		double spent;   /* ns, with all below */
	} of[ACCOUNTS];
	double run_ns;  /* CPU time of the target so far */
	double running; /* threads of it that run, on recent average */
};

void ledger_open(struct ledger *l, double budget);
/* It is in use, from now on: until then its share goes to the others. Before anything is earned. */
void ledger_use(struct ledger *l, enum account a);
/* Whether ledger_use() was called for it. */
bool ledger_used(const struct ledger *l, enum account a);
/* It has only this part of its share. */
void ledger_cut(struct ledger *l, enum account a, double part);
/* What is left of a source's budget where the timer takes `took` parts of the whole budget, and the plan was `planned`
 * or less: 1 and down to a tenth, which a source has even where the timer takes it all. */
double ledger_left_by_timer(double took, double planned);
/* The part of the budget that the timer's rate is chosen for. */
double ledger_planned_for_timer(bool windows, bool counts);

/* What an account may take per ns of the target's CPU time, or is limited to. */
double ledger_rate(const struct ledger *l, enum account a);
/* cpu_ns of the target's time went by. */
void ledger_earn(struct ledger *l, double cpu_ns);
/* wall_ns went by, in which the target used cpu_ns: for the number of running threads. */
void ledger_wall(struct ledger *l, double wall_ns, double cpu_ns);
/* Threads of the target that run: a target that sleeps earns a little all the same. */
double ledger_running(const struct ledger *l);
/* What is not known (NaN) is not booked. */
void ledger_spend(struct ledger *l, enum account a, double ns);
/* Of what is known roughly, what is to be expected is booked as spent, and an upper estimate charged. */
void ledger_spend_likely(struct ledger *l, enum account a, double likely, double most);
/* For what is counted elsewhere: that much in all, so far. */
void ledger_count(struct ledger *l, enum account a, double total);
/* Whether something that is expected to cost `ns` may begin now. */
bool ledger_allows(const struct ledger *l, enum account a, double ns);
/* The part of `ns` that an account holds, at most 1. */
double ledger_affords(const struct ledger *l, enum account a, double ns);
/* Whether an account has saved up for half a second, which nobody else could use either. */
bool ledger_plenty(const struct ledger *l, enum account a);

struct ledger_line {
	const char *name;
	bool leaf; /* no account is below it: leaves add up to the whole */
	double rate, spent;
};
const char *ledger_name(enum account a);
/* The i-th line of the report, from the whole on; false: there are no more. */
bool ledger_report(const struct ledger *l, unsigned i, struct ledger_line *line);
double ledger_spent(const struct ledger *l, enum account a);

#endif
