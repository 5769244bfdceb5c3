// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/libs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kmod-free/elfsym.h"
#include "util/buf.h"
#include "util/openfile.h"
#include "util/rights.h"

static int call(lib_fn fn, void *ctx, struct lib_file *f, int fd)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	f->fd = fd;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	r = fn(ctx, f);
	if (f->fd >= 0)
		close(f->fd);
	return r;
}

/* Probes go into the file itself: a copy would be another. */
static int open_itself(int pid, const char *path, struct stat *st)
{
	int fd;

	openfile_itself(true);
	fd = openfile_in_root((uint32_t)pid, path, st);
	openfile_itself(false);
	return fd;
}

static int open_link_itself(const struct openfile_mapping *m, struct stat *st)
{
	int fd;

	openfile_itself(true);
	fd = m->end ? openfile_mapped(m, st) : openfile_program(m->pid, st);
	openfile_itself(false);
	return fd;
}

static bool is_waited_for(int err)
{
	return err == -EINPROGRESS || err == -ETIMEDOUT;
}

/* What a line of maps says of its file. */
struct mapped {
	const char *path;
	uint64_t start, end, ino;
	unsigned major, minor;
};

/* Numbers of devices differ between maps and stat where file systems lie over others (overlay, btrfs):
 * then the kernel's own link decides. */
static bool is_mapped(const struct mapped *m, const struct stat *st)
{
	return st->st_ino == m->ino && major(st->st_dev) == m->major && minor(st->st_dev) == m->minor;
}

/* Opens what lies at the target's path, made sure by its inode and device; a deleted or replaced file
 * through the kernel's own link to the mapping; the program, below a folder that we may not enter, through its own. */
static int open_mapped(int pid, const struct mapped *m)
{
	struct stat there, st;
	struct openfile_mapping link = { (uint32_t)pid, m->start, m->end, m->major, m->minor };
	int linked, fd = open_itself(pid, m->path, &there);

	if (is_waited_for(fd) || (fd >= 0 && is_mapped(m, &there)))
		return fd;
	linked = open_link_itself(&link, &st);
	if (linked >= 0 || linked == -EINVAL || is_waited_for(linked)) {
		if (fd >= 0)
			close(fd);
		return linked;
	}
	/* without the right to follow it: the same number on another device is most often the same file */
	if (fd >= 0 && there.st_ino == m->ino)
		return fd;
	if (fd >= 0)
		close(fd);
	fd = open_link_itself(&(struct openfile_mapping){ .pid = (uint32_t)pid }, &st);
	if (fd >= 0 && st.st_ino != m->ino) {
		close(fd);
		fd = -ENOENT;
	}
	return fd;
}

/* Of a process's mappings those that hold code; want or addr says of which files. */
struct maps_walk {
	lib_want_fn want;
	const uint64_t *addr;
	unsigned cnt;
	lib_fn fn;
	void *ctx;
};

static bool wanted(const struct maps_walk *w, const struct mapped *m)
{
	if (w->want)
		return w->want(w->ctx, basename(m->path), m->path);
	for (unsigned i = 0; i < w->cnt; i++)
		if (w->addr[i] >= m->start && w->addr[i] < m->end)
			return true;
	return false;
}

static int libs_one_mapping(int pid, const struct maps_walk *w, const struct mapped *m, uint64_t pgoff)
{
	struct lib_file f = {
		.path = m->path, .base = basename(m->path), .mapped = true, .start = m->start, .pgoff = pgoff
	};
	int fd = open_mapped(pid, m);

	if (is_waited_for(fd)) {
		f.fd = -1;
		f.waits = true;
		return w->fn(w->ctx, &f);
	}
	return fd >= 0 ? call(w->fn, w->ctx, &f, fd) : 0;
}

static int walk_maps(int pid, const struct maps_walk *w, struct err *e)
{
	char name[64], *line = NULL;
	uint64_t last_ino = 0;
	size_t cap = 0;
	int r = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "re");
	if (!f) {
		r = -errno;
		return err_set(e, r == -ENOENT ? -ESRCH : r,
			       r == -ENOENT ? "no process %d: it may have ended"
					    : "cannot read /proc/%d/maps: run as root or as the process's user",
			       pid);
	}
	while (!r && getline(&line, &cap, f) > 0) {
		unsigned long start, end, pgoff, ino;
		unsigned int maj, min;
		char perms[8], *path, *nl;
		struct mapped m;
		int at = 0;

		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, perms, &pgoff, &maj, &min, &ino, &at) <
			    7 ||
		    !at)
			continue;
		path = line + at;
		nl = strchr(path, '\n');
		if (nl)
			*nl = 0;
		if (perms[2] != 'x' || *path != '/' || !ino || ino == last_ino || strlen(path) >= PATH_MAX)
			continue;
		nl = strstr(path, " (deleted)");
		if (nl && !nl[sizeof(" (deleted)") - 1])
			*nl = 0;
		m = (struct mapped){ path, start, end, ino, maj, min };
		if (!wanted(w, &m))
			continue;
		last_ino = ino;
		r = libs_one_mapping(pid, w, &m, pgoff);
	}
	free(line);
	fclose(f);
	return r;
}

