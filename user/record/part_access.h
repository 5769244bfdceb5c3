/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `record` adds to timer samples: memory accesses computed from them, watchpoint windows drawn
 * from those, and system calls' ranges; all within their accounts of the ledger. Parts of a session, included by
 * foreground and tests. Its pieces: located_code.h (blocks and what they access), part_windows.h, part_hardware.h,
 * part_sysio.h.
 */
#ifndef ACCPERF_RECORD_PART_ACCESS_H
#define ACCPERF_RECORD_PART_ACCESS_H

#include "record/access_opts.h"
#include "record/session.h"

/* Adds the parts to a session that has not started. What cannot be had here is left out, and
 * *degraded says what, one sentence each, separated by newlines. */
int access_parts_add(struct session *s, const struct access_opts *o, char *degraded, size_t size, struct err *e);

#endif
