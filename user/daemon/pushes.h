/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete profiles on their way to each server of the section fleet, by children that are `accperf fleet push`: one at
 * a time to each, the oldest first. What waits is the profiles themselves, on disk within keep_age and keep_size, so an
 * outage of hours costs no memory. ClickHouse is asked what it has; of the others the last that was sent is remembered
 * in a file, so a restart sends nothing twice but what was under way. By remote write no profiles go, but figures: what
 * /metrics says, each so often into a spool. Included by user/daemon.
 *
 * To add a server: a row in pushes.c, its key in config.c, its option of `accperf fleet push`.
 */
#ifndef ACCPERF_DAEMON_PUSHES_H
#define ACCPERF_DAEMON_PUSHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/spool.h"
#include "util/buf.h"

struct daemon;

struct pushed {
	int64_t time;
	char name[64];
};

enum push_to { PUSH_CLICKHOUSE, PUSH_OTLP, PUSH_PYROSCOPE, PUSH_FIGURES };
#define PUSH_SERVERS (PUSH_FIGURES + 1u)

struct push {
	pid_t pid; /* 0: none runs */
	int said;
	struct pushed last, now;
	uint64_t began, retry_at;
	unsigned failures; /* in a row */
	uint64_t sent, failed, unreadable;
};

struct pushes {
	struct push to[PUSH_SERVERS];
	struct spool figures; /* what /metrics said at times, for remote write */
	uint64_t next_figures;
};

/* Finds out what was sent before. */
void pushes_open(struct daemon *d);
/* Behind a sweep: what was sent is known by the times that files have now. */
void pushes_swept(struct daemon *d);
void pushes_look(struct daemon *d);
/* Whether what /metrics says is to be taken now, and what it says. */
bool pushes_want_figures(struct daemon *d);
void pushes_take_figures(struct daemon *d, const struct buf *text);
/* The server's name in messages and figures; NULL: the configuration has none. */
const char *pushes_name(const struct daemon *d, unsigned to);
/* How many complete profiles wait, or sets of figures. */
size_t pushes_waiting(const struct daemon *d, unsigned to);
void pushes_close(struct daemon *d);

#endif
