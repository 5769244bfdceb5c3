// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/mounts.h"
#include "util/opened_apart.h"

#define END_BYTES 65536  /* hashed of each end: headers stand there, and most symbol tables */
#define PIECE_BYTES 4096 /* of each piece: a page */
#define PIECES 64        /* of the middle: 384 KiB read in all, a millisecond */

/* Files of the kernel's own systems call themselves regular, but reading them acts or waits: the kernel's
 * log, a trace pipe. */
static bool is_kernels(int path_fd)
{
	static const unsigned long magic[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,    DEBUGFS_MAGIC,      TRACEFS_MAGIC,
		SECURITYFS_MAGIC, SELINUX_MAGIC,  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		BPF_FS_MAGIC,     EFIVARFS_MAGIC, PSTOREFS_MAGIC,     0x62656570 /* configfs */,
	};
	struct statfs fs;

	if (fstatfs(path_fd, &fs))
		return true;
	for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++)
		if ((unsigned long)fs.f_type == magic[i])
			return true;
	return false;
}

/* An O_PATH descriptor has no side effect on what it names; it is closed here. */
static int reopen_regular(int path_fd, struct stat *st)
{
	char self[48];
	int fd;

	if (path_fd < 0)
		return path_fd;
	if (fstat(path_fd, st)) {
		fd = -errno;
	} else if (!S_ISREG(st->st_mode) || is_kernels(path_fd)) {
		fd = -EINVAL;
	} else {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
		fd = open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			fd = -errno;
	}
	close(path_fd);
	return fd;
}

static int open_path_only(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* openat2 is missing before Linux 5.6, and under filters that do not know it: without it a path can be
 * trusted only where the root is ours. */
static int in_root(uint32_t pid, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | resolve };
	struct stat theirs, ours;
	char name[48];
	int root, fd;

	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	if (!resolve && (fd == -ENOSYS || fd == -EPERM) && !fstat(root, &theirs) && !stat("/", &ours) &&
	    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
		fd = open(path, flags | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(root);
	return fd;
}

/* ---- what may wait for a server ---- */

enum openfile_use { USE_COPY, USE_ITSELF };

static bool itself;

void openfile_itself(bool on)
{
	itself = on;
}

static int path_of_wish(const struct apart_wish *w, uint64_t resolve)
{
	int flags = O_PATH | (w->what == APART_NOFOLLOW ? O_NOFOLLOW : 0), fd;
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC, .resolve = resolve };

	if (w->what == APART_LINK)
		return open_path_only(w->path);
	if (w->pid)
		return in_root(w->pid, w->path, flags, resolve);
	if (!resolve)
		return open_path_only(w->path);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, w->path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* Brings all of it into the kernel's cache, as far as the file system lets it. */
static int read_whole(int fd, const struct stat *st)
{
	volatile const char *p;
	size_t size = (size_t)st->st_size;
	static char piece[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, piece, sizeof(piece), at)) > 0)
		at += n;
	if (n < 0)
		return -errno;
	p = st->st_size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	if (p == MAP_FAILED)
		return 0;
	for (size_t i = 0; i < (size_t)at && i < size; i += 4096)
		(void)p[i];
	munmap((void *)(uintptr_t)p, size);
	return 0;
}

/* Closes fd. */
static int copy_of(int fd, const struct stat *st, uint64_t room)
{
	int copy = apart_copy(fd, st, room);

	close(fd);
	return copy;
}

/* By the table of the process, which may have ended, or by ours; what was opened before its process had a table of its
 * own is in neither, but its file system may be. */
static enum mount_kind kind_of_fd(uint32_t pid, int fd)
{
	enum mount_kind kind = MOUNT_UNKNOWN;
	const uint32_t tables[] = { pid, 0 };
	struct stat st;

