// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/grow.h"
#include "util/openfile.h"

#define MOST_BYTES (16u << 20) /* larger ones are made by programs for programs */
#define TAB 4                  /* columns: of eight, lines run out of a narrow view; by hand */

static const char *const suffixes[] = { "c",     "h",   "cc",  "cpp", "cxx", "c++", "hh",  "hpp", "hxx", "h++",
					"inc",   "inl", "ipp", "tcc", "def", "S",   "s",   "asm", "rs",  "go",
					"d",     "f",   "for", "f77", "f90", "f95", "f03", "f08", "F",   "F90",
					"adb",   "ads", "pas", "zig", "nim", "m",   "mm",  "cu",  "cuh", "cl",
					"swift", "y",   "l",   "ml",  "hs",  "cr",  "vala" };

static bool is_source(const char *path)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (!strcmp(dot + 1, suffixes[i]))
			return true;
	/* headers of C++'s own library have no suffix */
	return strstr(path, "/include/c++/") && !strstr(path, "/../") && (!dot || strchr(dot, '/'));
}

static int split_lines(struct source_file *f, size_t size)
{
	for (size_t at = 0; at < size;) {
		char *end = memchr(f->text + at, '\n', size - at);

		if (!PUSH(f->line, f->lines, f->line_cap, 256, at))
			return -ENOMEM;
		if (!end)
			break;
		*end = 0;
		at = (size_t)(end - f->text) + 1;
	}
	return 0;
}

static int read_whole_file(int fd, char *out, size_t size, size_t *got)
{
	for (*got = 0; *got < size;) {
		ssize_t n = read(fd, out + *got, size - *got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		*got += (size_t)n;
	}
	return 0;
}

/* The longest end of the path that is a file under root. */
static int open_under(const char *root, const char *path, struct stat *st)
{
	int fd = -ENOENT;

	for (const char *end = path; end && fd < 0 && !strstr(path, ".."); end = strchr(end, '/')) {
		AUTO_BUF(name);

		end += *end == '/';
		buf_addf(&name, "%s/%s", root, end);
		fd = buf_failed(&name) ? -ENOMEM : openfile_regular(name.data, st);
	}
	return fd;
}

static int open_source(const struct sources *s, const char *path, struct stat *st)
{
	int fd = s->root ? open_under(s->root, path, st) : -ENOENT;

	return fd < 0 && path[0] == '/' ? openfile_regular(path, st) : fd;
}

/* A link of the target's user that is named like source may lead to what only we may read. Of a copy nothing tells
 * where the link led. */
static bool leads_to_source(int fd, const struct stat *st)
{
	char self[48], real[4096];
	ssize_t n;

	if (openfile_is_copy(fd))
		return st->st_mode & S_IROTH || (geteuid() && st->st_uid == geteuid());
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, real, sizeof(real) - 1);
	real[n > 0 ? n : 0] = 0;
	return is_source(real);
}

static int load_source(const struct sources *s, struct source_file *f)
{
	struct stat st;
	size_t got = 0;
	int fd = open_source(s, f->path, &st), err;

	if (fd < 0)
		return fd;
	f->younger = s->built && st.st_mtime > s->built;
	if (!leads_to_source(fd, &st))
		err = -EPERM;
	else if (st.st_size > (off_t)MOST_BYTES)
		err = -EFBIG;
	else if (!(f->text = malloc((size_t)st.st_size + 1)))
		err = -ENOMEM;
	else
		err = read_whole_file(fd, f->text, (size_t)st.st_size, &got);
	close(fd);
	if (err)
		return err;
	f->text[got] = 0;
	return split_lines(f, got);
}

const struct source_file *source_of(struct sources *s, const char *path)
{
	struct source_file *f;
	int err;

	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->file[i].path, path))
			return &s->file[i];
	if (!PUSH(s->file, s->count, s->cap, 8, (struct source_file){ .path = path }))
		return NULL;
	f = &s->file[s->count - 1];
	if (path[0] != '/' && !s->root) {
		snprintf(f->why, sizeof(f->why), "its path is relative; --source names its folder");
		return f;
	}
	if (!is_source(path)) {
		snprintf(f->why, sizeof(f->why), "its name is not that of source code");
		return f;
	}
	err = load_source(s, f);
	if (err)
		snprintf(f->why, sizeof(f->why), "%s",
			 err == -EINVAL  ? "what lies there is no regular file"
			 : err == -EPERM ? "its name is a link to what is no source code"
					 : strerror(-err));
	return f;
}

const char *source_line(const struct source_file *f, uint32_t n, char *out, size_t size)
{
	const char *at;
	size_t w = 0;

	if (!f || *f->why || !n || n > f->lines)
		return NULL;
	for (at = f->text + f->line[n - 1]; *at && *at != '\r' && w + 1 < size; at++) {
		unsigned blanks = *at == '\t' ? TAB - (unsigned)w % TAB : 0;

		for (; blanks && w + 1 < size; blanks--)
			out[w++] = ' ';
		if (*at != '\t')
			out[w++] = *at;
	}
	out[w] = 0;
	return out;
}

void sources_release(struct sources *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->file[i].text);
		free(s->file[i].line);
	}
	free(s->file);
	*s = (struct sources){ 0 };
}
