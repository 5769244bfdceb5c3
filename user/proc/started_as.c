// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/started_as.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/path_name.h"
#include "util/process_file.h"

#define COMM 15 /* letters of a name that the kernel keeps */

/* The first string of a file in /proc. */
static bool read_first(pid_t pid, const char *file, char *out, size_t size)
{
	ssize_t n = process_file(pid, file, out, size);

	out[strcspn(out, "\n")] = 0;
	return n > 0;
}

static bool name_text(const char *file, const char *name, char *out, size_t size)
{
	if (!*name || *file != '/' || strchr(file, '\n') || !strcmp(path_last(file), name))
		return false;
	return (size_t)snprintf(out, size, "%s\n%s", file, name) < size;
}

/* A program that writes over its arguments, to tell what it is doing, leaves one string, in which its name ends with a
 * blank or a colon. */
static const char *named(char *first, const char *comm)
{
	if (strlen(comm) < COMM && strcmp(path_last(first), comm)) {
		first[strcspn(first, " :")] = 0;
		if (strcmp(path_last(first), comm))
			return NULL;
	}
	return strncmp(path_last(first), comm, COMM) ? NULL : path_last(first);
}

/* The kernel names a process by the last component of what was executed; the first argument, which anybody may
 * choose, is believed where it begins with that. */
bool started_as_of_pid(pid_t pid, char *out, size_t size)
{
	char exe[PATH_MAX], link[64], first[PATH_MAX], comm[64];
	const char *name;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	if (n <= 0 || !read_first(pid, "comm", comm, sizeof(comm)) || !read_first(pid, "cmdline", first, sizeof(first)))
		return false;
	exe[n] = 0;
	name = strlen(comm) > COMM ? NULL : named(first, comm);
	return name && name_text(exe, name, out, size);
}

bool started_as_of_path(const char *path, char *out, size_t size)
{
	char *real = realpath(path, NULL);
	bool link = real && name_text(real, path_last(path), out, size);

	free(real);
	return link;
}

const char *started_as_name(const char *text, const char *path)
{
	const char *end = text ? strchr(text, '\n') : NULL, *from = text;
	size_t len;

	if (!end || !end[1] || !*path)
		return NULL;
	if (*path != '/')
		for (const char *p = text; p < end; p++)
			from = *p == '/' ? p + 1 : from;
	len = (size_t)(end - from);
	return strlen(path) == len && !memcmp(path, from, len) ? end + 1 : NULL;
}
