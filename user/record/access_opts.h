/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording wants to know of memory accesses. Included by part_access.h and the parts that it adds. */
#ifndef ACCPERF_RECORD_ACCESS_OPTS_H
#define ACCPERF_RECORD_ACCESS_OPTS_H

#include <stdbool.h>

struct source;

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

#endif
