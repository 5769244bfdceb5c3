/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a profile: records go into per-section buffers; store_flush() compresses each into a
 * chunk and appends it: what was flushed survives kill -9. What is flushed often packs badly, so what goes on for long
 * calls store_spill() several times a second: its chunks are loose, and the next store_flush() puts in their place
 * what they hold, packed together. A full disk is an error of both and sticky, never a crash or silence.
 * Included by attr, flow, record, exact and tests. Owns the file and the string table.
 */
#ifndef ACCPERF_STORE_WRITE_H
#define ACCPERF_STORE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "format.h"
#include "util/err.h"

struct store_writer;

enum store_flags {
	STORE_KEEP_OLD = 1,  /* an older file is renamed to path.old */
	STORE_TIMELESS = 2,  /* no wall-clock time in the header: equal runs give equal bytes */
	STORE_WHEN_DONE = 4, /* it takes its name in store_close(), and leaves nothing behind if that is not reached */
};

/* Creates `path` as util/newfile.h tells, mode 0600. NULL on failure. A recording's profile has its name from the
 * beginning, because what was flushed must survive a kill; it is a new file all the same, put in the place of the
 * older one, which becomes .old. */
struct store_writer *store_create(const char *path, unsigned flags, struct err *e);
/* Flushes and closes; NULL is fine. Returns 0 or the first error that occurred. */
int store_close(struct store_writer *w, struct err *e);
/* What was written is not worth keeping: the file goes, and an older one that became NAME.old comes back. */
void store_undo(struct store_writer *w);
/* Closes without flushing, as kill -9 would: tests. */
void store_abandon(struct store_writer *w);

/* Id of a string, written on first use. 0 when s is NULL or memory ran out. */
uint32_t store_string(struct store_writer *w, const char *s);
/* What it stands for; NULL: nothing. */
const char *store_text(const struct store_writer *w, uint32_t id);
/* A fixed-size record of which the last of a key wins: left out if it says what the last one of this file said. */
int store_put_changed(struct store_writer *w, enum fmt_section section, uint32_t key, const void *rec,
		      uint32_t rec_size);
/* Something was put since the last store_flush() or store_spill(). */
bool store_waits(const struct store_writer *w);
/* A fixed-size record. */
int store_put(struct store_writer *w, enum fmt_section section, const void *rec, uint32_t rec_size);
/* A variable record made of a head and a tail (tail may be NULL). */
int store_put_var(struct store_writer *w, enum fmt_section section, const void *head, uint32_t head_size,
		  const void *tail, uint32_t tail_size);
int store_meta(struct store_writer *w, const char *key, const char *value);
int store_metaf(struct store_writer *w, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* All that `from` was told so far by store_meta(), another writer. */
int store_copy_meta(struct store_writer *w, const struct store_writer *from);
int store_flush(struct store_writer *w, struct err *e);
/* What was put survives a kill. Not of a file that is read on meanwhile (store_more()). */
int store_spill(struct store_writer *w, struct err *e);
/* Of the file as it is. */
uint64_t store_bytes(const struct store_writer *w);

#endif
