/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a recording's options ask for beside the timer: which engine, which parts of the session. What cannot be had is
 * said, and *status becomes EXIT_DEGRADED where it was asked for by name. Included by user/foreground/recording.c.
 */
#ifndef ACCPERF_FOREGROUND_PARTS_ASKED_H
#define ACCPERF_FOREGROUND_PARTS_ASKED_H

#include "foreground/recording.h"
#include "record/part_offload.h"
#include "record/session.h"
#include "source.h"

/* 0, or EXIT_DEGRADED when something that was asked for by name cannot be had. */
int asked_engine(const struct record_opts *o, const struct source **chosen);
/* What only a processor that samples accesses can tell was asked for. */
int asked_hardware_options(const struct record_opts *o, const struct source *hw);
/* Whether windows of execute breakpoints are to turn time into counts. */
bool asked_counts(const struct record_opts *o, const struct source *hw);
int asked_add_accesses(const struct record_opts *o, struct session *s, const struct source *hw, int *status,
		       struct err *e);
int asked_add_counts(const struct record_opts *o, const struct session_opts *so, struct session *s, int *status);
/* What earlier recordings of the same files saw, into the profile. */
int asked_add_earlier(const struct record_opts *o, struct session *s, struct err *e);
int asked_add_waits(const struct record_opts *o, struct session *s, int *status);
/* Probes for offload calls; NULL without an error: none were asked for. */
struct offload_part *asked_offload(const struct record_opts *o, int argc, char **argv, struct err *e);
/* Advice needs calls of what could be offloaded. Unasked, a recording looks for them in the processes that it attaches
 * to and in a command, whose libraries may come later; nothing is loaded or priced before one does. */
int asked_add_offload(const struct record_opts *o, const struct targets *t, const char *exe, struct offload_part **out,
		      struct err *e);
/* What the probes have to say; 3 when something asked for was not there. */
int asked_offload_notes(const struct offload_part *p, bool quiet, int status);

#endif
