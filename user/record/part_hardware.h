/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses that the processor samples itself: any source of kmod-free/ that does, kept within the ledger's account
 * for it. A piece of the access part (part_access.h), which is its only includer.
 */
#ifndef ACCPERF_RECORD_PART_HARDWARE_H
#define ACCPERF_RECORD_PART_HARDWARE_H

#include <stdint.h>

#include "record/located_code.h"
#include "record/part_windows.h"
#include "record/session.h"

struct access_opts;
struct hardware_part;

/* Begins to sample the targets. w: those that its samples choose, which must then come at once; NULL: they choose none.
 * What is handed in outlives it. NULL: *e says why. */
struct hardware_part *hardware_part_start(struct session *s, struct located_code *c, struct windows *w,
					  const struct access_opts *o, struct err *e);
void hardware_part_free(struct hardware_part *h);
/* A new task is watched, too. */
void hardware_part_follow(struct hardware_part *h, uint32_t tid);
int hardware_part_poll(struct hardware_part *h);
void hardware_part_second(struct hardware_part *h, uint64_t now);
uint64_t hardware_part_written(const struct hardware_part *h); /* accesses */
/* Counters into the profile; also after hardware_part_stop(). */
void hardware_part_count(struct hardware_part *h);
/* Reads what is left, and counts. */
void hardware_part_stop(struct hardware_part *h);

#endif