	for (unsigned i = pid ? 0 : 1; i < 2 && kind == MOUNT_UNKNOWN; i++) {
		struct mounts m;
		uint64_t device;

		if (!mounts_read(&m, tables[i]))
			kind = mounts_of_fd(&m, fd, &device);
		if (m.text && kind == MOUNT_UNKNOWN && !fstat(fd, &st))
			kind = mounts_of_device(&m, major(st.st_dev), minor(st.st_dev));
		mounts_release(&m);
	}
	return kind;
}

/* In the process that may be left behind: whatever waits, waits. */
static int open_there(const struct apart_wish *w, struct stat *st)
{
	bool served;
	int fd, err;

	fd = path_of_wish(w, 0);
	served = fd >= 0 && kind_of_fd(w->pid, fd) != MOUNT_LOCAL;
	fd = reopen_regular(fd, st);
	if (fd < 0 || !served)
		return fd;
	if (w->use == USE_COPY)
		return copy_of(fd, st, w->room);
	err = read_whole(fd, st);
	if (err)
		close(fd);
	return err ? err : fd;
}

/* Nobody is asked here: what the kernel does not know of the way to it by itself is sought there. */
static int open_wish(struct apart_wish *w, const struct mounts *m, uint64_t device, struct stat *st)
{
	int fd = w->what == APART_LINK ? path_of_wish(w, 0) : path_of_wish(w, RESOLVE_CACHED);

	if (fd >= 0 && mounts_of_fd(m, fd, &device) == MOUNT_LOCAL)
		return reopen_regular(fd, st);
	if (fd < 0 && (w->what == APART_LINK || (fd != -EAGAIN && fd != -EINVAL && fd != -ENOSYS && fd != -EPERM)))
		return fd;
	if (fd >= 0)
		close(fd);
	return apart_open(w, device, open_there, st);
}

static int open_careful(uint32_t what, uint32_t pid, const char *path, struct stat *st)
{
	struct apart_wish w = { .what = what, .pid = pid, .use = itself ? USE_ITSELF : USE_COPY };
	uint64_t device = 0;
	struct mounts m;
	int fd;

	if (strlen(path) >= sizeof(w.path))
		return -ENAMETOOLONG;
	strcpy(w.path, path);
	if (mounts_read(&m, pid) || !m.served)
		fd = reopen_regular(path_of_wish(&w, 0), st);
	else if (pid && mounts_of_path(&m, "/", &device) != MOUNT_LOCAL && m.rechecks)
		fd = apart_open(&w, device, open_there, st);
	else
		fd = open_wish(&w, &m, (mounts_of_path(&m, path, &device), device), st);
	mounts_release(&m);
	return fd;
}

static int open_link(uint32_t pid, const char *link, unsigned maj, unsigned min, struct stat *st)
{
	struct apart_wish w = { .what = APART_LINK, .pid = pid, .use = itself ? USE_ITSELF : USE_COPY };
	uint64_t device = (uint64_t)maj << 32 | min;
	enum mount_kind kind;
	struct mounts m;
	int fd;

	strcpy(w.path, link);
	if (mounts_read(&m, pid)) {
		fd = reopen_regular(path_of_wish(&w, 0), st);
	} else {
		kind = device ? mounts_of_device(&m, maj, min) : MOUNT_UNKNOWN;
		if (kind == MOUNT_LOCAL || (kind == MOUNT_UNKNOWN && !device && !m.served))
			fd = reopen_regular(path_of_wish(&w, 0), st);
		else if (kind == MOUNT_SERVED || m.rechecks)
			fd = apart_open(&w, device, open_there, st);
		else
			fd = open_wish(&w, &m, device, st);
	}
	mounts_release(&m);
	return fd;
}

static void (*tell)(void *ctx, const char *path, const struct stat *found);
static void *tell_ctx;

void openfile_tell(void (*told)(void *ctx, const char *path, const struct stat *found), void *ctx)
{
	tell = told;
	tell_ctx = ctx;
}

void openfile_found(const char *path, const struct stat *found)
{
	if (tell)
		tell(tell_ctx, path, found);
}

