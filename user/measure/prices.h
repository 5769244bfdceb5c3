/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prices that recordings measured before this one. Measuring what a tick, a hit or a switch costs takes a third of a
 * second of a CPU, and the machine is the same from one recording to the next. So what was measured is kept in the
 * user's cache (util/cachedir.h), for this boot, kernel, program and number of CPUs, and once there are PRICES_ENOUGH
 * measurements of a price their median is taken instead of a new one: it is steadier than one. They stay true because
 * each recording measures the price again that was measured longest ago, if that is more than ten minutes, and all that
 * are a day old. Without a cache everything is measured each time. Included by offload, record and tests.
 *
 * To keep another price: a row in price_table.c.
 */
#ifndef ACCPERF_MEASURE_PRICES_H
#define ACCPERF_MEASURE_PRICES_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/price_table.h"

#define PRICES_ENOUGH 3 /* measurements of a price until it is believed: a median has a middle from there on */
#define PRICES_KEPT 5   /* of each price, the newest: a machine may change */
#define PRICES_MOST 32  /* names */
#define PRICES_VALUES 3 /* numbers of one price at most */
/* Until a price is measured again: that takes 20 to 130 ms of a CPU, a tenth of a short recording, and machines change
 * slowly; by hand. */
#define PRICES_SETTLED_NS (600 * 1000000000ull)
#define PRICES_OLD_NS (86400 * 1000000000ull) /* a day; by hand */

struct prices {
	char identity[160];
	uint64_t now; /* since boot */
	struct price_kept {
		char name[24];
		unsigned count; /* of measurements, oldest first */
		uint64_t at[PRICES_KEPT];
		double value[PRICES_KEPT][PRICES_VALUES];
	} of[PRICES_MOST];
	unsigned count;
	int again; /* this one is measured again; -1: none */
	bool changed;
	double ns[PRICE_IDS]; /* of this recording (price_table.h); NaN: not measured */
};

/* Reads what is kept; nothing, if there is none or it is not this machine's. */
void prices_open(struct prices *p);
/* The n values of a price, medians of what is kept; false: measure it, and say so with prices_add(). A value that
 * could not be measured is NaN. */
bool prices_known(const struct prices *p, const char *name, double *values, unsigned n);
/* Keeps these; *values become the medians of all that are kept. Of values that are NaN all nothing is kept. */
void prices_add(struct prices *p, const char *name, double *values, unsigned n);
/* Writes what was added, if there is where to. */
void prices_close(struct prices *p);

/* Without files, for tests: what prices_open() and prices_close() do with their content. */
void prices_read(struct prices *p, const char *text, const char *identity, uint64_t now);

#endif
