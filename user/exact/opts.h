/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run under the exact engine counts, and where its results go. Included by this room alone. */
#ifndef ACCPERF_EXACT_OPTS_H
#define ACCPERF_EXACT_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#define EXACT_LOGS 5 /* function, subcalls, icount, xfers, accesses */

struct exact_opts {
	const char *output;
	const char *semantics; /* both, quad, ke */
	const char *stack;     /* exclude, include */
	const char *attribute; /* self, main */
	bool lib, lib_set;     /* --lib, --no-lib: another way to say attribute */
	bool unique, cycles, objects, callees;
	const char *functions, *candidate;             /* lists; NULL: all, none */
	const char *start_at, *stop_at, *writers_from; /* FN[:N] */
	uint64_t chunk, slice;
	const char *emit_samples, *emit_timer; /* PERIOD[:SEED], PERIOD */
	uint64_t emit_census, emit_windows, window_hits;
	const char *log[2 * EXACT_LOGS];    /* text and binary form of each; NULL: not wanted */
	uint64_t xfer_chunk, accesses_most; /* the latter: 0 no bound */
	bool cmdline, quiet;
};

#endif
