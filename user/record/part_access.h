/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `record` adds to timer samples: memory accesses computed from them, watchpoint windows drawn
 * from those, and system calls' ranges; all within their accounts of the ledger. Parts of a session, used by
 * record and the daemon. Its pieces: located_code.h (blocks and what they access), part_windows.h, part_hardware.h,
 * part_sysio.h.
 */
#ifndef ACCPERF_RECORD_PART_ACCESS_H
#define ACCPERF_RECORD_PART_ACCESS_H

#include <stdbool.h>

#include "record/session.h"
#include "source.h"

struct access_opts {
	bool accesses; /* write FMT_ACCESS */
	bool windows, syscalls;
	unsigned hit_limit;            /* of a window; 0: 16 */
	unsigned watch_len;            /* bytes that a window watches: 1 or 4; 0: 1 */
	const struct source *hardware; /* samples accesses itself; NULL: they are computed */
	unsigned ldlat;                /* for hardware: loads that took so many cycles only; 0: every load */
	bool phys, page_size;          /* physical addresses, sizes of pages, too */
	bool stack;                    /* draw windows on stack addresses, too */
};

/* Adds the parts to a session that has not started. What cannot be had here is left out, and
 * *degraded says what, one sentence each, separated by newlines. */
int access_parts_add(struct session *s, const struct access_opts *o, char *degraded, size_t size, struct err *e);

#endif
