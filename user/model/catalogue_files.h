/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Catalogues as files: a user's, what `accperf calibrate` measured here, and all that is known in one. Included by
 * user/advise, user/view, user/cli.
 */
#ifndef ACCPERF_CATALOGUE_FILES_H
#define ACCPERF_CATALOGUE_FILES_H

#include <stddef.h>

#include "model/catalogue.h"
#include "util/buf.h"
#include "util/err.h"

/* A file of a user's, whole, at most 256 MB. */
int catalogue_text(const char *path, struct buf *out, struct err *e);
/* *c is the caller's to release in any case. */
int catalogue_read(struct catalogue *c, const char *path, struct err *e);
/* The same; no such file, or one without a byte, is an empty catalogue. */
int catalogue_read_if_any(struct catalogue *c, const char *path, struct err *e);
/* A reader sees the old catalogue or the new one, never half of one. */
int catalogue_save(const struct catalogue *c, const char *path, struct err *e);
/* Where `accperf calibrate` keeps what it measured. */
const char *catalogue_own_path(char *path, size_t size);
/*
 * What comes with the program, what `accperf calibrate` measured here, and `file` (NULL: none). A name that stands in
 * two of them is -EINVAL: they contradict each other.
 */
int catalogue_all(struct catalogue *c, const char *file, struct err *e);

#endif
