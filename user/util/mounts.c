// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util/grow.h"

#define MOST_TEXT (16u << 20) /* 100,000 mounts */

/* Of disks, of memory, or of the kernel itself. */
static const char *const local[] = {
	"ext2",     "ext3",      "ext4",       "xfs",         "btrfs",      "zfs",     "f2fs",     "bcachefs", "jfs",
	"reiserfs", "nilfs2",    "minix",      "ufs",         "hfs",        "hfsplus", "vfat",     "msdos",    "exfat",
	"ntfs3",    "iso9660",   "udf",        "squashfs",    "erofs",      "cramfs",  "romfs",    "ubifs",    "jffs2",
	"tmpfs",    "ramfs",     "rootfs",     "devtmpfs",    "hugetlbfs",  "devpts",  "mqueue",   "proc",     "sysfs",
	"debugfs",  "tracefs",   "securityfs", "cgroup",      "cgroup2",    "cpuset",  "configfs", "bpf",      "pstore",
	"efivarfs", "selinuxfs", "smackfs",    "binfmt_misc", "rpc_pipefs", "fusectl", "nfsd",     "nsfs",     "binder",
};

struct line {
	unsigned id, major, minor;
	char *point, *type, *options; /* ends of words are not zeros */
	size_t point_len, type_len;
};

static size_t word_len(const char *p)
{
	return strcspn(p, " \n");
}

static char *next_word(char *p)
{
	p += word_len(p);
	return *p == ' ' ? p + 1 : p;
}

/* "36 35 98:0 /root /point rw,noatime shared:1 - ext3 /dev/root rw,errors=continue" */
static bool parse_line(char *p, struct line *l)
{
	char *end;

	*l = (struct line){ .id = (unsigned)strtoul(p, &end, 10) };
	if (end == p)
		return false;
	p = next_word(next_word(p));
	l->major = (unsigned)strtoul(p, &end, 10);
	if (end == p || *end != ':')
		return false;
	l->minor = (unsigned)strtoul(end + 1, NULL, 10);
	p = next_word(next_word(p));
	l->point = p;
	l->point_len = word_len(p);
	while (*p && *p != '\n' && strncmp(p, "- ", 2) != 0)
		p = next_word(p);
	if (*p != '-')
		return false;
	l->type = next_word(p);
	l->type_len = word_len(l->type);
	l->options = next_word(next_word(l->type));
	return l->point_len && l->type_len;
}

static bool next_line(char **at, struct line *l)
{
	while (**at) {
		char *p = *at, *end = strchrnul(p, '\n');

		*at = *end ? end + 1 : end;
		if (parse_line(p, l))
			return true;
	}
	return false;
}

static bool is_type(const struct line *l, const char *type)
{
	return strlen(type) == l->type_len && !memcmp(type, l->type, l->type_len);
}

/* "\040" is a space. */
static bool under(const struct line *l, const char *path)
{
	const char *p = l->point, *end = l->point + l->point_len;

	if (l->point_len == 1)
		return *path == '/';
	for (; p < end; path++) {
		char c = *p;

		if (c == '\\' && end - p >= 4) {
			c = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		}
		p++;
		if (!*path || *path != c)
			return false;
	}
	return *path == '/' || !*path;
}

static enum mount_kind kind_of(const struct line *l, int depth);

static enum mount_kind of_path(const struct mounts *m, const char *path, uint64_t *device, int depth)
{
	struct line l, best = { 0 };
	char *at = m->text;

	/* of two at one place the later lies over the earlier */
	while (at && next_line(&at, &l))
		if (l.point_len >= best.point_len && under(&l, path))
			best = l;
	if (device)
		*device = (uint64_t)best.major << 32 | best.minor;
	return best.point ? kind_of(&best, depth) : MOUNT_UNKNOWN;
}

static bool is_one_of(const struct line *l, const char *const *type, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_type(l, type[i]))
			return true;
	return false;
}

