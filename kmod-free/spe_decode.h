/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of ARM's Statistical Profiling Extension, as they lie in the AUX buffer, to samples. The
 * bytes are untrusted. Written from the architecture's packet formats (ARM DDI 0487, chapter D10);
 * never run on the hardware. Included by this room and tests.
 *
 * To read another packet: a case in take_packet() of spe_decode.c.
 */
#ifndef ACCPERF_KMOD_FREE_SPE_DECODE_H
#define ACCPERF_KMOD_FREE_SPE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "sample.h"

struct spe_stats {
	uint64_t records, accesses, other, skipped_bytes;
};

/* Delivers SAMPLE_ACCESS (pid, tid, cpu from `base`) for records of loads and stores with an address.
 * Returns how many bytes were used: a record cut at the end is left for the next call. Negative: the
 * callback's result. */
int64_t spe_decode(const uint8_t *data, size_t size, const struct sample *base, struct spe_stats *stats, sample_fn fn,
		   void *ctx);

#endif
