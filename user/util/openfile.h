/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one way to open what a target or a profile names: a regular file or nothing. It is looked at
 * before it is opened, for opening a device can act (a watchdog) and opening a FIFO can wait for good.
 * Included by all that opens a path that is not the user's own word (many rooms). No domain knowledge.
 *
 * What lies on a file system that may wait for a server (mounts.h) is opened by another process, which is waited for
 * for a moment, and read as a copy in memory: a server that stops answering stalls nobody here. Everything else is
 * opened here, without a limit.
 *
 * What may still wait: a file that is given itself (for probes), if its server stops between the try and the use; a
 * local file whose disk does (a block device over a network); layers of an overlay that its mount does not name by
 * whole paths; /proc/PID/maps while a thread of the process waits with its memory map locked. Never: /proc/PID/cmdline
 * and environ, which the kernel reads from memory without files alone; links of /proc, read as texts.
 */
#ifndef ACCPERF_OPENFILE_H
#define ACCPERF_OPENFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* All return a descriptor for reading (O_CLOEXEC, O_NONBLOCK) and fill *st, of the file itself though a copy is given,
 * or -errno: -EINVAL where something lies there that is no regular file; -EINPROGRESS where a server has not answered
 * yet: ask again; -ETIMEDOUT where it does not. */
int openfile_regular(const char *path, struct stat *st);
/* The same as process `pid` sees the path: links are resolved inside its root and do not lead out of
 * it. pid 0: as we see it. */
int openfile_in_root(uint32_t pid, const char *path, struct stat *st);
/* And where the last part of the path is a link, it is not followed: -EINVAL. */
int openfile_in_root_nofollow(uint32_t pid, const char *path, struct stat *st);
/* Of links of /proc that lead to a file without its path: a mapping's, whose device /proc/PID/maps names (0, 0: not
 * known), and the program's. */
struct openfile_mapping {
	uint32_t pid;
	uint64_t start, end;
	unsigned major, minor;
};
int openfile_mapped(const struct openfile_mapping *m, struct stat *st);
int openfile_program(uint32_t pid, struct stat *st);
/* A folder inside the root of `pid`, for listing; -EREMOTE where a server would have to list it. */
int openfile_dir_in_root(uint32_t pid, const char *path);
/* Until it is called with false: files themselves, not copies, for what must have the very file (probes). They were
 * read whole just now, so that what is read of them is in memory as a rule. */
void openfile_itself(bool on);
/* It is a copy: what becomes of the file itself is not seen. */
bool openfile_is_copy(int fd);

/* For how long an answer is awaited before -EINPROGRESS, of each file system in all, and until a server is taken for
 * dead; milliseconds. limit 0: the usual. */
void openfile_patience(unsigned grace, unsigned limit);
/* For tests: something was asked for that is not answered yet. */
bool openfile_awaited(void);
/* Waits for all answers, so long at most; what has not come by then does not come. */
void openfile_await(unsigned most_ms);
/* Files that were not read, so far. */
struct openfile_refusals {
	uint64_t unanswered, too_large;
};
struct openfile_refusals openfile_refused(void);

/* A cache of what was worked out wants to know what it rests on: told is called for each path that
 * openfile_regular() is asked for, with what was found, or NULL. told NULL: nobody. Of one thread. */
void openfile_tell(void (*told)(void *ctx, const char *path, const struct stat *found), void *ctx);
/* Tells of what is read in another way: a file; or one in a folder (of this descriptor), NULL: the folder itself, which
 * changes with its entries, not with what is written into them. */
void openfile_looks_at(const char *path);
void openfile_looks_in(int dir, const char *name);
/* Tells of what a process of ours has found; a path that is not absolute: nothing that rests on it can be kept. */
void openfile_found(const char *path, const struct stat *found);

/* Only root or we ourselves can have written it: what is known of such a file may be remembered. */
bool openfile_is_ours(const struct stat *st);
/* Tells one content from another, though both claim the same build-id: the size, both ends and
 * pieces of the middle. It guards against mistakes; against malice stands openfile_is_ours(). 0: unreadable. */
uint64_t openfile_content(int fd, const struct stat *st);

#endif
