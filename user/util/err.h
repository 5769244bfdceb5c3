/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: a function that can fail returns 0 or more on success, -errno on failure, and puts one
 * sentence a user can act on into `struct err`. Library code never prints; the command does, once. Included by many
 * rooms.
 *
 *     return err_set(e, -ENOENT, "no process %d: it may have ended; see `ps`", pid);
 */
#ifndef ACCPERF_ERR_H
#define ACCPERF_ERR_H

#include <stddef.h>

struct err {
	int code;       /* -errno, 0 = none */
	char text[600]; /* one line, safe for a terminal (util/clean.h); no trailing full stop */
};

/* Stores the sentence and returns `code`; e may be NULL. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Puts "prefix: " before what is there and returns the code. */
int err_prefix(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
