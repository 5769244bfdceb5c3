// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/cachedir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/newfile.h"
#include "util/rights.h"

/* Opens (making it if needed) a folder that is ours alone. */
static int own_dir(int at, const char *name)
{
	struct stat st;
	int fd;

	if (mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

int cachedir_open_path(const char *path)
{
	return own_dir(AT_FDCWD, path);
}

/* A service may have neither variable: then the user's own folder, of root the system's. */
static int fallback(void)
{
	struct passwd *user = geteuid() ? getpwuid(geteuid()) : NULL;
	int home, base = -1;

	if (!geteuid())
		return open("/var/cache", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	home = user && user->pw_dir[0] == '/' ? open(user->pw_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (home >= 0) {
		base = own_dir(home, ".cache");
		close(home);
	}
	return base;
}

static int base_dir(void)
{
	const char *xdg = rights_getenv("XDG_CACHE_HOME"), *home = rights_getenv("HOME");
	struct stat st;
	int base, dir;

	if (xdg && xdg[0] == '/') {
		base = open(xdg, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return base < 0 && errno == ENOENT ? own_dir(AT_FDCWD, xdg) : base;
	}
	base = home && home[0] == '/' ? open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	/* under sudo HOME may be somebody else's: leave nothing of root's there */
	if (base >= 0 && (fstat(base, &st) || st.st_uid != geteuid())) {
		close(base);
		base = -1;
	}
	if (base < 0)
		return fallback();
	dir = own_dir(base, ".cache");
	close(base);
	return dir;
}

int cachedir_open(const char *name)
{
	int base = base_dir(), dir, sub;

	if (base < 0)
		return -1;
	dir = own_dir(base, "accperf");
	close(base);
	if (dir < 0)
		return -1;
	sub = own_dir(dir, name);
	close(dir);
	return sub < 0 ? -1 : sub;
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
