/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of profiles: FOLDER/SERVICE/BEGAN-PID.NNNNNN, BEGAN being the time of day in UTC at which that recorder
 * began. Lists them, removes what retention chooses, and touches nothing that has another name or is no regular file.
 * Nothing is opened by a path of more than one part below the folder, and no link is followed.
 * Included by this room and tests. Owns the folder's descriptor and lock.
 */
#ifndef ACCPERF_DAEMON_KEEPER_H
#define ACCPERF_DAEMON_KEEPER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/config.h"
#include "daemon/retention.h"
#include "util/err.h"

#define KEEPER_NAME 40              /* of a recorder's files, without the number */
#define KEEPER_FUTURE_NS 1000000000 /* a file is of the future from there on: less is how a clock is kept right */

struct keeper {
	int dir;
	char path[PATH_MAX];
	struct kept_file *files;
	size_t count, cap;
	char (*folders)[NAME_MAX + 1];
	size_t folder_count;
	struct retained kept; /* as of the last sweep */
	uint64_t removed, refused;
	int64_t swept_at; /* ns of the time of day */
};

/* Makes the folder if it is not there, 0700; refuses one that another daemon uses. */
int keeper_open(struct keeper *k, const char *folder, struct err *e);
/* Its path leads to another folder, or to none: it was removed, moved, mounted over or unmounted. */
bool keeper_gone(const struct keeper *k);
/* Opens what the path leads to now, as keeper_open() does; on failure all stays as it was. */
int keeper_again(struct keeper *k, struct err *e);
/* Nobody else may write there: who could might put links in the place of folders, which recorders open by their paths
 * as root. keeper_open() and keeper_begin() refuse others. */
bool keeper_is_private(const struct stat *st);
/* The name of files of a recorder that begins now: below SERVICE's folder, which is made. */
int keeper_begin(struct keeper *k, const char *service, int pid, char out[KEEPER_NAME], struct err *e);
/* Whether it names a file as keeper_begin() does, with its number. */
bool keeper_is_ours(const char *file);
/* Bytes that others than root may still write; 0 where that cannot be told. */
uint64_t keeper_free(const struct keeper *k);
/* Files that may still be made there, where the file system has a limit of them (inodes). */
uint64_t keeper_files_free(const struct keeper *k);
/* Nothing can be written or removed there. */
bool keeper_read_only(const struct keeper *k);
/* Size of a file of ours; -1: it is not there. */
int64_t keeper_size(const struct keeper *k, const char *service, const char *name, unsigned number);
/* It holds nothing, and is removed; where that fails it stays, and goes with its age. */
void keeper_drop(const struct keeper *k, const char *service, const char *name, unsigned number);
/* One of `files`, for reading; -1: it is gone. */
int keeper_fd(const struct keeper *k, const char *service, const char *file);
/*
 * Lists all and removes what goes. writing(): files that are being written. A file of the future was written before
 * the clock was set back: it becomes one of now, in its order, so that what is written from now on is newer.
 */
typedef bool (*keeper_writing_fn)(void *ctx, const char *service, const char *file);
int keeper_sweep(struct keeper *k, const struct daemon_config *c, bool ages, keeper_writing_fn writing, void *ctx);
void keeper_close(struct keeper *k);

#endif
