/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Complete profiles on their way to ClickHouse, by children that are `accperf fleet push`: one at a time, the oldest
 * first. What waits is the profiles themselves, on disk within keep_age and keep_size, so an outage of hours costs no
 * memory, and what was sent is asked of the server, so a restart sends nothing twice. Included by user/daemon.
 */
#ifndef ACCPERF_DAEMON_PUSHES_H
#define ACCPERF_DAEMON_PUSHES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon;

struct pushed {
	int64_t time;
	char name[64];
};

struct pushes {
	pid_t pid; /* 0: none runs */
	int said;
	struct pushed last, now;
	uint64_t began, retry_at;
	unsigned failures; /* in a row */
	uint64_t sent, failed, unreadable;
};

void pushes_look(struct daemon *d);
/* How many complete profiles wait. */
size_t pushes_waiting(const struct daemon *d);
void pushes_close(struct daemon *d);

#endif
