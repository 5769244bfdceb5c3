// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/algsock.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef AF_ALG
#define AF_ALG 38
#endif

static bool registered(void)
{
	FILE *f = fopen("/proc/net/protocols", "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "ALG ", 4);
	if (f)
		fclose(f);
	return found;
}

bool algsock_possible(void)
{
	char pattern[256];
	struct utsname u;
	glob_t g;
	bool found;

	if (registered())
		return true;
	if (uname(&u))
		return false;
	snprintf(pattern, sizeof(pattern), "/lib/modules/%s/kernel/crypto/af_alg.ko*", u.release);
	found = !glob(pattern, 0, NULL, &g);
	globfree(&g);
	return found;
}

/* What family a descriptor of another process has can only be asked of a copy of it. */
bool algsock_any(int pid)
{
	char name[64], link[64];
	struct dirent *de;
	bool any = false;
	int pidfd, copy, domain;
	socklen_t size;
	ssize_t n;
	DIR *d;

	if (!registered())
		return false;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	d = pidfd < 0 ? NULL : opendir(name);
	while (d && !any && (de = readdir(d))) {
		n = readlinkat(dirfd(d), de->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		if (strncmp(link, "socket:", 7))
			continue;
		copy = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(de->d_name), 0);
		if (copy < 0)
			continue;
		size = sizeof(domain);
		any = !getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain == AF_ALG;
		close(copy);
	}
	if (d)
		closedir(d);
	if (pidfd >= 0)
		close(pidfd);
	return any;
}
