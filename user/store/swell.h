/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a file may unpack to, and so how much memory a hostile one can take: the reader stops there, and the
 * writer stays below (FORMAT.md). Included by read.c and write.c only.
 */
#ifndef ACCPERF_STORE_SWELL_H
#define ACCPERF_STORE_SWELL_H

#include <stdint.h>

/* A file says what it unpacks to, and zstd can be made to unpack to 20,000 times its size. Recordings unpack to
 * 3 to 11 times theirs, of all kinds that there are; their densest chunks to 20 times. */
#define UNPACK_FACTOR 64
#define UNPACK_SLACK (4u << 20) /* bytes: of files so small that a header counts */
#define RECORD_LEAST 32         /* bytes that a record of fixed size is taken for: what is kept of it is no smaller */

/* Of a file of so many bytes. */
static inline uint64_t swell_limit(uint64_t size)
{
	return size * UNPACK_FACTOR + UNPACK_SLACK;
}

/* What a chunk counts for; rec_size 0: of records of many sizes. */
static inline uint64_t swell_of(uint64_t raw_size, uint32_t rec_size, uint32_t count)
{
	uint64_t least = rec_size ? (uint64_t)count * RECORD_LEAST : 0;

	return raw_size < least ? least : raw_size;
}

#endif
