/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --counts-cache DIR|off, as record and counts share it: where sums of windows and what bursts saw outlive a recording.
 * Included by user/foreground and user/cli/counts.c, record.c.
 */
#ifndef ACCPERF_FOREGROUND_COUNTS_KEEP_H
#define ACCPERF_FOREGROUND_COUNTS_KEEP_H

#include "counts/counts_cache.h"
#include "util/err.h"

#define COUNTS_CACHE_OPT(where)                                                                                                                \
	{                                                                                                                                      \
		OPT_STRING, 0, "counts-cache", where, "DIR",                                                                                   \
			"where counts and writers of earlier recordings are kept, by build-id; off: nowhere ($XDG_CACHE_HOME/accperf/counts)", \
			0                                                                                                                      \
	}

/* A descriptor; -1: none (off, or no home that is ours); -errno with *e: the folder named is not usable. */
int counts_cache_folder(const char *option, struct err *e);
/* Adds what a finished recording measured, counts where it took some; a cache that cannot be written is only missed. */
void counts_cache_keep(const char *option, const char *profile, bool counts);

#endif
