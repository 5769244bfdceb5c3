/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one growing array. Included by anyone; no domain knowledge. `array`, `count` and `cap` are evaluated more than
 * once; `cap` may be of any unsigned type. Each is false, and the array as it was, when memory has run out or when
 * the next capacity would not fit the type of `cap`: the caller turns that into -ENOMEM.
 *
 *     if (!GROW(list->item, list->count, list->cap, 64))
 *             return -ENOMEM;
 *     list->item[list->count++] = item;
 *
 *     if (!PUSH(list->item, list->count, list->cap, 64, item))	the same in one
 *             return -ENOMEM;
 *
 *     GROW_TO(array, need, cap, first)		room for `need` items in all
 *     GROW_ZEROED(array, need, cap, first)	the same; what is new is zero
 *     GROW_ONE(array, count)			room for one more in a short list that keeps no capacity
 */
#ifndef ACCPERF_GROW_H
#define ACCPERF_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The capacity that holds `need` items, doubled from `cap` or from `first`; 0: it would exceed `most`. */
static inline size_t grow_cap(size_t cap, size_t need, size_t first, size_t most)
{
	cap = cap ? cap : first;
	while (cap < need && cap <= most / 2)
		cap *= 2;
	return cap < need ? 0 : cap;
}

/* reallocarray(), but for a capacity of 0. */
static inline void *grow_array(void *array, size_t cap, size_t item)
{
	return cap ? reallocarray(array, cap, item) : NULL;
}

#define GROW_TO(array, need, cap, first)                                                                               \
	((need) <= (cap) || __extension__({                                                                            \
		 size_t grow_cap_ = grow_cap((cap), (need), (first), (__typeof__(cap))-1);                             \
		 __typeof__(array) grow_p_ = grow_array((array), grow_cap_, sizeof(*(array)));                         \
		 if (grow_p_) {                                                                                        \
			 (array) = grow_p_;                                                                            \
			 (cap) = (__typeof__(cap))grow_cap_;                                                           \
		 }                                                                                                     \
		 grow_p_ != NULL;                                                                                      \
	 }))

#define GROW(array, count, cap, first) GROW_TO(array, (size_t)(count) + 1, cap, first)

#define GROW_ZEROED(array, need, cap, first)                                                                           \
	((need) <= (cap) || __extension__({                                                                            \
		 size_t grow_had_ = (cap);                                                                             \
		 bool grow_ok_ = GROW_TO(array, need, cap, first);                                                     \
		 if (grow_ok_)                                                                                         \
			 memset((array) + grow_had_, 0, ((cap)-grow_had_) * sizeof(*(array)));                         \
		 grow_ok_;                                                                                             \
	 }))

#define GROW_ONE(array, count)                                                                                         \
	__extension__({                                                                                                \
		__typeof__(array) grow_p_ = grow_array((array), (size_t)(count) + 1, sizeof(*(array)));                \
		if (grow_p_)                                                                                           \
			(array) = grow_p_;                                                                             \
		grow_p_ != NULL;                                                                                       \
	})

#define PUSH(array, count, cap, first, ...)                                                                            \
	(GROW(array, count, cap, first) ? ((array)[(count)++] = (__VA_ARGS__), true) : false)

#endif
