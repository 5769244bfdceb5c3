// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/cells.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/grow.h"

struct cell *cells_since(struct cells *c, const void *key, size_t size, uint64_t *sum, unsigned sums)
{
	uint64_t hash = XXH3_64bits(key, size), *at = map_put(&c->at, hash, NULL);
	struct cell *cell;

	if (!at)
		return NULL;
	if (!*at) {
		if (!GROW(c->cell, c->count, c->cap, 64))
			return NULL;
		c->cell[c->count] = (struct cell){ .key = hash };
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

static struct cell *known_cell(const struct cells *c, const void *key, size_t size)
{
	const uint64_t *at = map_get(&c->at, XXH3_64bits(key, size));

	return at && *at ? &c->cell[*at - 1] : NULL;
}

bool cells_known(const struct cells *c, const void *key, size_t size, const uint64_t *sum, unsigned sums)
{
	const struct cell *cell = known_cell(c, key, size);

	return cell && !memcmp(cell->latest, sum, sums * sizeof(*sum));
}

void cells_gone(struct cells *c, const void *key, size_t size)
{
	struct cell *cell = known_cell(c, key, size);

	if (cell)
		cell->gone = true;
}

void cells_next(struct cells *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct cell *cell = &c->cell[i];
		uint64_t *at;

		if (cell->gone) {
			map_del(&c->at, cell->key);
			continue;
		}
		memcpy(cell->before, cell->latest, sizeof(cell->before));
		memset(cell->told, 0, sizeof(cell->told));
		at = map_get(&c->at, cell->key);
		c->cell[kept++] = *cell;
		*at = kept;
	}
	c->count = kept;
}

void cells_release(struct cells *c)
{
	map_release(&c->at);
	free(c->cell);
}
