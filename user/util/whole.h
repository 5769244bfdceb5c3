/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A figure from a foreign file as a whole number: no value is undefined. Included by flow, view and daemon. */
#ifndef ACCPERF_WHOLE_H
#define ACCPERF_WHOLE_H

#include <stdint.h>

#define WHOLE_MOST 1.8e19 /* below 2^64 */

static inline uint64_t whole_number(double v)
{
	return v >= WHOLE_MOST ? UINT64_MAX : v > 0 ? (uint64_t)(v + 0.5) : 0;
}

#endif
