/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One record of the sampler's ring becomes a sample; pages of memory wait for the sample they came with. Included by
 * sampler.c and tests.
 */
#ifndef ACCPERF_KMOD_FREE_SAMPLER_RECORD_H
#define ACCPERF_KMOD_FREE_SAMPLER_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "sample.h"

struct page_store {
	struct sample_page page[WIRE_PAGES_ALL];
	uint8_t byte[WIRE_PAGES_ALL][WIRE_PAGE_BYTES];
	uint64_t time;
	uint32_t tid, cpu, count;
};

struct sampler_feed {
	sample_fn fn;
	void *ctx;
	unsigned left; /* records that this read may still take */
	uint64_t last; /* time of the last one */
	uint64_t malformed;
	struct page_store *pages; /* of the sample that is to come; NULL: never asked for */
};

/* 0, what `fn` said if that is negative, or -EAGAIN when none is left. What cannot be right is counted. */
int sampler_record(struct sampler_feed *s, const void *data, size_t size);

#endif
