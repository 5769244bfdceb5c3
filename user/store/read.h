/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a profile, chunk by chunk, in the order they were written. The file is untrusted: every
 * size is checked, a damaged chunk ends the walk (or is skipped when the next one is found), and
 * store_recovery_text() says what was lost. The one loop over it is profile/walk.c. Owns the file. Included by
 * daemon, profile, offload, view and tests.
 *
 *     while ((n = store_next_packed(r, &c, &e)) > 0 && store_unpack(r, &c, &e) > 0)
 *             if (c.section == FMT_SAMPLE)
 *                     for (uint32_t i = 0; i < c.count; i++) {
 *                             struct fmt_sample s;
 *                             store_rec(&c, i, &s, sizeof(s));
 *                     }
 */
#ifndef ACCPERF_STORE_READ_H
#define ACCPERF_STORE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "util/err.h"

struct store_reader;

struct store_chunk {
	uint16_t section;
	uint32_t rec_size, count;
	const uint8_t *data; /* until the next store_next() */
	size_t size;
	size_t cursor; /* of store_next_var() */
};

struct store_recovery {
	bool ended;                /* an FMT_END was seen */
	bool torn;                 /* the file ends inside a chunk */
	bool swollen;              /* it claims more than a file of its size can hold: read as far as that goes */
	uint32_t bad_chunks;       /* damaged chunks skipped over */
	uint64_t lost_bytes;       /* bytes that no chunk claims */
	uint32_t unknown_sections; /* chunks of sections this version does not know */
};

/* NULL on failure: no such file, not a profile, newer major version. */
struct store_reader *store_open(const char *path, struct err *e);
void store_reader_free(struct store_reader *r);
const struct fmt_file *store_header(const struct store_reader *r);
/* Unpacks the chunks of a large file in a thread of its own, ahead of store_next(), until the end or
 * store_rewind(). Right after store_open(); without effect where it is not worth it. */
void store_read_ahead(struct store_reader *r);
/* 1 = *c filled, 0 = end, -errno. For tests: profile/walk.c takes the next one. */
int store_next(struct store_reader *r, struct store_chunk *c, struct err *e);
/* The same, but *c may have no data yet: store_unpack(), 1, has it then. 0: it is damaged, though its checksum holds;
 * -errno. What nobody takes is so never unpacked. */
int store_next_packed(struct store_reader *r, struct store_chunk *c, struct err *e);
int store_unpack(struct store_reader *r, struct store_chunk *c, struct err *e);
/* At the end, where a recording goes on: false: nothing was written since; else the walk goes on where the last sound
 * chunk ended. Not with store_read_ahead(). */
bool store_more(struct store_reader *r);
/* Starts over. */
void store_rewind(struct store_reader *r);
const struct store_recovery *store_recovery(const struct store_reader *r); /* for tests */
/* Appends a sentence on what was recovered, if anything was amiss; true if so. */
bool store_recovery_text(const struct store_reader *r, char *text, size_t size);

/* Record i of a fixed-size section; shorter records are padded with zeros, longer ones cut. */
void store_rec(const struct store_chunk *c, uint32_t i, void *rec, size_t size);
/* Next record of a variable section: its bytes (unaligned: copy the head out), NULL at the end. */
const uint8_t *store_next_var(struct store_chunk *c, size_t *size);

/* String by id; NULL for 0 and unknown ids. Complete only for strings of chunks already walked. */
const char *store_str(const struct store_reader *r, uint32_t id);
/* Value of a meta key among those walked so far, else NULL. */
const char *store_meta_get(const struct store_reader *r, const char *key);
/* The same, and walks no further than a recorder writes what it was told at its start. */
const char *store_meta_early(struct store_reader *r, const char *key);

#endif
