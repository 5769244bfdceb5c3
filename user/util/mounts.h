/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files lie on file systems that may wait for another process: a FUSE server, an NFS, CIFS or 9p server, an
 * automounter. Known from the table of mounts alone: nobody is asked, for asking is what may wait. Included by
 * what opens a target's files, or reads memory that such a file may be mapped to and tests. Owns a text. To add a file
 * system of the kernel's own: a word in mounts.c. One that is not named there counts as served.
 */
#ifndef ACCPERF_MOUNTS_H
#define ACCPERF_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum mount_kind { MOUNT_UNKNOWN, MOUNT_LOCAL, MOUNT_SERVED };

struct mounts {
	char *text;    /* /proc/PID/mountinfo, in lines */
	bool served;   /* any is */
	bool rechecks; /* any asks its server where one of /proc's links leads to it, as all but FUSE may */
};

/* As process `pid` sees them; 0: as we do. -errno: it cannot be read. Release it in any case. */
int mounts_read(struct mounts *m, uint32_t pid);
/* For tests: of a text as /proc/PID/mountinfo has it, which is copied. */
int mounts_parse(struct mounts *m, const char *text);
void mounts_release(struct mounts *m);

/* By the device number that /proc/PID/maps shows. */
enum mount_kind mounts_of_device(const struct mounts *m, unsigned major, unsigned minor);
/* By the deepest mount that the path leads through, links aside; *device: its number, major in the high half. */
enum mount_kind mounts_of_path(const struct mounts *m, const char *path, uint64_t *device);
/* No mount that the path leads through, links aside, is served. */
bool mounts_local_way(const struct mounts *m, const char *path);
/* Of an open descriptor, O_PATH included, by the number of its mount; *device as above, 0: not known. */
enum mount_kind mounts_of_fd(const struct mounts *m, int fd, uint64_t *device);

#endif
