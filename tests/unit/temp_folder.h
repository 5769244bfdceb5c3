/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of one's own for a group of tests, with files such as sysfs has them. Included by tests of what reads such
 * folders.
 */
#ifndef TESTS_TEMP_FOLDER_H
#define TESTS_TEMP_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/unit.h"
static char root[64];

/* One line, in folders that are made on the way. */
static inline void put(const char *name, const char *line)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, name);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", line);
	fclose(f);
}

static inline void clear(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/*", root);
	assert_int_equal(system(command), 0);
}

static int new_root(void **state)
{
	strcpy(root, "/tmp/accperf-unit-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	clear();
	return rmdir(root);
}

#endif
