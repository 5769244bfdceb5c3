/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way to open what a target or a profile names: a regular file or nothing. It is looked at
 * before it is opened, for opening a device can act (a watchdog) and opening a FIFO can wait for good.
 * Included by whoever opens a path that is not the user's own word. No domain knowledge.
 */
#ifndef ACCPERF_OPENFILE_H
#define ACCPERF_OPENFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* All return a descriptor for reading (O_CLOEXEC, O_NONBLOCK) and fill *st, or -errno: -EINVAL where
 * something lies there that is no regular file. */
int openfile_regular(const char *path, struct stat *st);
/* The same as process `pid` sees the path: links are resolved inside its root and do not lead out of
 * it. pid 0: as we see it. */
int openfile_in_root(uint32_t pid, const char *path, struct stat *st);
/* And where the last part of the path is a link, it is not followed: -EINVAL. */
int openfile_in_root_nofollow(uint32_t pid, const char *path, struct stat *st);
/* Links of /proc that lead to a file without its path: /proc/PID/map_files/..., /proc/PID/exe. */
int openfile_magic(const char *path, struct stat *st);
/* A folder inside the root of `pid`, for listing. */
int openfile_dir_in_root(uint32_t pid, const char *path);

/* Whoever keeps what was worked out wants to know what it rests on: told is called for each path that
 * openfile_regular() is asked for, with what was found, or NULL. told NULL: nobody. Of one thread. */
void openfile_tell(void (*told)(void *ctx, const char *path, const struct stat *found), void *ctx);

/* Only root or we ourselves can have written it: what is known of such a file may be remembered. */
bool openfile_is_ours(const struct stat *st);
/* Tells one content from another, though both claim the same build-id: the size, both ends and
 * pieces of the middle. It guards against mistakes; against malice stands openfile_is_ours(). 0: unreadable. */
uint64_t openfile_content(int fd, const struct stat *st);

#endif
