// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/keeper.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/grow.h"

#define BEGAN "%Y%m%dT%H%M%SZ"
#define BEGAN_LEN 16u   /* letters of a time such as 20260102T030405Z */
#define DIGITS_LEAST 6u /* of the number that ends a name */

static int open_folder(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

bool keeper_is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_ours_alone(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && keeper_is_private(&st);
}

int keeper_open(struct keeper *k, const char *folder, struct err *e)
{
	*k = (struct keeper){ .dir = -1 };
	if (strlen(folder) >= sizeof(k->path))
		return err_set(e, -ENAMETOOLONG, "storage.folder is too long");
	snprintf(k->path, sizeof(k->path), "%s", folder);
	if (mkdir(folder, 0700) && errno != EEXIST)
		return err_set(e, -errno, "%s cannot be made: %s; make it, owned by this user and with mode 0700",
			       folder, strerror(errno));
	k->dir = open_folder(AT_FDCWD, folder);
	if (k->dir < 0)
		return err_set(
			e, -errno, "%s cannot be opened: %s; %s", folder, strerror(errno),
			errno == EACCES
				? "start the daemon as the user whose it is (the unit's is root), or give another "
				  "storage.folder"
				: "storage.folder wants a folder, no link");
	if (!is_ours_alone(k->dir)) {
		keeper_close(k);
		return err_set(
			e, -EPERM,
			"%s belongs to somebody else, or others may write there, and profiles are this user's alone: "
			"chown and chmod 0700 it, or give another storage.folder",
			folder);
	}
	if (flock(k->dir, LOCK_EX | LOCK_NB)) {
		err_set(e, -errno,
			errno == EWOULDBLOCK
				? "%s is in use by another daemon; give each its own storage.folder, or stop the other"
				: "%s cannot be locked",
			folder);
		keeper_close(k);
		return e->code;
	}
	return 0;
}

bool keeper_gone(const struct keeper *k)
{
	struct stat there, ours;

	return lstat(k->path, &there) || fstat(k->dir, &ours) || there.st_dev != ours.st_dev ||
	       there.st_ino != ours.st_ino;
}

int keeper_again(struct keeper *k, struct err *e)
{
	struct keeper next;
	int err = keeper_open(&next, k->path, e);

	if (err)
		return err;
	next.removed = k->removed;
	next.refused = k->refused;
	keeper_close(k);
	*k = next;
	return 0;
}

int keeper_begin(struct keeper *k, const char *service, int pid, char out[KEEPER_NAME], struct err *e)
{
	time_t now = time(NULL);
	struct tm tm;
	bool ours;
	size_t n;
	int fd;

	if (mkdirat(k->dir, service, 0700) && errno != EEXIST)
		return err_set(e, -errno, "%s/%s cannot be made: %s", k->path, service, strerror(errno));
	fd = open_folder(k->dir, service);
	ours = fd >= 0 && is_ours_alone(fd);
	if (fd >= 0)
		close(fd);
	if (!ours)
		return err_set(
			e, -EPERM,
			"%s/%s is no folder that this user alone may write to: move it away, or chown and chmod 0700 it",
			k->path, service);
	gmtime_r(&now, &tm);
	n = strftime(out, KEEPER_NAME, BEGAN, &tm);
	if (n != BEGAN_LEN)
		return err_set(e, -ERANGE, "the clock's year is beyond four digits; set the clock");
	snprintf(out + n, KEEPER_NAME - n, "-%d", pid);
	return 0;
}

/* 20261125T220838Z-1234.000001 */
bool keeper_is_ours(const char *file)
{
	static const char form[] = "ddddddddTddddddZ-";
	size_t n;

	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)file[i]) : file[i] != form[i])
			return false;
	file += sizeof(form) - 1;
	n = strspn(file, "0123456789");
	if (!n || file[n] != '.')
		return false;
	file += n + 1;
	n = strspn(file, "0123456789");
	return n >= DIGITS_LEAST && !file[n];
}

uint64_t keeper_free(const struct keeper *k)
{
	struct statvfs v;

	return fstatvfs(k->dir, &v) ? 0 : (uint64_t)v.f_bavail * v.f_frsize;
}

uint64_t keeper_files_free(const struct keeper *k)
{
	struct statvfs v;

	return fstatvfs(k->dir, &v) ? 0 : v.f_files ? v.f_favail : UINT64_MAX;
}

bool keeper_read_only(const struct keeper *k)
{
	struct statvfs v;

	return !fstatvfs(k->dir, &v) && v.f_flag & ST_RDONLY;
}

