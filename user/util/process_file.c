// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/process_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

ssize_t process_file(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	*text = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len + 1 < size && (n = read(fd, text + len, size - 1 - len)) > 0)
		len += (size_t)n;
	n = n < 0 ? -errno : (ssize_t)len;
	text[n < 0 ? 0 : len] = 0;
	close(fd);
	return n;
}
