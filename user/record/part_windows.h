/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watchpoint windows: which sampled access the next one is spent on, when, for how long, what it costs the target,
 * and what it saw, as FMT_WINDOW records; within the ledger's accounts for hits and armed time. A piece of the
 * access part: included by part_access.c, and by part_hardware.c, from whose samples windows are drawn where they
 * come in time.
 */
#ifndef ACCPERF_RECORD_PART_WINDOWS_H
#define ACCPERF_RECORD_PART_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/located_code.h"
#include "record/session.h"

struct access_opts;
struct windows;

/* NULL where there are no watchpoints: *why says. What is handed in outlives it. */
struct windows *windows_new(struct session *s, struct located_code *c, const struct access_opts *o, struct err *why);
void windows_free(struct windows *w);
void windows_start(struct windows *w);
/* In the next profile: windows that are open go on, what was learnt of places begins anew. */
void windows_begun(struct windows *w);
int windows_fd(const struct windows *w); /* readable when windows_poll() has something to do */
/* Every sample, in order of time. */
void windows_sample(struct windows *w, const struct sample *m);
/* A sample of the timer, in order of time, and whether its code is slow beside an armed watchpoint. */
void windows_tick(struct windows *w, bool string, bool kernel);
/* A fresh sample of the timer: perhaps a window on what it accesses. */
void windows_fresh(struct windows *w, const struct sample *m);
/* An access that was written: what is known of its instruction decides what a window there is worth. `a`: as computed;
 * function: located_code_function(). */
void windows_sampled(struct windows *w, uint64_t function, const struct block_access *a, const struct fmt_access *rec);
/* One that the processor sampled: the same, and perhaps a window on it. */
void windows_from_hardware(struct windows *w, const struct sample *m, const struct fmt_access *a);
void windows_poll(struct windows *w, uint64_t now);
void windows_second(struct windows *w, uint64_t now);
/* Counters into the profile; also after windows_stop(). */
void windows_count(struct windows *w);
/* Ends those that are open; the other calls do nothing from then on. */
void windows_stop(struct windows *w);

#endif