int64_t keeper_size(const struct keeper *k, const char *service, const char *name, unsigned number)
{
	char path[NAME_MAX + KEEPER_NAME + 20];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s.%06u", service, name, number);
	return fstatat(k->dir, path, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ? -1 : (int64_t)st.st_size;
}

void keeper_drop(const struct keeper *k, const char *service, const char *name, unsigned number)
{
	char path[NAME_MAX + KEEPER_NAME + 20];

	snprintf(path, sizeof(path), "%s/%s.%06u", service, name, number);
	unlinkat(k->dir, path, 0);
}

int keeper_fd(const struct keeper *k, const char *service, const char *file)
{
	int dir = open_folder(k->dir, service), fd = -1;
	struct stat st;

	if (dir >= 0) {
		fd = openat(dir, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		close(dir);
	}
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- the sweep */

static void forget_files(struct keeper *k)
{
	for (size_t i = 0; i < k->count; i++)
		free(k->files[i].name);
	k->count = 0;
}

static int list_files(struct keeper *k, unsigned folder, keeper_writing_fn writing, void *ctx)
{
	const char *service = k->folders[folder];
	int fd = open_folder(k->dir, service);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;
	struct stat st;
	int err = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!err && (de = readdir(d))) {
		struct kept_file f = { .folder = folder };

		if (!keeper_is_ours(de->d_name) || fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		f.time = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		f.bytes = (uint64_t)st.st_blocks * 512;
		f.open = writing(ctx, service, de->d_name);
		f.name = strdup(de->d_name);
		if (!f.name || !PUSH(k->files, k->count, k->cap, 64, f)) {
			free(f.name);
			err = -ENOMEM;
		}
	}
	closedir(d);
	return err;
}

/* Services that the configuration no longer has keep their profiles until those are old. */
static int list_folders(struct keeper *k)
{
	int fd = open_folder(k->dir, "."), err = 0;
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	k->folder_count = 0;
	while (!err && (de = readdir(d))) {
		if (*de->d_name == '.')
			continue;
		if (!GROW_ONE(k->folders, k->folder_count))
			err = -ENOMEM;
		else
			snprintf(k->folders[k->folder_count++], sizeof(*k->folders), "%s", de->d_name);
	}
	closedir(d);
	return err;
}

static void remove_chosen(struct keeper *k)
{
	for (size_t i = 0; i < k->count; i++) {
		int fd;

		if (!k->files[i].goes)
			continue;
		fd = open_folder(k->dir, k->folders[k->files[i].folder]);
		if (fd < 0 || (unlinkat(fd, k->files[i].name, 0) && errno != ENOENT))
			k->refused++;
		else
			k->removed++;
		if (fd >= 0)
			close(fd);
	}
}

static int by_time_and_name(const void *a, const void *b)
{
	const struct kept_file *x = *(struct kept_file *const *)a, *y = *(struct kept_file *const *)b;
	int order = (x->time > y->time) - (x->time < y->time);

	return order ? order : strcmp(x->name, y->name);
}

/* Files of ours have the clock's time of their writing: one of later was written before the clock was set back. */
static void leave_the_future(struct keeper *k, int64_t now)
{
	struct kept_file **late = calloc(k->count + 1, sizeof(*late));
	size_t n = 0;

	k->swept_at = now;
	for (size_t i = 0; late && i < k->count; i++)
		if (!k->files[i].open && k->files[i].time > now + KEEPER_FUTURE_NS)
			late[n++] = &k->files[i];
	if (n)
		qsort(late, n, sizeof(struct kept_file *), by_time_and_name);
	for (size_t i = 0; i < n; i++) {
		int64_t to = now + 1 + (int64_t)i; /* ns */
		struct timespec at[2] = { { .tv_nsec = UTIME_OMIT }, { to / 1000000000, to % 1000000000 } };
		int fd = open_folder(k->dir, k->folders[late[i]->folder]);

		if (fd >= 0 && !utimensat(fd, late[i]->name, at, AT_SYMLINK_NOFOLLOW)) {
			late[i]->was = late[i]->time;
			late[i]->time = to;
		}
		if (fd >= 0)
			close(fd);
	}
	free(late);
}

int keeper_sweep(struct keeper *k, const struct daemon_config *c, bool ages, keeper_writing_fn writing, void *ctx)
{
	struct retention r = { .age = c->keep_age,
			       .total = c->keep_size,
			       .reserve = c->reserve,
			       .now = (int64_t)clock_ns(CLOCK_REALTIME),
			       .free = keeper_free(k),
			       .ages = ages };
	int err;

	forget_files(k);
	err = list_folders(k);
	for (unsigned i = 0; i < k->folder_count && !err; i++)
		err = list_files(k, i, writing, ctx);
	if (err)
		return err;
	leave_the_future(k, r.now);
	k->kept = retention_choose(&r, k->files, k->count);
	remove_chosen(k);
	return 0;
}

void keeper_close(struct keeper *k)
{
	forget_files(k);
	free(k->files);
	free(k->folders);
	if (k->dir >= 0)
		close(k->dir);
	*k = (struct keeper){ .dir = -1 };
}
