/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Room in an array that doubles. Included by anyone; no domain knowledge. `array`, `count` and `cap` are
 * evaluated more than once; `cap` may be of any unsigned type.
 *
 *     if (!GROW(list->item, list->count, list->cap, 64))
 *             return -ENOMEM;               the array is as it was
 *     list->item[list->count++] = item;
 */
#ifndef ACCPERF_GROW_H
#define ACCPERF_GROW_H

#include <stdbool.h>
#include <stdlib.h>

#define GROW(array, count, cap, first)                                                                                 \
	((count) < (cap) || __extension__({                                                                            \
		 __typeof__(cap) grow_cap_ = (cap) ? (cap)*2 : (first);                                                \
		 __typeof__(array) grow_p_ = reallocarray((array), grow_cap_, sizeof(*(array)));                       \
		 if (grow_p_) {                                                                                        \
			 (array) = grow_p_;                                                                            \
			 (cap) = grow_cap_;                                                                            \
		 }                                                                                                     \
		 grow_p_ != NULL;                                                                                      \
	 }))

#endif
