/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the user sees on stderr: errors, warnings, notes, and the one-line progress display.
 * Included by flow, record, command, foreground, exact and tests; libraries return struct err instead.
 */
#ifndef ACCPERF_LOG_H
#define ACCPERF_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO };

/* "accperf: text"; progress lines are cleared first. */
void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_msg(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_msg(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_msg(LOG_INFO, __VA_ARGS__)

/* Messages as they were printed are appended to `copy`, too; NULL: no more. */
struct buf;
void log_copy_to(struct buf *copy);

/* Rewrites one line in place; does nothing unless stderr is a terminal (or quiet). */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_end(void);
/* From a second on, each second, as log_progress(): "accperf: WHAT: so many s"; until log_progress_end() or a message.
 * For work that does not tell how far it is. */
void log_progress_waiting(const char *what);

#endif
