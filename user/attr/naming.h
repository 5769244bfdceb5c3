/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code addresses are to be named, and the FMT_FUNCTION and FMT_SYMBOL records that name them.
 * Owns the sets of wanted addresses and the function ids of one recording. attr.c's own; cli uses it
 * to name a profile whose recording was killed.
 *
 * To name a new kind of module: a case in naming_all().
 */
#ifndef ACCPERF_ATTR_NAMING_H
#define ACCPERF_ATTR_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "proc/jitmap.h"
#include "proc/module.h"
#include "store/write.h"
#include "util/err.h"

struct naming;

struct naming *naming_new(struct store_writer *w, bool use_cache, bool use_dwarf);
void naming_free(struct naming *n);
/* Each (module, addr) once, as often as it is said. */
void naming_want(struct naming *n, uint32_t module, uint64_t addr);
/* The anonymous code of one process, from its perf map (NULL: it has none); forgets those addresses. */
void naming_jit(struct naming *n, const struct module *m, struct jitmap *j);
/* While it runs: what the map names by now, and no more. */
void naming_jit_known(struct naming *n, const struct module *m, struct jitmap *j);
/* What is not named yet, of files and the kernel alone: while recording goes on. The next round has what is left once
 * `enough` says so before a file; NULL: nothing is left. */
int naming_files(struct naming *n, struct modules *ms, bool (*enough)(void *ctx), void *ctx);
/* Everything else. */
int naming_all(struct naming *n, struct modules *ms, struct err *e);
void naming_counters(const struct naming *n, void (*put)(void *ctx, const char *name, uint64_t value, bool in_part),
		     void *ctx);

#endif
