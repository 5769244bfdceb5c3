/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Observes the target's system calls in bursts, within the ledger's account for them, and writes
 * FMT_SYSIO records. Included by part_access.c.
 */
#ifndef ACCPERF_RECORD_PART_SYSIO_H
#define ACCPERF_RECORD_PART_SYSIO_H

#include "record/session.h"

/* Loads the program, measures what it costs, and joins the session; -errno: *e says why it cannot be had. */
int sysio_part_add(struct session *s, struct err *e);

#endif
