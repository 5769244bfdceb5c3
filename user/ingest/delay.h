/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long something took, over and over: quantiles of it, to a tenth. Pure logic, no clock. Included by cli and
 * tests.
 */
#ifndef ACCPERF_INGEST_DELAY_H
#define ACCPERF_INGEST_DELAY_H

#include <stdint.h>

#define DELAY_CLASSES 256 /* four to a doubling, from 1 ns */

struct delays {
	uint64_t count, in[DELAY_CLASSES];
};

void delays_add(struct delays *d, uint64_t ns);
/* ns that `part` of them stayed below; 0: there are none. */
uint64_t delays_within(const struct delays *d, double part);

#endif
