/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which profiles go, so that age, total and the disk's reserve are kept: the oldest first, and never one that is being
 * written. Pure. Included by user/daemon and tests.
 */
#ifndef ACCPERF_DAEMON_RETENTION_H
#define ACCPERF_DAEMON_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kept_file {
	char *name;      /* below the service's folder */
	unsigned folder; /* the keeper's */
	int64_t time;    /* last written, ns of the time of day */
	int64_t was;     /* that, before the clock was set back; 0: it was not */
	uint64_t bytes;  /* on disk */
	bool open;       /* being written */
	bool goes;       /* out */
};

struct retention {
	double age;       /* seconds */
	uint64_t total;   /* bytes */
	uint64_t reserve; /* bytes */
	int64_t now;      /* as kept_file.time */
	uint64_t free;    /* bytes of the file system */
	bool ages;        /* the clock can be trusted: age counts */
};

struct retained {
	size_t count, gone;
	uint64_t bytes, gone_bytes;
	bool full; /* the reserve is not there, even so */
};

/* Sorts by time, and marks what goes. */
struct retained retention_choose(const struct retention *r, struct kept_file *files, size_t count);

#endif
