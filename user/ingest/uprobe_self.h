/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user/ingest/uprobe.c probes in ourselves to see whether probing works and what it costs.
 * Included by uprobe.c and uprobe_self.c only.
 */
#ifndef ACCPERF_UPROBE_SELF_H
#define ACCPERF_UPROBE_SELF_H

#include <stdint.h>

/* File offset within /proc/self/exe of an address of ours; 0 when it lies elsewhere. */
uint64_t self_offset(const void *addr);
const void *self_function(void); /* an empty function */
const void *self_marker(void);	 /* a 5-byte NOP; NULL where this architecture has none */
/* CPU nanoseconds per call of either, over n calls. */
double self_time_function(unsigned n);
/* The same with other work before each call, so that the probe's code and data are not in the first
 * caches when it is hit; the work's own time is in the result. */
double self_time_function_cold(unsigned n);
double self_time_marker(unsigned n);
/* Calls the function n times from a second thread. */
int self_call_in_thread(unsigned n);

#endif
