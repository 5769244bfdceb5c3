/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a recording that is cut into pieces: NAME.000001, NAME.000002... Numbers go on after the highest that is
 * there, so nothing of an earlier recording is replaced; what is removed is what this one made, and still is that file.
 * Included by cli. Owns names.
 */
#ifndef ACCPERF_RECORD_SEGMENTS_H
#define ACCPERF_RECORD_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct segment_file {
	unsigned number;
	dev_t dev;
	ino_t ino;
};

struct segments {
	const char *name;
	double seconds;  /* how long one lasts; 0: by size */
	uint64_t bytes;  /* or how large it gets, about */
	uint64_t keep;   /* files; 0: all */
	unsigned number; /* of the present one */
	struct segment_file *made;
	size_t count, cap;
	char path[4096]; /* of the present one */
};

/* A time (90s, 10m, 1h, 1d) or a size (64K, 10M, 1G): the unit says which. */
int segments_parse(struct segments *g, const char *text, struct err *e);
/* The first one's path, to be made by the caller. */
int segments_begin(struct segments *g, const char *name, struct err *e);
/* The next one's. */
const char *segments_next(struct segments *g);
/* It is there now: it is remembered, and the oldest are removed. */
int segments_made(struct segments *g, struct err *e);
void segments_release(struct segments *g);

#endif
