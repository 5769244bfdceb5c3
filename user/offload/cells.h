/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums that the kernel keeps by key from the recording's beginning on, as one profile has them: what they had come to
 * when it began is taken off, and what is as it was written last is not written again. Included by session.c and
 * next.c.
 */
#ifndef ACCPERF_OFFLOAD_CELLS_H
#define ACCPERF_OFFLOAD_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

#define CELL_SUMS 12              /* as many as struct probe_total has */
#define CELL_TOLD (CELL_SUMS + 2) /* and what goes with them that is no sum */

struct cell {
	uint64_t key; /* its hash */
	uint64_t before[CELL_SUMS], latest[CELL_SUMS], told[CELL_TOLD];
	bool gone; /* the kernel has forgotten it: so do we, in the next profile */
};

struct cells {
	struct map at; /* hash of the key -> index + 1 */
	struct cell *cell;
	size_t count, cap;
};

/* Sums so far become those of the present profile. NULL: out of memory, and they stay as they are. */
struct cell *cells_since(struct cells *c, const void *key, size_t size, uint64_t *sum, unsigned sums);
/* Whether it is time to write: these figures are not those of the last time. */
bool cell_news(struct cell *cell, const uint64_t *figure, unsigned figures);
/* Whether nothing was added to it since. */
bool cells_known(const struct cells *c, const void *key, size_t size, const uint64_t *sum, unsigned sums);
void cells_gone(struct cells *c, const void *key, size_t size);
/* The next profile begins. */
void cells_next(struct cells *c);
void cells_release(struct cells *c);

#endif
