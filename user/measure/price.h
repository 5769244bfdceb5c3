/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an interruption costs a program that works: besides the kernel's own time, it finds its caches and
 * branch predictors emptied afterwards. In a loop that does nothing but be interrupted none of that shows: there a
 * breakpoint's hit costs a fifth of what it costs in a program (README.md). Owns a piece of work such as
 * programs do, and a thread on another CPU that does it while we disturb it. Included by kmod-free, ingest, tests.
 *
 * To price another kind of interruption: one of the calling thread, with price_own(); one that comes by itself and
 * seldom, with price_rare(); one of a thread that runs elsewhere, with price_other().
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

/* ns by which `events` interruptions of the calling thread prolong its work, each: begin(ctx) turns them on,
 * event(ctx), if any, causes one between two pieces of work, end(ctx) turns them off and says how many there
 * were, < 0: the round is void. NaN: no round was not. */
struct price_own {
	bool (*begin)(void *ctx);
	void (*event)(void *ctx);
	double (*end)(void *ctx);
	void *ctx;
	unsigned pieces, turns; /* of a round: pieces with an event each, of so many turns */
};
double price_own(const struct price_own *o);

/* ns by which one of the interruptions that begin(ctx) turns on prolongs the calling thread's work: the median, from
 * `wait_ns` of work. end(ctx) turns them off and tells at most `max` of the times (CLOCK_MONOTONIC) at which they
 * came. What comes seldom finds nothing of its own in the caches, and costs twice as much as what price_own() sees.
 * NaN: too few came. */
struct price_rare {
	bool (*begin)(void *ctx);
	unsigned (*end)(void *ctx, uint64_t *at, unsigned max);
	void *ctx;
	uint64_t wait_ns;
};
double price_rare(const struct price_rare *r);

/* ns by which disturb(ctx, tid) keeps the thread tid, which runs on another CPU, from its work. NaN: there is
 * no other CPU to be had, it is too busy, or disturb() returned false. */
double price_other(bool (*disturb)(void *ctx, int tid), void *ctx);

#endif
