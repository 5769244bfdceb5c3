/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf map of one process: /tmp/perf-PID.map inside its mount namespace, named by its own pid
 * there, lines `START SIZE name` in hex that a JIT appends. Anybody may have written it: it must be
 * a regular file that belongs to the target's user or root, what is kept of it has a limit, names are
 * made printable. The file stays open, so it can be read to its end after the process is gone.
 * Owns the file and names. Included by user/attr and tests (f-jitmap).
 *
 * To read another kind of map (jitdump): a parser beside jitmap_parse() that fills the same entries.
 */
#ifndef ACCPERF_PROC_JITMAP_H
#define ACCPERF_PROC_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct jitmap;

/* NULL and a reason if there is none or it is not to be trusted. Reads what is there. */
struct jitmap *jitmap_load(uint32_t pid, struct err *e);
/* For tests: parses text; takes nothing over. NULL without memory. */
struct jitmap *jitmap_parse(const char *text, size_t len);
void jitmap_free(struct jitmap *j);
/* Reads what was appended since, 16 MB at a time; `last`: up to 128, and an unfinished line counts too. -ENOMEM. */
int jitmap_update(struct jitmap *j, bool last);
/* Forgets entries over which later ones lie everywhere: nothing that can be looked up. A map that is full does so by
 * itself, and if that does not help forgets the older half. */
void jitmap_prune(struct jitmap *j);
/* For tests: how many are kept; smaller limits of them and of bytes in names. */
size_t jitmap_entries(const struct jitmap *j);
void jitmap_limit(struct jitmap *j, size_t entries, size_t name_bytes);
/* Name of the newest entry around addr, NULL if none, and where it starts (may be NULL). Valid
 * until the next update. */
const char *jitmap_find(struct jitmap *j, uint64_t addr, uint64_t *start);
/* Lines that made no sense, or were forgotten as there were too many; and 1 for a rest that was not read at the end. */
uint64_t jitmap_rejected(const struct jitmap *j);

#endif
