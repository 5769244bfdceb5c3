/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log: logfmt on stderr, a line a sentence, with journald's priority before it unless a terminal reads.
 * Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_SAY_H
#define ACCPERF_DAEMON_SAY_H

#include "util/buf.h"

enum say_level { SAY_ERROR = 3, SAY_WARN = 4, SAY_NOTICE = 5, SAY_INFO = 6 };

/* event: one word for what happened, by which the operator's page explains it. service: NULL: it is of none. */
void say(enum say_level level, const char *event, const char *service, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The line alone. */
void say_line(enum say_level level, const char *event, const char *service, const char *text, struct buf *out);

#endif