void openfile_looks_at(const char *path)
{
	struct stat st;
	bool there = tell && !stat(path, &st) && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));

	openfile_found(path, there ? &st : NULL);
}

void openfile_looks_in(int dir, const char *name)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	if (!tell)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0; /* not absolute: nothing that rests on it is kept */
	if (name && n > 0)
		snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
	openfile_looks_at(path);
}

int openfile_regular(const char *path, struct stat *st)
{
	int fd = open_careful(APART_PATH, 0, path, st);

	openfile_found(path, fd >= 0 ? st : NULL);
	return fd;
}

int openfile_mapped(const struct openfile_mapping *m, struct stat *st)
{
	char name[96];

	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", m->pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
	return open_link(m->pid, name, m->major, m->minor, st);
}

int openfile_program(uint32_t pid, struct stat *st)
{
	char name[48];

	snprintf(name, sizeof(name), "/proc/%u/exe", pid);
	return open_link(pid, name, 0, 0, st);
}

int openfile_in_root(uint32_t pid, const char *path, struct stat *st)
{
	return pid ? open_careful(APART_PATH, pid, path, st) : openfile_regular(path, st);
}

int openfile_in_root_nofollow(uint32_t pid, const char *path, struct stat *st)
{
	return open_careful(APART_NOFOLLOW, pid, path, st);
}

int openfile_dir_in_root(uint32_t pid, const char *path)
{
	struct apart_wish w = { .what = APART_PATH, .pid = pid };
	uint64_t device;
	struct mounts m;
	char self[48];
	int fd, dir;

	if (strlen(path) >= sizeof(w.path))
		return -ENAMETOOLONG;
	strcpy(w.path, path);
	if (mounts_read(&m, pid) || !m.served) {
		mounts_release(&m);
		return in_root(pid, path, O_RDONLY | O_DIRECTORY, 0);
	}
	if (mounts_of_path(&m, "/", &device) != MOUNT_LOCAL && m.rechecks)
		fd = -EREMOTE;
	else if (mounts_local_way(&m, path)) /* but for links */
		fd = in_root(pid, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	else
		fd = -EREMOTE;
	if (fd == -ELOOP)
		fd = path_of_wish(&w, RESOLVE_CACHED);
	dir = fd >= 0 && mounts_of_fd(&m, fd, &device) != MOUNT_LOCAL ? -EREMOTE : fd;
	mounts_release(&m);
	if (dir >= 0) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		dir = open(self, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		dir = dir < 0 ? -errno : dir;
	}
	if (fd >= 0)
		close(fd);
	return dir;
}

bool openfile_is_copy(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_WRITE);
}

bool openfile_is_ours(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & 022);
}

static bool hash_piece(XXH64_state_t *h, int fd, uint8_t *piece, size_t size, uint64_t at)
{
	ssize_t n = pread(fd, piece, size, (off_t)at);

	if (n > 0)
		XXH64_update(h, piece, (size_t)n);
	return n >= 0;
}

uint64_t openfile_content(int fd, const struct stat *st)
{
	uint64_t size = st->st_size > 0 ? (uint64_t)st->st_size : 0, hash;
	uint8_t *piece = malloc(END_BYTES);
	XXH64_state_t h;
	bool ok = piece && size;

	XXH64_reset(&h, 0);
	XXH64_update(&h, &size, sizeof(size));
	ok = ok && hash_piece(&h, fd, piece, END_BYTES, 0);
	for (uint64_t i = 1; ok && i <= PIECES && size > 2 * END_BYTES; i++)
		ok = hash_piece(&h, fd, piece, PIECE_BYTES, END_BYTES + (size - 2 * END_BYTES) / (PIECES + 1) * i);
	if (ok && size > END_BYTES)
		ok = hash_piece(&h, fd, piece, END_BYTES, size - END_BYTES > END_BYTES ? size - END_BYTES : END_BYTES);
	free(piece);
	hash = XXH64_digest(&h);
	return !ok ? 0 : hash ? hash : 1;
}
