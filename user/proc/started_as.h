/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program was started as, where that is a link to its file: users look for the name that they typed. The text,
 * kept under META_STARTED_AS: the file's path, a newline, the name. Included by recorders and by what reads profiles
 * (profile, record and exact), and tests.
 */
#ifndef ACCPERF_PROC_STARTED_AS_H
#define ACCPERF_PROC_STARTED_AS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define META_STARTED_AS "started_as"

/* False: by its file's own name, or nobody can tell. */
bool started_as_of_pid(pid_t pid, char *out, size_t size);
bool started_as_of_path(const char *path, char *out, size_t size);
/* The name that the text has for the file at `path`, or for its last component alone; NULL: none. */
const char *started_as_name(const char *text, const char *path);

#endif
