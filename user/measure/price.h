/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an interruption costs a program that works: besides the kernel's own time, it finds its caches and
 * branch predictors emptied afterwards. In a loop that does nothing but be interrupted none of that shows: there a
 * breakpoint's hit costs a fifth of what it costs in a program (README.md). Owns a piece of work such as
 * programs do, and a thread on another CPU that does it while we disturb it. Included by
 * user/measure and tests.
 *
 * To price another kind of interruption: fill a struct trial, and call price_own() for one of the calling thread,
 * price_rare() for one that comes by itself and seldom, price_other() for one of a thread that runs elsewhere; then add
 * its row (price_table.h).
 */
#ifndef ACCPERF_MEASURE_PRICE_H
#define ACCPERF_MEASURE_PRICE_H

#include <stdbool.h>
#include <stdint.h>

/* Some 10 us a turn: calls by pointer, branches that depend on data, memory beyond the first cache. */
void price_work(unsigned turns);
double price_median(double *v, unsigned n); /* sorts; NaN of none */
/* Whether more rounds would hardly change the median; sorts. Start-up waits for prices. */
bool price_settled(double *v, unsigned n);

/* A kind of interruption that can be tried out on ourselves. */
struct trial {
	/* Turns on what interrupts this thread; false: not to be had. */
	bool (*begin)(void *ctx, int tid);
	/* Causes one, between two pieces of work; NULL: they come by themselves. */
	void (*event)(void *ctx);
	/* Turns them off, and says how many there were, < 0: that was no trial. at: if not NULL, at most `max` of the
	 * times (CLOCK_MONOTONIC) at which they came. */
	double (*end)(void *ctx, uint64_t *at, unsigned max);
	unsigned pieces, turns; /* of a round of price_own(): pieces with an event each, of so many turns */
	uint64_t wait_ns;       /* of work of price_rare() */
};

/* ns by which each event prolongs the calling thread's work. NaN: no round could be used. */
double price_own(const struct trial *t, void *ctx);
/* ns by which one that comes by itself does: the median. What comes seldom finds nothing of its own in the caches, and
 * costs twice as much as what price_own() sees. NaN: too few came. */
double price_rare(const struct trial *t, void *ctx);
/* ns by which to begin and to end keeps a thread that runs on another CPU from its work. NaN: there is no other CPU to
 * be had, it is too busy, or there was no trial. */
double price_other(const struct trial *t, void *ctx);

#endif
