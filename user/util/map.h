/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two hash tables: u64 -> u64, and bytes -> u32 id (interning, ids from 1 in order of arrival).
 * Open addressing, grows at 70 %. No domain knowledge. -ENOMEM on failure. Included by many rooms.
 */
#ifndef ACCPERF_MAP_H
#define ACCPERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
	struct map_slot *slots;
	size_t cap, used, dead;
	uint64_t odd[2]; /* values of the two keys that no slot can hold */
	bool has_odd[2];
};

void map_release(struct map *m);
/* Pointer to the value, NULL if absent; valid until the next map_put/map_del. */
uint64_t *map_get(const struct map *m, uint64_t key);
/* It is looked up soon: its slot is fetched, if it is not at hand. */
void map_fetch(const struct map *m, uint64_t key);
/* Finds or adds (value 0); *added may be NULL. NULL when out of memory. */
uint64_t *map_put(struct map *m, uint64_t key, bool *added);
bool map_del(struct map *m, uint64_t key);
/* Walk: pos starts at 0; false at the end. Do not change the map meanwhile, but for values, and map_del(). */
bool map_next(const struct map *m, size_t *pos, uint64_t *key, uint64_t **value);

struct intern {
	struct intern_slot *slots;
	size_t cap;
	struct intern_entry {
		const void *data;
		uint32_t len;
		uint64_t hash;
	} * entries; /* [0] unused */
	uint32_t count, entry_cap;
	struct intern_block *blocks;
};

void intern_release(struct intern *t);
/* Id of these bytes (from 1); *added tells whether they are new; 0 when out of memory. */
uint32_t intern_add(struct intern *t, const void *data, size_t len, bool *added);
uint32_t intern_str(struct intern *t, const char *s, bool *added);
/* Bytes of an id, always NUL-terminated; NULL for an unknown id. */
const void *intern_get(const struct intern *t, uint32_t id, size_t *len);

#endif