static bool is_local_type(const struct line *l)
{
	return is_one_of(l, local, sizeof(local) / sizeof(*local));
}

static bool is_overlay(const struct line *l)
{
	return is_type(l, "overlay");
}

/* systemd mounts one there on every machine, and no target's file is in it. */
static bool is_binfmt(const struct line *l)
{
	return is_type(l, "autofs") && l->point_len > 6 && !memcmp(l->point, "/proc/", 6);
}

static int read_text(int fd, char **text)
{
	size_t len = 0, cap = 0;
	ssize_t n;

	do {
		if (len >= MOST_TEXT || !GROW_TO(*text, len + 16384, cap, 16384))
			return len >= MOST_TEXT ? -EFBIG : -ENOMEM;
		n = read(fd, *text + len, 16383);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	(*text)[len] = '\0';
	return n < 0 ? -errno : 0;
}

/* ---- our own table, which every overlay's layers are looked up in: kept until the kernel says that it changed */

static struct {
	pid_t pid; /* a child shares the descriptor, and what it asks is no longer told here */
	char space[40];
	int fd;
	struct mounts m;
	bool has_server; /* a line, overlays aside, is of a served kind */
} own = { .fd = -1 };

static bool is_current(const char *space)
{
	struct pollfd pf = { .fd = own.fd, .events = POLLPRI };

	return own.fd >= 0 && own.pid == getpid() && !strcmp(own.space, space) && poll(&pf, 1, 0) == 0;
}

static void find_served(struct mounts *m);

static void drop_own(void)
{
	/* in a child the number may be another file's by now */
	if (own.fd >= 0 && own.pid == getpid())
		close(own.fd);
	own.fd = -1;
	mounts_release(&own.m);
}

static int read_own(void)
{
	char space[sizeof(own.space)] = "";
	ssize_t n = readlink("/proc/self/ns/mnt", space, sizeof(space) - 1);
	char *at;
	struct line l;
	int err;

	if (n > 0 && is_current(space))
		return 0;
	drop_own();
	own.pid = getpid();
	own.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	err = own.fd < 0 ? -errno : read_text(own.fd, &own.m.text);
	if (err) {
		drop_own();
		return err;
	}
	memcpy(own.space, space, sizeof(space));
	own.has_server = false;
	at = own.m.text;
	while (!own.has_server && next_line(&at, &l))
		own.has_server = !is_local_type(&l) && !is_overlay(&l) && !is_binfmt(&l);
	own.m.served = own.m.rechecks = false;
	find_served(&own.m);
	return 0;
}

/* A layer of an overlay that lies on a served file system, as far as layers are named by whole paths of ours:
 * "lowerdir=/a:/b,upperdir=/c", or "lowerdir+=/a". Deeper than two the kernel stacks none: what leads there is a
 * container's own, whose layers' names are of the host and lead back to itself. */
static bool has_served_layer(const struct line *l, int depth)
{
	const char *p = l->options, *end = p + word_len(p);
	bool served = false;

	if (depth > 2 || !own.m.text || !own.has_server)
		return false;
	for (; p + 1 < end && !served; p++) {
		char *path;

		if ((*p != '=' && *p != ':') || p[1] != '/')
			continue;
		path = strndup(p + 1, strcspn(p + 1, ":, \n"));
		served = path && of_path(&own.m, path, NULL, depth + 1) == MOUNT_SERVED;
		free(path);
	}
	return served;
}

static enum mount_kind kind_of(const struct line *l, int depth)
{
	if (is_local_type(l))
		return MOUNT_LOCAL;
	if (is_overlay(l))
		return has_served_layer(l, depth) ? MOUNT_SERVED : MOUNT_LOCAL;
	return MOUNT_SERVED;
}

static bool is_fuse(const struct line *l)
{
	return l->type_len >= 4 && !memcmp(l->type, "fuse", 4);
}

static void find_served(struct mounts *m)
{
	struct line l;
	char *at = m->text;

	while (next_line(&at, &l)) {
		if (is_binfmt(&l) || kind_of(&l, 0) != MOUNT_SERVED)
			continue;
		m->served = true;
		m->rechecks |= !is_fuse(&l);
	}
}

int mounts_parse(struct mounts *m, const char *text)
{
	*m = (struct mounts){ 0 };
	read_own(); /* without it overlays are local */
	m->text = strdup(text);
	if (!m->text)
		return -ENOMEM;
	find_served(m);
	return 0;
}

static int copy_own(struct mounts *m)
{
	int err = read_own();

	if (err)
		return err;
	*m = own.m;
	m->text = strdup(own.m.text);
	return m->text ? 0 : -ENOMEM;
}

static bool sees_what_we_see(uint32_t pid)
{
	char name[48], ours[40], link[40];
	ssize_t n, len = readlink("/proc/self/ns/mnt", ours, sizeof(ours));

	snprintf(name, sizeof(name), "/proc/%u/ns/mnt", pid);
	n = readlink(name, link, sizeof(link));
	if (n <= 0 || n != len || memcmp(ours, link, (size_t)n) != 0)
		return false;
	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	return readlink(name, link, sizeof(link)) == 1 && *link == '/';
}

int mounts_read(struct mounts *m, uint32_t pid)
{
	char name[48];
	int fd, err;

	*m = (struct mounts){ 0 };
	if (!pid || sees_what_we_see(pid))
		return copy_own(m);
	snprintf(name, sizeof(name), "/proc/%u/mountinfo", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_text(fd, &m->text);
	close(fd);
	if (err) {
		mounts_release(m);
		return err;
	}
	read_own();
	find_served(m);
	return 0;
}

void mounts_release(struct mounts *m)
{
	free(m->text);
	m->text = NULL;
}

/* Shared memory and memfds, which no table lists. */
static bool mounts_is_memory(unsigned major, unsigned minor)
{
	static dev_t memory;
	struct stat st;
	int fd;

	if (!memory) {
		fd = memfd_create("accperf", MFD_CLOEXEC);
		if (fd >= 0 && !fstat(fd, &st))
			memory = st.st_dev;
		if (fd >= 0)
			close(fd);
	}
	return memory && major(memory) == major && minor(memory) == minor;
}

enum mount_kind mounts_of_device(const struct mounts *m, unsigned major, unsigned minor)
{
	struct line l;
	char *at = m->text;

	while (at && next_line(&at, &l))
		if (l.major == major && l.minor == minor)
			return kind_of(&l, 0);
	return mounts_is_memory(major, minor) ? MOUNT_LOCAL : MOUNT_UNKNOWN;
}

enum mount_kind mounts_of_path(const struct mounts *m, const char *path, uint64_t *device)
{
	return of_path(m, path, device, 0);
}

bool mounts_local_way(const struct mounts *m, const char *path)
{
	struct line l;
	char *at = m->text;

	while (at && next_line(&at, &l))
		if (under(&l, path) && kind_of(&l, 0) == MOUNT_SERVED)
			return false;
	return true;
}

static bool mount_id(int fd, unsigned *id)
{
	char name[48], text[512], *at;
	ssize_t n;
	int info;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	info = open(name, O_RDONLY | O_CLOEXEC);
	if (info < 0)
		return false;
	n = read(info, text, sizeof(text) - 1);
	close(info);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "mnt_id:");
	return at && sscanf(at, "mnt_id: %u", id) == 1;
}

enum mount_kind mounts_of_fd(const struct mounts *m, int fd, uint64_t *device)
{
	struct line l;
	char *at = m->text;
	unsigned id;

	*device = 0;
	if (!mount_id(fd, &id))
		return MOUNT_UNKNOWN;
	while (at && next_line(&at, &l))
		if (l.id == id) {
			*device = (uint64_t)l.major << 32 | l.minor;
			return kind_of(&l, 0);
		}
	return MOUNT_UNKNOWN;
}
