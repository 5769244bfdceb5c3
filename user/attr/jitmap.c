// SPDX-License-Identifier: GPL-2.0-or-later
#include "attr/jitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buf.h"

#define MAX_FILE (64u << 20)
#define MAX_ENTRIES 2000000u
#define MAX_NAME 512

struct entry {
	uint64_t start, end;
	size_t name;   /* offset into names */
	uint32_t line; /* later lines win */
};

struct jitmap {
	struct entry *entries;
	size_t count, cap;
	uint64_t rejected;
	struct buf names;
};

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Hexadecimal digits, with or without 0x; moves *p behind them. */
static bool hex(const char **p, const char *end, uint64_t *out)
{
	const char *s = *p;
	unsigned digits = 0;
	uint64_t v = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] | 32) == 'x')
		s += 2;
	for (; s < end; s++, digits++) {
		unsigned c = (unsigned char)*s | 32, d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;

		if (d == 16)
			break;
		if (v >> 60)
			return false;
		v = v << 4 | d;
	}
	*p = s;
	*out = v;
	return digits > 0;
}

static bool parse_line(struct jitmap *j, const char *p, const char *end, uint32_t line)
{
	struct entry e = { .name = j->names.len, .line = line };
	uint64_t size;

	if (!hex(&p, end, &e.start) || p >= end || *p++ != ' ' || !hex(&p, end, &size) || p >= end || *p++ != ' ' || p >= end || !size ||
	    __builtin_add_overflow(e.start, size, &e.end))
		return false;
	if (j->count == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 256;
		struct entry *n = realloc(j->entries, cap * sizeof(*n));

		if (!n)
			return false;
		j->entries = n;
		j->cap = cap;
	}
	for (size_t n = 0; p < end && n < MAX_NAME; p++, n++)
		buf_addch(&j->names, (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
	buf_addch(&j->names, '\0');
	if (buf_failed(&j->names))
		return false;
	j->entries[j->count++] = e;
	return true;
}

struct jitmap *jitmap_parse(const char *text, size_t len)
{
	struct jitmap *j = calloc(1, sizeof(*j));
	size_t kept = 0;
	uint32_t line = 0;

	if (!j)
		return NULL;
	for (const char *p = text, *all = text + len; p < all && j->count < MAX_ENTRIES; line++) {
		const char *nl = memchr(p, '\n', (size_t)(all - p)), *end = nl ? nl : all;

		if (end > p && !parse_line(j, p, end, line))
			j->rejected++;
		p = end + 1;
	}
	if (j->count)
		qsort(j->entries, j->count, sizeof(*j->entries), by_start);
	/* code is moved and freed and its place used again: of overlapping entries the later line is
	 * what stands there now */
	for (size_t i = 0; i < j->count; i++) {
		struct entry e = j->entries[i];

		while (kept && j->entries[kept - 1].end > e.start && j->entries[kept - 1].line < e.line &&
		       j->entries[kept - 1].start >= e.start)
			kept--;
		if (kept && j->entries[kept - 1].end > e.start) {
			if (j->entries[kept - 1].line < e.line) {
				j->entries[kept - 1].end = e.start;
			} else if (j->entries[kept - 1].end >= e.end) {
				continue;
			} else {
				e.start = j->entries[kept - 1].end;
			}
		}
		j->entries[kept++] = e;
	}
	j->count = kept;
	return j;
}

/* Uid of the process and its id in its own innermost pid namespace, which is what the JIT knows. */
static int read_status(uint32_t pid, uid_t *uid, unsigned *inner)
{
	char path[64], line[512];
	bool have_uid = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	*inner = pid;
	while (fgets(line, sizeof(line), f)) {
		unsigned real, effective;

		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2) {
			*uid = effective;
			have_uid = true;
		} else if (!strncmp(line, "NSpid:", 6)) {
			char *last = strrchr(line, '\t');

			if (last)
				*inner = (unsigned)strtoul(last, NULL, 10);
		}
	}
	fclose(f);
	return have_uid ? 0 : -ENOENT;
}

struct jitmap *jitmap_load(uint32_t pid, struct err *e)
{
	char path[128];
	struct jitmap *j = NULL;
	struct stat st;
	unsigned inner = pid;
	char *text;
	size_t n = 0;
	uid_t uid = 0;
	int fd;

	if (read_status(pid, &uid, &inner)) {
		err_set(e, -ESRCH, "process %u has ended", pid);
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, inner);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		err_set(e, -errno, "no perf map of process %u: %s", pid, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		err_set(e, -EINVAL, "the perf map of process %u is not a regular file", pid);
	} else if (st.st_uid != uid && st.st_uid != 0) {
		err_set(e, -EPERM, "the perf map of process %u belongs to user %u, not to the process's: ignored", pid, st.st_uid);
	} else if ((text = malloc(MAX_FILE < st.st_size ? MAX_FILE : (size_t)st.st_size + 1))) {
		size_t want = MAX_FILE < st.st_size ? MAX_FILE : (size_t)st.st_size;

		while (n < want) {
			ssize_t got = read(fd, text + n, want - n);

			if (got <= 0)
				break;
			n += (size_t)got;
		}
		j = jitmap_parse(text, n);
		free(text);
	}
	close(fd);
	return j;
}

const char *jitmap_find(const struct jitmap *j, uint64_t addr, uint64_t *start)
{
	size_t lo = 0, hi = j->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->entries[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= j->entries[lo - 1].end)
		return NULL;
	if (start)
		*start = j->entries[lo - 1].start;
	return j->names.data + j->entries[lo - 1].name;
}

size_t jitmap_count(const struct jitmap *j)
{
	return j->count;
}

uint64_t jitmap_rejected(const struct jitmap *j)
{
	return j->rejected;
}

void jitmap_free(struct jitmap *j)
{
	if (!j)
		return;
	free(j->entries);
	buf_release(&j->names);
	free(j);
}