int libs_mapped(int pid, lib_want_fn want, lib_fn fn, void *ctx, struct err *e)
{
	return walk_maps(pid, &(struct maps_walk){ .want = want, .fn = fn, .ctx = ctx }, e);
}

int libs_holding(int pid, const uint64_t *addr, unsigned cnt, lib_fn fn, void *ctx)
{
	return walk_maps(pid, &(struct maps_walk){ .addr = addr, .cnt = cnt, .fn = fn, .ctx = ctx }, NULL);
}

static int walk_dir(int pid, const char *dir, lib_want_fn want, lib_fn fn, void *ctx)
{
	char path[PATH_MAX];
	struct dirent *de;
	struct stat st;
	int r = 0, fd;
	DIR *d;

	if (*dir != '/' || strlen(dir) > PATH_MAX - NAME_MAX - 8)
		return 0;
	fd = openfile_dir_in_root((uint32_t)pid, dir);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	/* Files first, so that a library goes by its own name, then links that lead elsewhere. */
	for (int links = 0; !r && links < 2; rewinddir(d), links++) {
		while (!r && (de = readdir(d))) {
			if ((de->d_type == DT_LNK) != links)
				continue;
			snprintf(path, sizeof(path), "%s/%s", dir, de->d_name);
			if (!want(ctx, de->d_name, path))
				continue;
			fd = open_itself(pid, path, &st);
			if (fd >= 0)
				r = call(fn, ctx, &(struct lib_file){ .path = path, .base = basename(path) }, fd);
		}
	}
	closedir(d);
	return r;
}

static int walk_list(int pid, const char *list, const char *origin, lib_want_fn want, lib_fn fn, void *ctx)
{
	int r = 0;

	for (const char *p = list; *p && !r;) {
		size_t n = strcspn(p, ":;");
		AUTO_BUF(b);

		if (n >= 7 && !strncmp(p, "$ORIGIN", 7))
			buf_addf(&b, "%s%.*s", origin, (int)n - 7, p + 7);
		else if (n >= 9 && !strncmp(p, "${ORIGIN}", 9))
			buf_addf(&b, "%s%.*s", origin, (int)n - 9, p + 9);
		else
			buf_addf(&b, "%.*s", (int)n, p);
		if (!buf_failed(&b) && b.len)
			r = walk_dir(pid, b.data, want, fn, ctx);
		p += n + (p[n] != 0);
	}
	return r;
}

/* LD_LIBRARY_PATH as the process was started with. */
static void env_of(int pid, struct buf *out)
{
	static const char key[] = "LD_LIBRARY_PATH=";
	char name[64], *text = NULL;
	size_t cap = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/environ", pid);
	f = fopen(name, "re");
	if (!f)
		return;
	while (getdelim(&text, &cap, 0, f) > 0)
		if (!strncmp(text, key, sizeof(key) - 1))
			buf_addstr(out, text + sizeof(key) - 1);
	free(text);
	fclose(f);
}

int libs_installed(int pid, bool env_self, const char *exe, lib_want_fn want, lib_fn fn, void *ctx)
{
	static const char *const usual[] = {
#if defined(__x86_64__)
		"/usr/lib/x86_64-linux-gnu",
		"/usr/local/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"/usr/lib/aarch64-linux-gnu",
		"/usr/local/lib/aarch64-linux-gnu",
#endif
		"/usr/lib64",
		"/usr/lib",
		"/usr/local/lib",
		"/usr/local/cuda/lib64",
		"/opt/rocm/lib",
	};
	char runpath[PATH_MAX], origin[PATH_MAX];
	const char *own = rights_getenv("LD_LIBRARY_PATH");
	AUTO_BUF(env);
	struct stat st;
	int r = 0, fd;

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual) && !r; i++)
		r = walk_dir(pid, usual[i], want, fn, ctx);
	if (env_self && own)
		buf_addstr(&env, own);
	else if (!env_self)
		env_of(pid, &env);
	if (exe && *exe == '/' && strlen(exe) < sizeof(origin) - 64) {
		snprintf(origin, sizeof(origin), "%s", exe);
		*strrchr(origin, '/') = 0;
		fd = openfile_in_root((uint32_t)pid, exe, &st);
		if (fd >= 0) {
			if (!elfsym_runpath(fd, runpath, sizeof(runpath)) && !r)
				r = walk_list(pid, runpath, origin, want, fn, ctx);
			close(fd);
		}
	} else {
		origin[0] = 0;
	}
	if (!r && env.len)
		r = walk_list(pid, env.data, origin, want, fn, ctx);
	return r;
}

bool libs_has_uring(int pid)
{
	char name[64], link[64];
	struct dirent *de;
	bool has = false;
	ssize_t n;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	d = opendir(name);
	while (d && !has && (de = readdir(d))) {
		n = readlinkat(dirfd(d), de->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		has = !strcmp(link, "anon_inode:[io_uring]");
	}
	if (d)
		closedir(d);
	return has;
}
