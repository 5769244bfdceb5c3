// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/openfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#define END_BYTES 65536 /* hashed of each end: headers stand there, and most symbol tables */
#define PIECE_BYTES 4096
#define PIECES 64 /* of the middle: 384 KiB read in all, a millisecond */

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

static void (*tell)(void *ctx, const char *path, const struct stat *found);
static void *tell_ctx;

void openfile_tell(void (*told)(void *ctx, const char *path, const struct stat *found), void *ctx)
{
	tell = told;
	tell_ctx = ctx;
}

int openfile_regular(const char *path, struct stat *st)
{
	int fd = reopen_regular(open_path_only(path), st);

	if (tell)
		tell(tell_ctx, path, fd >= 0 ? st : NULL);
	return fd;
}

int openfile_magic(const char *path, struct stat *st)
{
	return reopen_regular(open_path_only(path), st);
}

/* openat2 is missing before Linux 5.6, and under filters that do not know it: without it a path can be
 * trusted only where the root is ours. */
static int in_root(uint32_t pid, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
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
	if ((fd == -ENOSYS || fd == -EPERM) && !fstat(root, &theirs) && !stat("/", &ours) &&
	    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
		fd = open(path, flags | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	close(root);
	return fd;
}

int openfile_in_root(uint32_t pid, const char *path, struct stat *st)
{
	return pid ? reopen_regular(in_root(pid, path, O_PATH), st) : openfile_regular(path, st);
}

int openfile_in_root_nofollow(uint32_t pid, const char *path, struct stat *st)
{
	return reopen_regular(in_root(pid, path, O_PATH | O_NOFOLLOW), st);
}

int openfile_dir_in_root(uint32_t pid, const char *path)
{
	return in_root(pid, path, O_RDONLY | O_DIRECTORY);
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
