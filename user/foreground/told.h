/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What record says of itself: the progress line, the closing line, and what the figures would be silent about.
 * Included by this room alone.
 *
 * To tell of another shortfall: a function that returns EXIT_DEGRADED where it is much, called by record_tell_rest().
 */
#ifndef ACCPERF_FOREGROUND_TOLD_H
#define ACCPERF_FOREGROUND_TOLD_H

#include <stdbool.h>

#include "record/session.h"

void record_tell_progress(const struct session_totals *t);
/* rotated: output is the beginning of several files' names. */
void record_tell_closing(const struct session_totals *t, const char *output, bool rotated);
void record_tell_unnamed(void);
void record_tell_command(struct targets *t);
/* Of the profile that is finished, where samples are in code whose runtime could have told its names. */
void record_tell_run_time_code(struct session *s, const char *output);
/* EXIT_DEGRADED if there is no sample. */
int record_tell_no_samples(struct session *s, struct targets *t);
/* The status, or EXIT_DEGRADED where much is not known. */
int record_tell_rest(const struct session_totals *t, bool quiet, int status);

#endif
