/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a load costs here that waits for the one before it, from so much memory. Included by flow. */
#ifndef ACCPERF_MEASURE_MEMORY_COST_H
#define ACCPERF_MEASURE_MEMORY_COST_H

#include <stddef.h>

#define MEMORY_COST_LEAST 4096u        /* bytes; in the nearest cache of any machine */
#define MEMORY_COST_MOST (256ul << 20) /* beyond it no cache helps, and it takes seconds */

/* ns; NaN: no memory. */
double memory_cost(size_t bytes);

#endif
