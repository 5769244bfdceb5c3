/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one walk over a profile's sections. What is to be read is a table of rows, one a section; several
 * tables may ride on one walk, each with a context of its own, and each record is unpacked once.
 *
 *     static const struct section_row rows[] = { { FMT_SAMPLE, sizeof(struct fmt_sample), take_sample }, ... };
 *     struct section_reader readers[] = { SECTION_READER(rows, &mine) };
 *     err = sections_walk(reader, readers, 1, &e);
 *
 * A profile is walked once: what needs more of it takes part in profile_read() (profile/profile.h).
 * To read a section more: a row, and its take(). Included by everything that reads profiles.
 */
#ifndef ACCPERF_PROFILE_WALK_H
#define ACCPERF_PROFILE_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/read.h"
#include "util/err.h"

struct section_row {
	uint16_t section; /* enum fmt_section */
	/* Of the record's struct: what a file's records are shorter is zero, what they are longer is cut. 0: each
	 * record has a length of its own, and lies in the file's bytes, unaligned. */
	uint16_t size;
	/* 0, or -errno, which ends the walk. */
	int (*take)(void *ctx, const void *rec, size_t size);
	/* Optional, before a chunk of that many records: false where these need not be looked at. */
	bool (*want)(void *ctx, uint32_t count);
};

struct section_reader {
	const struct section_row *rows;
	size_t count;
	void *ctx;
	/* Optional: where an error of its take() is kept. This reader is then asked no more, and the walk goes on for
	 * the others; without, the walk ends. */
	int *failed;
};

#define SECTION_READERS 12 /* at most, on one walk */
#define SECTION_READER(table, context)                                                                                 \
	((struct section_reader){ .rows = (table), .count = sizeof(table) / sizeof(*(table)), .ctx = (context) })

/* From where the reader stands to its end. The error is the reader's, or take()'s, which says it itself. */
int sections_walk(struct store_reader *r, const struct section_reader *readers, size_t count, struct err *e);

#endif
