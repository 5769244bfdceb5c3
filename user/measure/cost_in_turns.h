/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording costs its target, from stretches of the target's life in turns without and with it: the work that
 * got done a second, and the CPU time that a piece of work took. One pair is one observation, as what else happens to
 * the machine happens to both of its turns. Pure arithmetic: no process, no clock. Included by foreground, cli and
 * tests.
 */
#ifndef ACCPERF_MEASURE_COST_IN_TURNS_H
#define ACCPERF_MEASURE_COST_IN_TURNS_H

#include <stdbool.h>
#include <stdint.h>

/* Pairs; with fewer no interval of nine in ten can be told from their order alone. */
enum { TURN_PAIRS_LEAST = 5, TURN_PAIRS_MOST = 64 };

struct turn {
	double seconds, work, cpu_s; /* of the target; NaN: not known */
};

struct in_turns {
	unsigned pairs;
	struct turn without[TURN_PAIRS_MOST], with[TURN_PAIRS_MOST];
};

/* A part, .01 for 1 %; NaN: not known. low to high holds the median in at least nine of ten measurements. */
struct turn_change {
	double median, low, high, least, most;
	unsigned pairs;
};

/* Dropped where there are too many already: false. */
bool in_turns_add(struct in_turns *t, const struct turn *without, const struct turn *with);
/* Work per second, with against without: negative, the target gets less done. */
struct turn_change in_turns_work(const struct in_turns *t);
/* CPU time per work: positive, each piece takes longer. */
struct turn_change in_turns_cpu(const struct in_turns *t);
/* With or without, in one turn of two: they come in the order without, with, with, without, so that a drift of the
 * target's work hits both alike. */
bool in_turns_with(unsigned turn);

#endif
