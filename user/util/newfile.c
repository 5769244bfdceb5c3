// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define TRIES 8 /* names are 64 random bits: a second try means that another process plays */

static int refuse_kind(const char *path, mode_t mode, struct err *e)
{
	if (S_ISLNK(mode))
		return err_set(e, -ELOOP, "cannot create %s: it is a symbolic link, which is not followed", path);
	if (S_ISDIR(mode))
		return err_set(e, -EISDIR, "cannot create %s: it is a folder", path);
	if (S_ISFIFO(mode))
		return err_set(e, -EINVAL, "cannot create %s: a FIFO stands there; remove it, or name another file",
			       path);
	return err_set(e, -EINVAL,
		       "cannot create %s: a device or socket stands there, which is not replaced; name another file",
		       path);
}

/* Devices that take bytes without an effect: null, zero, full, and terminals. To open another one may
 * already be an act (a watchdog), or destroy (a disk). */
static bool harmless(dev_t d)
{
	unsigned a = major(d), b = minor(d);

	return (a == 1 && (b == 3 || b == 5 || b == 7)) || a == 4 || a == 5 || (a >= 136 && a <= 143);
}

/* "/dev/stdout", "/dev/fd/7", "/proc/self/fd/7": a copy of the descriptor; -1: path is none of these. */
static int copy_named_fd(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	const char *number = NULL;
	char *end;
	long fd;

	if (!strcmp(path, "/dev/stdout"))
		number = "1";
	else if (!strcmp(path, "/dev/stderr"))
		number = "2";
	for (int i = 0; i < 2; i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			number = path + strlen(folders[i]);
	if (!number || *number < '0' || *number > '9')
		return -1;
	fd = strtol(number, &end, 10);
	return *end || fd > INT_MAX ? -1 : fcntl((int)fd, F_DUPFD_CLOEXEC, 0);
}

static int open_device(int dir, const char *path)
{
	int seen = openat(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	char name[40];
	struct stat st;

	if (seen < 0)
		return -1;
	if (!fstat(seen, &st) && S_ISCHR(st.st_mode) && harmless(st.st_rdev)) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", seen);
		fd = open(name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	}
	close(seen);
	return fd;
}

static int folder_of(const char *path, char *folder, size_t size)
{
	const char *slash = strrchr(path, '/');

	return slash ? snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path)
		     : snprintf(folder, size, ".");
}

/* A name beside path that nobody can guess. */
static int beside(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	uint64_t chance;

	if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
		return -EIO;
	/* 200: with the rest it stays below the 255 bytes of a file's name */
	return snprintf(name, size, "%.*s.%.200s.%016" PRIx64, (int)(base - path), path, base, chance) < (int)size
		       ? 0
		       : -ENAMETOOLONG;
}

static int open_temp(struct newfile *n)
{
	for (int i = 0; i < TRIES; i++) {
		int err = beside(n->path, n->temp, sizeof(n->temp));

		if (err)
			return err;
		n->fd = openat(n->dir, n->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (n->fd >= 0 || errno != EEXIST)
			break;
	}
	return n->fd < 0 ? -errno : 0;
}

static int open_nameless(struct newfile *n)
{
	char folder[PATH_MAX];

	folder_of(n->path, folder, sizeof(folder));
	n->temp[0] = 0;
	n->fd = openat(n->dir, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return n->fd < 0 ? -errno : 0;
}

/* linkat() does not replace: a temporary name comes first. */
static int give_temp(struct newfile *n)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", n->fd);
	for (int i = 0; i < TRIES; i++) {
		int err = beside(n->path, n->temp, sizeof(n->temp));

		if (!err && linkat(AT_FDCWD, self, n->dir, n->temp, AT_SYMLINK_FOLLOW))
			err = -errno;
		if (err)
			n->temp[0] = 0;
		if (err != -EEXIST)
			return err;
	}
	return -EEXIST;
}

static bool name_old(const struct newfile *n, char old[PATH_MAX])
{
	return snprintf(old, PATH_MAX, "%s.old", n->path) < PATH_MAX;
}

static int keep_old(struct newfile *n, struct err *e)
{
	char old[PATH_MAX];
	struct stat st;

	if (!name_old(n, old))
		return err_set(e, -ENAMETOOLONG, "cannot keep the older %s as .old: its name is too long", n->path);
	if (!fstatat(n->dir, old, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "cannot keep the older %s: %s is there and no regular file", n->path, old);
	if (renameat(n->dir, n->path, n->dir, old))
		return err_set(e, -errno, "cannot keep the older %s as .old: %s", n->path, strerror(errno));
	n->existed = false;
	n->kept = true;
	return 0;
}

/* Where nothing stood, nothing may be replaced: another process may have planted a node since. */
static int put_in_place(const struct newfile *n)
{
	if (!n->existed) {
		if (!renameat2(n->dir, n->temp, n->dir, n->path, RENAME_NOREPLACE))
			return 0;
		if (errno != EINVAL && errno != ENOSYS) /* file systems without that flag */
			return -errno;
	}
	return renameat(n->dir, n->temp, n->dir, n->path) ? -errno : 0;
}

/* Gives it its name; only a regular file that was looked at is replaced. */
static int rename_into_place(struct newfile *n, struct err *e)
{
	struct stat st;
	int err = 0;

	if (!n->temp[0] && (err = give_temp(n)))
		return err_set(e, err, "cannot create %s: %s", n->path, strerror(-err));
	n->existed = !fstatat(n->dir, n->path, &st, AT_SYMLINK_NOFOLLOW);
	if (n->existed && !S_ISREG(st.st_mode))
		return refuse_kind(n->path, st.st_mode, e);
	if (n->existed && (n->flags & NEWFILE_KEEP_OLD) && st.st_size && (err = keep_old(n, e)))
		return err;
	err = put_in_place(n);
	if (err)
		return err_set(e, err, "cannot create %s: %s", n->path, strerror(-err));
	n->named = true;
	return 0;
}

int newfile_open(struct newfile *n, int dir, const char *path, unsigned flags, struct err *e)
{
	struct stat st;
	int err;

	*n = (struct newfile){ .fd = -1, .dir = dir, .flags = flags };
	if (!*path || strlen(path) + 32 >= sizeof(n->path))
		return err_set(e, *path ? -ENAMETOOLONG : -EINVAL, "cannot create a file: its name is %s",
			       *path ? "too long" : "empty");
	strcpy(n->path, path);
	if (flags & NEWFILE_THROUGH) {
		n->fd = copy_named_fd(path);
		if (n->fd < 0)
			n->fd = open_device(dir, path);
		n->through = n->fd >= 0;
		if (n->through)
			return 0;
	}
	if (!fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) && !S_ISREG(st.st_mode))
		return refuse_kind(path, st.st_mode, e);
	err = flags & NEWFILE_AT_ONCE || open_nameless(n) ? open_temp(n) : 0;
	if (err)
		return err_set(e, err, "cannot create %s: %s", path, strerror(-err));
	if ((flags & NEWFILE_AT_ONCE) && (err = rename_into_place(n, e)))
		newfile_drop(n);
	return err;
}

int newfile_write(struct newfile *n, const void *data, size_t len, struct err *e)
{
	const char *p = data;

	while (len) {
		ssize_t done = write(n->fd, p, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			int code = done ? errno : EIO;

			return err_set(e, -code, "writing %s failed: %s", n->path, strerror(code));
		}
		p += done;
		len -= (size_t)done;
	}
	return 0;
}

int newfile_commit(struct newfile *n, struct err *e)
{
	int err = 0, fd;

	if (!n->through && (n->flags & NEWFILE_SYNC) && fsync(n->fd))
		err = err_set(e, -errno, "writing %s failed: %s", n->path, strerror(errno));
	if (!err && !n->through && !n->named)
		err = rename_into_place(n, e);
	if (err) {
		newfile_drop(n);
		return err;
	}
	fd = n->fd;
	n->fd = -1;
	return close(fd) ? err_set(e, -errno, "writing %s failed: %s", n->path, strerror(errno)) : 0;
}

void newfile_drop(struct newfile *n)
{
	if (!n || n->fd < 0)
		return;
	if (n->temp[0] && !n->named)
		unlinkat(n->dir, n->temp, 0);
	close(n->fd);
	n->fd = -1;
}

void newfile_undo(struct newfile *n)
{
	struct stat ours, there;
	char old[PATH_MAX];

	if (n->fd >= 0 && n->named && !fstat(n->fd, &ours) && !fstatat(n->dir, n->path, &there, AT_SYMLINK_NOFOLLOW) &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
	    (!n->kept || !name_old(n, old) || renameat(n->dir, old, n->dir, n->path)))
		unlinkat(n->dir, n->path, 0);
	newfile_drop(n);
}

int newfile_nameless(const char *path, struct err *e)
{
	struct newfile n = { .fd = -1, .dir = AT_FDCWD };
	int err;

	if (strlen(path) + 32 >= sizeof(n.path))
		return err_set(e, -ENAMETOOLONG, "the output's name is too long");
	strcpy(n.path, path);
	err = open_nameless(&n);
	if (err && !(err = open_temp(&n)))
		unlinkat(n.dir, n.temp, 0);
	return err ? err_set(e, err, "cannot create a file beside %s: %s", path, strerror(-err)) : n.fd;
}
