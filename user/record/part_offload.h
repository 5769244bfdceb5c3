/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offload probes as a part of a recording (record/session.h). Included by foreground and cli.
 */
#ifndef ACCPERF_RECORD_PART_OFFLOAD_H
#define ACCPERF_RECORD_PART_OFFLOAD_H

#include "record/session.h"
#include "offload/session.h"
#include "util/buf.h"

struct offload_part;

/* NULL: *e says why probes cannot be had. exe: path of the command about to be run, or NULL. */
struct offload_part *offload_part_new(const struct offload_opts *o, const char *exe, struct err *e);
/* `record --offload help`: the APIs that can be named, to stdout. */
void offload_part_list(void);
void offload_part_free(struct offload_part *p);
/* To a session that has not started, which it outlives. */
int offload_part_add(struct session *s, struct offload_part *p, struct err *e);
/* After the recording: sentences, one a line; true: something asked for was missing. */
bool offload_part_notes(const struct offload_part *p, struct buf *out);

#endif
