// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/cachedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/newfile.h"
#include "util/rights.h"

#define OF_SERVICES "/var/cache" /* where root's services keep theirs: they have no home */

static int opened_own(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

/* Opens (making it if needed) a folder that is ours alone. */
static int own_dir(int at, const char *name)
{
	return mkdirat(at, name, 0700) && errno != EEXIST ? -errno : opened_own(at, name);
}

int cachedir_open_path(const char *path)
{
	return own_dir(AT_FDCWD, path);
}

/* A service may have neither variable: then the user's own folder, of root the system's, of this boot at last. */
static int home_of_user(void)
{
	struct passwd *user = getpwuid(geteuid());
	int home = user && user->pw_dir[0] == '/' ? open(user->pw_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, base;

	if (home < 0)
		return -1;
	base = own_dir(home, ".cache");
	close(home);
	return base;
}

static int home_of_variable(void)
{
	const char *home = rights_getenv("HOME");
	int at = home && home[0] == '/' ? open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, base = -1;
	struct stat st;

	if (at < 0)
		return -1;
	/* under sudo HOME may be another user's: leave nothing of root's there */
	if (!fstat(at, &st) && st.st_uid == geteuid())
		base = own_dir(at, ".cache");
	close(at);
	return base;
}

/* $XDG_CACHE_HOME, made with what leads to it, as its standard asks for. */
static int named_base(const char *path)
{
	char part[PATH_MAX];
	int base;

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		if ((size_t)(slash - path) >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, path, (size_t)(slash - path));
		part[slash - path] = '\0';
		mkdir(part, 0700);
	}
	base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return base < 0 && errno == ENOENT ? own_dir(AT_FDCWD, path) : base < 0 ? -errno : base;
}

enum { BASES = 3 };

/* The n-th place where a cache may lie; < 0: none. */
static int base_dir(unsigned n)
{
	static const char *const of_root[BASES] = { NULL, OF_SERVICES, "/run" };
	const char *xdg = rights_getenv("XDG_CACHE_HOME");

	if (xdg && xdg[0] == '/')
		return n ? -ENOENT : named_base(xdg);
	if (!n)
		return home_of_variable();
	if (!geteuid())
		return open(of_root[n], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return n == 1 ? home_of_user() : -ENOENT;
}

static int open_in(int base, const char *name)
{
	int dir = own_dir(base, "accperf"), sub;

	if (dir < 0)
		return dir;
	sub = own_dir(dir, name);
	close(dir);
	return sub;
}

/* The first place that can be written, else the first that can be read. */
static int open_first(const char *name, bool *writable)
{
	int readable = -1;

	*writable = false;
	for (unsigned n = 0; n < BASES; n++) {
		int base = base_dir(n), dir = base < 0 ? base : open_in(base, name);

		if (base >= 0)
			close(base);
		if (dir < 0)
			continue;
		*writable = !faccessat(dir, ".", W_OK, AT_EACCESS);
		if (*writable) {
			if (readable >= 0)
				close(readable);
			return dir;
		}
		if (readable < 0)
			readable = dir;
		else
			close(dir);
	}
	return readable;
}

int cachedir_open(const char *name)
{
	bool writable;

	return open_first(name, &writable);
}

int cachedir_open_of_services(const char *name)
{
	const char *xdg = rights_getenv("XDG_CACHE_HOME"), *const part[] = { "accperf", name };
	int dir = geteuid() || (xdg && xdg[0] == '/') ? -1 : open(OF_SERVICES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]) && dir >= 0; i++) {
		int in = dir;

		dir = opened_own(in, part[i]);
		close(in);
	}
	return dir < 0 ? -1 : dir;
}

bool cachedir_keeps(const char *name, char *why, size_t size)
{
	const char *xdg = rights_getenv("XDG_CACHE_HOME");
	bool writable;
	int dir = open_first(name, &writable);

	if (dir >= 0)
		close(dir);
	if (writable)
		return true;
	if (xdg && xdg[0] == '/')
		snprintf(why, size, "$XDG_CACHE_HOME, %s, cannot be written", xdg);
	else
		snprintf(why, size, "neither ~/.cache nor another folder for caches can be written");
	return false;
}

int cachedir_read(int dir, const char *file, size_t max, struct buf *out)
{
	int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
	char piece[16384];
	struct stat st;
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		rc = -EPERM;
	else if (st.st_size < 0 || (uint64_t)st.st_size > max)
		rc = -EFBIG;
	while (!rc && n <= max && (got = read(fd, piece, sizeof(piece))) > 0) {
		buf_add(out, piece, (size_t)got);
		n += (size_t)got;
	}
	/* the time of last use decides what goes first when the cache is full */
	if (!rc)
		futimens(fd, NULL);
	close(fd);
	return rc ? rc : n > max ? -EFBIG : buf_failed(out) ? -ENOMEM : 0;
}

/* Drops the files used longest ago until the whole is below its limit. */
static void bound_total(int dirfd, uint64_t max_total)
{
	for (;;) {
		char oldest[64] = "";
		uint64_t total = 0;
		time_t when = 0;
		struct dirent *d;
		int fd = dup(dirfd);
		DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

		if (!dir) {
			if (fd >= 0)
				close(fd);
			return;
		}
		rewinddir(dir);
		while ((d = readdir(dir))) {
			struct stat st;

			if (d->d_name[0] == '.' || strlen(d->d_name) >= sizeof(oldest) ||
			    fstatat(dirfd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
				continue;
			total += (uint64_t)st.st_size;
			if (!oldest[0] || st.st_mtime < when) {
				strcpy(oldest, d->d_name);
				when = st.st_mtime;
			}
		}
		closedir(dir);
		if (total <= max_total || !oldest[0] || unlinkat(dirfd, oldest, 0))
			return;
	}
}

int cachedir_write(int dir, const char *file, const struct buf *data, uint64_t max_total)
{
	struct newfile n;
	int rc;

	if (buf_failed(data))
		return -ENOMEM;
	rc = newfile_open(&n, dir, file, 0, NULL);
	if (!rc)
		rc = newfile_write(&n, data->data, data->len, NULL);
	if (!rc)
		rc = newfile_commit(&n, NULL);
	else
		newfile_drop(&n);
	if (!rc)
		bound_total(dir, max_total);
	return rc;
}
