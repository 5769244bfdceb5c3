/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small file of a process: what /proc/PID has of it. Owns nothing. Included by proc, offload and daemon. */
#ifndef ACCPERF_UTIL_PROCESS_FILE_H
#define ACCPERF_UTIL_PROCESS_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* As much as fits before the 0 that ends it; how much that is, or -errno, and then an empty text. */
ssize_t process_file(pid_t pid, const char *file, char *text, size_t size);

#endif
