/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording as a command makes it, from its options to the closing line. Included by user/foreground and
 * user/cli/record.c, which has parsed and checked the options.
 */
#ifndef ACCPERF_FOREGROUND_RECORDING_H
#define ACCPERF_FOREGROUND_RECORDING_H

#include "command/command.h"
#include "foreground/heap_asked.h"
#include "record/rotation.h"

struct record_opts {
	struct opt_list pids, tids, names;
	const char *cgroup, *effort, *output, *engine;
	const char *rotate;
	struct rotation *rotation; /* NULL: one profile */
	const char *offload, *offload_attach, *counts, *counts_cache, *timers, *breakpoints;
	struct opt_list offload_probes, labels;
	struct record_heap heap;
	bool offload_exact, offload_returns;
	const char *work;
	bool keep_set, ldlat_set, phys, page_size, cmdline, measure_cost, json;
	bool all, inherit, quiet, hz_set, period_set, accesses, windows, windows_set, syscalls, syscalls_set, waits,
		waits_set, call_segments, call_segments_set;
	double hz, duration;
	uint64_t keep, period, stack_bytes, ring_bytes, watch_len, ldlat;
};

/* Returns the exit status, the command's own where there is one (argv). */
int recording_once(const struct record_opts *asked, int argc, char **argv);
/* The processes that -p and -n name, with their children where these are observed: *pids is the caller's. */
int recording_pids(const struct record_opts *o, int **pids, size_t *count, struct err *e);

#endif
