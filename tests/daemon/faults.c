// SPDX-License-Identifier: GPL-2.0-or-later
/* What a machine refuses, while a file of that name lies in $FAULTS: `eio`, every write to a profile, as by a disk that
 * fails; `bpf`, every program, as by a kernel that was hardened or has no memory. Preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_on(const char *what)
{
	char path[4096];
	int saved = errno, on;

	snprintf(path, sizeof(path), "%s/%s", getenv("FAULTS") ? getenv("FAULTS") : "/nowhere", what);
	on = !access(path, F_OK);
	errno = saved;
	return on;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (strstr(path, "/store/") && is_on("eio")) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, len, at);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return pwrite64(fd, data, len, at);
}

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list ap;

	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && is_on("bpf")) {
		errno = EPERM;
		return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
