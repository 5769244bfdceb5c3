/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds an element of an array by its content, where there are millions: four bytes a slot, since the
 * key stays in the element, and comparison and hash are inlined. Elements have numbers from 1. No domain knowledge.
 * Included by profile, flow and view.
 *
 *     slot = index_slot(&x, hash_of_key, same, hash, ctx, &key);
 *     if (!*slot)
 *             *slot = number_of_the_new_element, x.used++;
 */
#ifndef ACCPERF_INDEX_H
#define ACCPERF_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct index {
	uint32_t *slots;        /* 0: free */
	size_t cap, used, most; /* most: from here on it grows */
};

typedef bool (*index_same_fn)(const void *ctx, uint32_t number, const void *key);
typedef uint64_t (*index_hash_fn)(const void *ctx, uint32_t number);

#define INDEX_INLINE static inline __attribute__((always_inline))

static inline void index_release(struct index *x)
{
	free(x->slots);
	*x = (struct index){ 0 };
}

INDEX_INLINE uint64_t index_hash(uint64_t a, uint64_t b)
{
	a = (a ^ b * 0xbf58476d1ce4e5b9ull) * 0x9e3779b97f4a7c15ull;
	return a ^ a >> 32;
}

INDEX_INLINE bool index_grow(struct index *x, index_hash_fn hash_of, const void *ctx)
{
	size_t cap = x->cap ? x->cap * 2 : 256;
	uint32_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < x->cap; i++) {
		size_t at;

		if (!x->slots[i])
			continue;
		for (at = hash_of(ctx, x->slots[i]) & (cap - 1); slots[at]; at = (at + 1) & (cap - 1))
			;
		slots[at] = x->slots[i];
	}
	free(x->slots);
	x->slots = slots;
	x->cap = cap;
	x->most = cap / 10 * 7;
	return true;
}

/* Where the key's number is, or belongs; NULL: out of memory. */
INDEX_INLINE uint32_t *index_slot(struct index *x, uint64_t hash, index_same_fn same, index_hash_fn hash_of,
				  const void *ctx, const void *key)
{
	size_t at;

	if (x->used >= x->most && !index_grow(x, hash_of, ctx))
		return NULL;
	for (at = hash & (x->cap - 1); x->slots[at]; at = (at + 1) & (x->cap - 1))
		if (same(ctx, x->slots[at], key))
			break;
	return &x->slots[at];
}

/* The key's number, 0: it has none. Keys may have changed since, if hash and same() speak of the former ones. */
INDEX_INLINE uint32_t index_find(const struct index *x, uint64_t hash, index_same_fn same, const void *ctx,
				 const void *key)
{
	for (size_t at = hash & (x->cap - 1); x->cap && x->slots[at]; at = (at + 1) & (x->cap - 1))
		if (same(ctx, x->slots[at], key))
			return x->slots[at];
	return 0;
}

#endif
