/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of one's own, as setup and teardown of a test or of a group: path is an empty file that goes with it.
 * Included by unit tests that write a profile and read it again.
 */
#ifndef TESTS_TEMP_FILE_H
#define TESTS_TEMP_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[256];

static int new_path(void **state)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%s/accperf-unit-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	return unlink(path) && access(path, F_OK) == 0 ? -1 : 0;
}

#endif
