// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/grow.h"
#include "util/map.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* A slot without a state beside it takes a third less memory, and misses of the cache cost most: keys are kept turned
 * by a number that none is likely to have, so that what calloc() gives is free. Those of the two keys that would look
 * free or dead have a place beside the slots. */
#define TURN 0x5bd1e9955bd1e995ull
enum { SLOT_FREE, SLOT_DEAD, SLOT_USED }; /* from here on */

struct map_slot {
	uint64_t turned, value;
};

static size_t hash_u64(uint64_t k)
{
	k ^= k >> 32;
	k *= 0x9e3779b97f4a7c15ull;
	return (size_t)(k ^ (k >> 29));
}

void map_release(struct map *m)
{
	if (!m)
		return;
	free(m->slots);
	*m = (struct map){ 0 };
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	uint64_t turned = key ^ TURN;

	if (turned < SLOT_USED)
		return m->has_odd[turned] ? (uint64_t *)&m->odd[turned] : NULL;
	if (!m->cap)
		return NULL;
	for (size_t i = hash_u64(key);; i++) {
		struct map_slot *s = &m->slots[i & (m->cap - 1)];

		if (s->turned == turned)
			return &s->value;
		if (s->turned == SLOT_FREE)
			return NULL;
	}
}

void map_fetch(const struct map *m, uint64_t key)
{
	if (m->cap)
		__builtin_prefetch(&m->slots[hash_u64(key) & (m->cap - 1)]);
}

static bool map_resize(struct map *m, size_t cap)
{
	struct map_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < m->cap; i++) {
		size_t j;

		if (m->slots[i].turned < SLOT_USED)
			continue;
		for (j = hash_u64(m->slots[i].turned ^ TURN); slots[j & (cap - 1)].turned; j++)
			;
		slots[j & (cap - 1)] = m->slots[i];
	}
	free(m->slots);
	m->slots = slots;
	m->cap = cap;
	m->dead = 0;
	return true;
}

static bool map_grow(struct map *m)
{
	return map_resize(m, m->cap ? (m->used * 2 > m->cap ? m->cap * 2 : m->cap) : 16);
}

uint64_t *map_put(struct map *m, uint64_t key, bool *added)
{
	uint64_t *v = map_get(m, key), turned = key ^ TURN;

	if (added)
		*added = !v;
	if (v)
		return v;
	if ((m->used + m->dead + 1) * 10 > m->cap * 7 && !map_grow(m))
		return NULL;
	m->used++;
	if (turned < SLOT_USED) {
		m->has_odd[turned] = true;
		m->odd[turned] = 0;
		return &m->odd[turned];
	}
	for (size_t i = hash_u64(key);; i++) {
		struct map_slot *s = &m->slots[i & (m->cap - 1)];

		if (s->turned >= SLOT_USED)
			continue;
		m->dead -= s->turned == SLOT_DEAD;
		*s = (struct map_slot){ .turned = turned };
		return &s->value;
	}
}

bool map_del(struct map *m, uint64_t key)
{
	uint64_t *v = map_get(m, key), turned = key ^ TURN;

	if (!v)
		return false;
	m->used--;
	if (turned < SLOT_USED) {
		m->has_odd[turned] = false;
		return true;
	}
	((struct map_slot *)((char *)v - offsetof(struct map_slot, value)))->turned = SLOT_DEAD;
	m->dead++;
	return true;
}

bool map_next(const struct map *m, size_t *pos, uint64_t *key, uint64_t **value)
{
	while (*pos < m->cap) {
		struct map_slot *s = &m->slots[(*pos)++];

		if (s->turned < SLOT_USED)
			continue;
		*key = s->turned ^ TURN;
		*value = &s->value;
		return true;
	}
	while (*pos < m->cap + SLOT_USED) {
		size_t odd = (*pos)++ - m->cap;

		if (!m->has_odd[odd])
			continue;
		*key = odd ^ TURN;
		*value = (uint64_t *)&m->odd[odd];
		return true;
	}
	return false;
}

#define BLOCK_SIZE (64u << 10) /* bytes for short strings at once; by hand */

struct intern_slot {
	uint32_t id;
};

struct intern_block {
	struct intern_block *next;
	size_t used, cap;
	char bytes[];
};

void intern_release(struct intern *t)
{
	if (!t)
		return;
	for (struct intern_block *b = t->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(t->slots);
	free(t->entries);
	*t = (struct intern){ 0 };
}

static char *intern_alloc(struct intern *t, size_t n)
{
	struct intern_block *b = t->blocks;

	n = (n + 7) & ~(size_t)7;
	if (!b || b->cap - b->used < n) {
		size_t cap = n > BLOCK_SIZE ? n : BLOCK_SIZE;

		b = malloc(sizeof(*b) + cap);
		if (!b)
			return NULL;
		*b = (struct intern_block){ .next = t->blocks, .cap = cap };
		t->blocks = b;
	}
	b->used += n;
	return b->bytes + b->used - n;
}

static bool intern_grow(struct intern *t)
{
	size_t cap = t->cap ? t->cap * 2 : 64;
	struct intern_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (uint32_t id = 1; id <= t->count; id++) {
		size_t i = t->entries[id].hash;

		while (slots[i & (cap - 1)].id)
			i++;
		slots[i & (cap - 1)].id = id;
	}
	free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return true;
}

uint32_t intern_add(struct intern *t, const void *data, size_t len, bool *added)
{
	uint64_t h = XXH3_64bits(data, len);
	char *copy;
	size_t i;

	if (added)
		*added = false;
	if (len > UINT32_MAX)
		return 0;
	if ((t->count + 1ull) * 10 > t->cap * 7 && !intern_grow(t))
		return 0;
	for (i = h;; i++) {
		uint32_t id = t->slots[i & (t->cap - 1)].id;

		if (!id)
			break;
		if (t->entries[id].hash == h && t->entries[id].len == len && !memcmp(t->entries[id].data, data, len))
			return id;
	}
	if (!GROW_TO(t->entries, t->count + 2, t->entry_cap, 64)) /* entry 0 is none */
		return 0;
	copy = intern_alloc(t, len + 1);
	if (!copy)
		return 0;
	if (len)
		memcpy(copy, data, len);
	copy[len] = '\0';
	t->entries[++t->count] = (struct intern_entry){ copy, (uint32_t)len, h };
	t->slots[i & (t->cap - 1)].id = t->count;
	if (added)
		*added = true;
	return t->count;
}

uint32_t intern_str(struct intern *t, const char *s, bool *added)
{
	return intern_add(t, s, strlen(s), added);
}

const void *intern_get(const struct intern *t, uint32_t id, size_t *len)
{
	if (!id || id > t->count)
		return NULL;
	if (len)
		*len = t->entries[id].len;
	return t->entries[id].data;
}
