/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Observes the target's system calls in bursts, within the ledger's account for them, and writes
 * FMT_SYSIO records. A piece of the access part (part_access.h), which is its only includer.
 */
#ifndef ACCPERF_RECORD_PART_SYSIO_H
#define ACCPERF_RECORD_PART_SYSIO_H

#include <stdint.h>
#include <sys/types.h>

#include "record/session.h"

struct sysio_part;

/* Loads the program and measures what it costs. */
struct sysio_part *sysio_part_new(struct session *s, struct err *e);
int sysio_part_start(struct sysio_part *c, struct targets *t, struct err *e);
int sysio_part_poll(struct sysio_part *c, uint64_t now);
int sysio_part_fd(const struct sysio_part *c); /* readable when sysio_part_poll() has something to do */
/* Counters into the profile; also after sysio_part_stop(). */
void sysio_part_count(struct sysio_part *c);
/* Detaches and writes what is left. */
void sysio_part_stop(struct sysio_part *c);
void sysio_part_free(struct sysio_part *c);

#endif
