/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a recording that is cut into pieces: NAME.000001, NAME.000002... Numbers go on after the highest that is
 * there, so nothing of an earlier recording is replaced; what is removed is what this one made, and still is that file.
 * Included by foreground and cli. Owns names.
 */
#ifndef ACCPERF_RECORD_ROTATION_H
#define ACCPERF_RECORD_ROTATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/err.h"

struct rotated_file {
	unsigned number;
	dev_t dev;
	ino_t ino;
};

struct rotation {
	const char *name;
	double seconds;  /* how long one lasts; 0: by size */
	uint64_t bytes;  /* or how large it gets, about */
	uint64_t keep;   /* files; 0: all */
	unsigned number; /* of the present one */
	struct rotated_file *made;
	size_t count, cap;
	char path[4096]; /* of the present one */
};

/* A time (90s, 10m, 1h, 1d) or a size (64K, 10M, 1G): the unit says which. */
int rotation_parse(struct rotation *g, const char *text, struct err *e);
/* The first one's path, to be made by the caller. */
int rotation_begin(struct rotation *g, const char *name, struct err *e);
/* The next one's. */
const char *rotation_next(struct rotation *g);
/* It is there now: it is remembered, and the oldest are removed. */
int rotation_made(struct rotation *g, struct err *e);
void rotation_release(struct rotation *g);

#endif
