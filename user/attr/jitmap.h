/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /tmp/perf-PID.map: names that a JIT compiler writes for its code. The file is the target's, and
 * /tmp is everybody's: it is read in the target's mount namespace, must be a regular file owned by
 * the target's user or root, is bounded in size and lines, and names are cleaned of control
 * characters. Included by attr, tests. To add another JIT's format: another parser into the same
 * sorted table.
 */
#ifndef ACCPERF_ATTR_JITMAP_H
#define ACCPERF_ATTR_JITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/err.h"

struct jitmap;

/* Map of a live process; NULL: there is none, or it is not to be trusted (then *e says why). */
struct jitmap *jitmap_load(uint32_t pid, struct err *e);
/* Parses text; takes nothing over. For jitmap_load and the fuzzer. NULL without memory. */
struct jitmap *jitmap_parse(const char *text, size_t len);
/* The name of the code at addr and where it starts; NULL unknown. Later lines win over earlier. */
const char *jitmap_find(const struct jitmap *j, uint64_t addr, uint64_t *start);
size_t jitmap_count(const struct jitmap *j);
uint64_t jitmap_rejected(const struct jitmap *j); /* lines that were no entries */
void jitmap_free(struct jitmap *j);

#endif
