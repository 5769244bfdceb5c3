/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `accperf daemon`: which processes there are (watched.h), what each service may cost (account.h), its recorders
 * (recorder.h), their profiles (keeper.h). One loop, no thread; all that records are children, and what they hold
 * ends with them. Included by user/cli/daemon.c.
 */
#ifndef ACCPERF_DAEMON_DAEMON_H
#define ACCPERF_DAEMON_DAEMON_H

#include "daemon/config.h"
#include "util/buf.h"
#include "util/err.h"

/* Reads and checks a file: the number of errors, each a line "FILE:LINE:COLUMN: sentence"; *e where it cannot be read. */
unsigned daemon_read_config(const char *path, struct daemon_config *c, struct buf *errors, struct err *e);
/* What it would meet on this machine: how many processes each service has now, in `out`; what will not work, a line a
 * sentence, in `warnings`. */
void daemon_check(const struct daemon_config *c, struct buf *out, struct buf *warnings);
/* Until SIGTERM: 0 or -errno. Takes what c holds; path: read again at SIGHUP. */
int daemon_run(const char *path, struct daemon_config *c, struct err *e);

#endif
