// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/rights.h"

void notify_say(const char *fmt, ...)
{
	const char *path = rights_getenv("NOTIFY_SOCKET");
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char text[500];
	va_list ap;
	int fd, n;

	if (!path || (*path != '/' && *path != '@') || strlen(path) >= sizeof(at.sun_path))
		return;
	memcpy(at.sun_path, path, strlen(path));
	if (*path == '@')
		at.sun_path[0] = 0;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (n > 0 && (size_t)n < sizeof(text))
		sendto(fd, text, (size_t)n, MSG_NOSIGNAL, (struct sockaddr *)&at,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
	close(fd);
}

uint64_t notify_watchdog(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!us || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
		return 0;
	return strtoull(us, NULL, 10) * 1000 / 2;
}
