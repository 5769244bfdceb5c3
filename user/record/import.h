/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording made by perf becomes a profile: one pass, samples through attr and into the store. The recording is
 * untrusted, and was made at another time or on another machine. Included by cli and tests.
 */
#ifndef ACCPERF_RECORD_IMPORT_H
#define ACCPERF_RECORD_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "store/perfdata.h"
#include "util/err.h"

struct import_opts {
	bool kernel;   /* accesses made by the kernel, too */
	bool cmdline;  /* perf's command line, arguments included */
	bool no_cache; /* do not touch $XDG_CACHE_HOME */
};

struct import_result {
	uint64_t accesses, ticks;
};

/* All of `in`, which was opened at `path`, into a new profile at `out`; where it fails, none is left. 0 or -errno; what
 * could not be read of the recording is no failure: perfdata_stats(in). */
int import_run(struct perfdata *in, const char *path, const char *out, const struct import_opts *o,
	       struct import_result *result, struct err *e);

#endif
