// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/cells.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/grow.h"

struct cell *cells_since(struct cells *c, const void *key, size_t size, uint64_t *sum, unsigned sums)
{
	uint64_t *at = map_put(&c->at, XXH3_64bits(key, size), NULL);
	struct cell *cell;

	if (!at)
		return NULL;
	if (!*at) {
		if (!GROW(c->cell, c->count, c->cap, 64))
			return NULL;
		memset(&c->cell[c->count], 0, sizeof(*c->cell));
		*at = ++c->count;
	}
	cell = &c->cell[*at - 1];
	for (unsigned i = 0; i < sums; i++) {
		cell->latest[i] = sum[i];
		sum[i] -= cell->before[i] < sum[i] ? cell->before[i] : sum[i];
	}
	return cell;
}

bool cell_news(struct cell *cell, const uint64_t *figure, unsigned figures)
{
	if (!cell)
		return true;
	if (!memcmp(cell->told, figure, figures * sizeof(*figure)))
		return false;
	memcpy(cell->told, figure, figures * sizeof(*figure));
	return true;
}

void cells_next(struct cells *c)
{
	for (size_t i = 0; i < c->count; i++) {
		memcpy(c->cell[i].before, c->cell[i].latest, sizeof(c->cell[i].before));
		memset(c->cell[i].told, 0, sizeof(c->cell[i].told));
	}
}

void cells_release(struct cells *c)
{
	map_release(&c->at);
	free(c->cell);
}
