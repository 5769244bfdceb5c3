/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watchpoint windows: which sampled access the next one is spent on, when, for how long, what it costs the target,
 * and what it saw, as FMT_WINDOW records; within the ledger's accounts for hits and armed time. Included by
 * part_access.c, and by part_hardware.c, from whose samples windows are drawn where they come in time and tests.
 */
#ifndef ACCPERF_RECORD_PART_WINDOWS_H
#define ACCPERF_RECORD_PART_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/located_code.h"
#include "record/session.h"

struct access_opts;
struct windows;

/* Joins the session; *out is its own, for those that choose what is watched. -errno where there are no watchpoints:
 * *why says. */
int windows_add(struct session *s, const struct access_opts *o, struct windows **out, struct err *why);
/* A sample of the timer, in order of time, and whether its code is slow beside an armed watchpoint. */
void windows_tick(struct windows *w, bool string, bool kernel);
/* An access that was written: what is known of its instruction decides what a window there is worth. `a`: as computed;
 * function: located_code_function(). */
void windows_sampled(struct windows *w, uint64_t function, const struct block_access *a, const struct fmt_access *rec);
/* One that the processor sampled: the same, and perhaps a window on it. */
void windows_from_hardware(struct windows *w, const struct sample *m, struct located *at, const struct fmt_access *a);

#endif
