/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a name in a cache is a sum of: files as they are, and the program that works out what is kept. Included by those
 * that keep answers and solutions (command/kept.c, volume/balance_kept.c), tests.
 */
#ifndef ACCPERF_UTIL_HASHED_H
#define ACCPERF_UTIL_HASHED_H

#include <stdbool.h>
#include <sys/stat.h>
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

/* A file as it is: by its place, size and times where each change from now on would show in them, which spares reading
 * it; else by its contents. *st: what it was then. False: it cannot be read, or is no regular file. */
bool hashed_file(XXH3_state_t *h, const char *path, struct stat *st);
/* This program: another one may answer otherwise. By its build-id, else by its contents. */
bool hashed_program(XXH3_state_t *h);

#endif
