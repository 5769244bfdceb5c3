/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user time of pieces of time in which segments are drawn, by the samples that lie in them. Samples come in the
 * order of time, and later than what was drawn: pieces are kept until one that is younger has come, and written then.
 * Included by part_segments.c and tests.
 */
#ifndef ACCPERF_RECORD_STRETCH_TICKS_H
#define ACCPERF_RECORD_STRETCH_TICKS_H

#include <stddef.h>

#include "format.h"
#include "sample.h"
#include "store/write.h"

#define STRETCH_TICKS_OPEN 32 /* pieces that samples have not caught up with: two seconds of them */

struct stretch_ticks {
	struct fmt_segment_stretch open[STRETCH_TICKS_OPEN];
	size_t count;
};

/* One begins, after all others. */
void stretch_ticks_begin(struct stretch_ticks *t, uint32_t stretch, uint64_t from, uint64_t until);
/* It ended earlier than was said, and which samples lie in it is no longer known. */
void stretch_ticks_drop(struct stretch_ticks *t, uint32_t stretch);
/* 0; -errno of the store. */
int stretch_ticks_sample(struct stretch_ticks *t, struct store_writer *to, const struct sample *m);
/* No sample is to come any more. */
int stretch_ticks_flush(struct stretch_ticks *t, struct store_writer *to);

#endif
