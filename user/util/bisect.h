/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searching what is in order. Included by all rooms. */
#ifndef ACCPERF_BISECT_H
#define ACCPERF_BISECT_H

#include <stddef.h>

/* The first i of 0..n - 1 for which `before` does not hold; n: it holds for all. What it holds for stands first. */
#define BISECT(i, n, before)                                                                                           \
	({                                                                                                             \
		size_t lo_ = 0, hi_ = (n);                                                                             \
		while (lo_ < hi_) {                                                                                    \
			size_t i = lo_ + (hi_ - lo_) / 2;                                                              \
			if (before)                                                                                    \
				lo_ = i + 1;                                                                           \
			else                                                                                           \
				hi_ = i;                                                                               \
		}                                                                                                      \
		lo_;                                                                                                   \
	})

#endif
