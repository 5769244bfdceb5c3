/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's log on stderr, a line a sentence: logfmt, with journald's priority before it unless a terminal reads, or
 * JSON with its time, for what collects the output of containers. Included by cli and tests.
 */
#ifndef ACCPERF_DAEMON_SAY_H
#define ACCPERF_DAEMON_SAY_H

#include <stdint.h>

#include "util/buf.h"

enum say_level { SAY_ERROR = 3, SAY_WARN = 4, SAY_NOTICE = 5, SAY_INFO = 6 };

/* event: one word for what happened, by which the operator's page explains it. service: NULL: it is of none. It never
 * waits: a line that stderr does not take now is left out, and the next one tells how many were. */
void say(enum say_level level, const char *event, const char *service, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* From here on. */
void say_as_json(void);
/* The line alone, as logfmt; as JSON: time is nanoseconds of the time of day. */
void say_line(enum say_level level, const char *event, const char *service, const char *text, struct buf *out);
void say_json(enum say_level level, const char *event, const char *service, const char *text, int64_t time,
	      struct buf *out);

#endif
