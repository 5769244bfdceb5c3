// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS 13 /* until the year 2286 */

struct listed {
	size_t count;
	uint64_t bytes;
	char oldest[SPOOL_NAME];
};

/* remove: and none is left. */
static void list_all(int dir, struct listed *l, bool remove)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;
	struct stat st;

	*l = (struct listed){ 0 };
	if (!d && fd >= 0)
		close(fd);
	while (d && (de = readdir(d))) {
		if (strspn(de->d_name, "0123456789") != DIGITS || de->d_name[DIGITS] ||
		    fstatat(dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (remove && !unlinkat(dir, de->d_name, 0))
			continue;
		l->count++;
		l->bytes += (uint64_t)st.st_size;
		if (!*l->oldest || strcmp(de->d_name, l->oldest) < 0)
			snprintf(l->oldest, sizeof(l->oldest), "%.*s", DIGITS, de->d_name);
	}
	if (d)
		closedir(d);
}

int spool_open(struct spool *s, int in, const char *name)
{
	struct listed l;

	*s = (struct spool){ .dir = -1 };
	if (mkdirat(in, name, 0700) && errno != EEXIST)
		return -errno;
	s->dir = openat(in, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir < 0)
		return -errno;
	list_all(s->dir, &l, false);
	s->count = l.count;
	return 0;
}

void spool_close(struct spool *s)
{
	if (s->dir >= 0)
		close(s->dir);
	s->dir = -1;
}

static void make_room(struct spool *s, bool alone)
{
	struct listed l;

	list_all(s->dir, &l, alone);
	while (l.count >= SPOOL_FILES || l.bytes > SPOOL_BYTES) {
		if (unlinkat(s->dir, l.oldest, 0))
			break;
		list_all(s->dir, &l, false);
	}
	s->dropped += s->count > l.count ? s->count - l.count : 0;
	s->count = l.count;
}

int spool_put(struct spool *s, int64_t ms, const char *text, size_t len, bool alone)
{
	char name[SPOOL_NAME];
	int fd, err = 0;
	ssize_t n;

	make_room(s, alone);
	snprintf(name, sizeof(name), "%0*" PRId64, DIGITS, ms);
	fd = openat(s->dir, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	err = n < 0 ? -errno : (size_t)n < len ? -ENOSPC : 0;
	close(fd);
	if (!err && renameat(s->dir, ".new", s->dir, name))
		err = -errno;
	if (err)
		unlinkat(s->dir, ".new", 0);
	s->count += !err;
	return err;
}

bool spool_oldest(const struct spool *s, char name[SPOOL_NAME])
{
	struct listed l;

	if (!s->count)
		return 0;
	list_all(s->dir, &l, false);
	memcpy(name, l.oldest, sizeof(l.oldest));
	return *name != 0;
}

void spool_remove(struct spool *s, const char *name)
{
	if (!unlinkat(s->dir, name, 0) && s->count)
		s->count--;
}
