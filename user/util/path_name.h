/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last part of a path. Included by everything that shows a file by its name. */
#ifndef ACCPERF_UTIL_PATH_NAME_H
#define ACCPERF_UTIL_PATH_NAME_H

#include <string.h>

/* "" of a path that ends with a slash. */
static inline const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

#endif
