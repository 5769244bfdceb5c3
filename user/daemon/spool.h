/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts that wait for a server, a file each in a folder of their own, named by their time: the oldest goes first, and
 * where they become too many, unsent. So an outage costs no memory, and of the disk so much at most.
 * Included by this room alone.
 */
#ifndef ACCPERF_DAEMON_SPOOL_H
#define ACCPERF_DAEMON_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_FILES 1440u       /* of one a minute, a day */
#define SPOOL_BYTES (32u << 20) /* of all together; by hand */
#define SPOOL_NAME 24u          /* bytes of a name: milliseconds since 1970, as 13 digits */

struct spool {
	int dir; /* -1: none */
	size_t count;
	uint64_t dropped; /* of all, unsent */
};

/* The folder in another: made where it is not there. -errno. */
int spool_open(struct spool *s, int in, const char *name);
void spool_close(struct spool *s);
/* alone: all others go, as the disk is full. -errno; the text is whole there, or not at all. */
int spool_put(struct spool *s, int64_t ms, const char *text, size_t len, bool alone);
/* false: there is none. */
bool spool_oldest(const struct spool *s, char name[SPOOL_NAME]);
void spool_remove(struct spool *s, const char *name);

#endif
