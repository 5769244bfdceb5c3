// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/map.h"
#include "util/openfile.h"

#define MAX_TEXT (128ull << 20)
#define MAX_ENTRIES 1000000u
#define MAX_NAME 512
#define MAX_LINE 4096
#define LOOK_BACK 256 /* entries that may begin between an address and its own entry */

struct entry {
	uint64_t start, size;
	uint32_t name, seq;
};

struct jitmap {
	int fd;
	uint64_t consumed;
	struct entry *entries;
	size_t count, cap;
	uint32_t seq;
	bool sorted;
	struct intern names;
	uint64_t rejected;
	char line[MAX_LINE];
	size_t line_len;
	bool line_too_long;
};

static struct jitmap *jitmap_new(void)
{
	struct jitmap *j = calloc(1, sizeof(*j));

	if (j)
		j->fd = -1;
	return j;
}

void jitmap_free(struct jitmap *j)
{
	if (!j)
		return;
	if (j->fd >= 0)
		close(j->fd);
	free(j->entries);
	intern_release(&j->names);
	free(j);
}

uint64_t jitmap_rejected(const struct jitmap *j)
{
	return j->rejected;
}

/* ---- lines ---- */

static bool get_hex(const char **p, const char *end, uint64_t *value)
{
	const char *s = *p;
	unsigned digits = 0;

	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (*value = 0; s < end; s++, digits++) {
		int d = *s >= '0' && *s <= '9'   ? *s - '0'
			: *s >= 'a' && *s <= 'f' ? *s - 'a' + 10
			: *s >= 'A' && *s <= 'F' ? *s - 'A' + 10
						 : -1;

		if (d < 0)
			break;
		if (digits == 16)
			return false;
		*value = *value << 4 | (unsigned)d;
	}
	*p = s;
	return digits > 0;
}

/* Length of the well-formed UTF-8 character at s, 0 if there is none. */
static unsigned utf8_length(const unsigned char *s, size_t left)
{
	unsigned n = s[0] < 0x80                             ? 1
		     : (s[0] & 0xe0) == 0xc0 && s[0] >= 0xc2 ? 2
		     : (s[0] & 0xf0) == 0xe0                 ? 3
		     : (s[0] & 0xf8) == 0xf0 && s[0] <= 0xf4 ? 4
							     : 0;

	if (!n || n > left)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && s[0] == 0xe0 && s[1] < 0xa0)
		return 0;
	if (n == 3 && s[0] == 0xed && s[1] > 0x9f)
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

/* Terminals and JSON get to see it: no control characters, well-formed, not endless. */
static size_t sanitise(const char *s, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 4 < MAX_NAME;) {
		unsigned char c = (unsigned char)s[i];
		unsigned step = utf8_length((const unsigned char *)s + i, len - i);

		if (!step || c < 0x20 || c == 0x7f || (step == 2 && c == 0xc2 && (unsigned char)s[i + 1] < 0xa0)) {
			out[n++] = '?';
			i += step ? step : 1;
			continue;
		}
		memcpy(out + n, s + i, step);
		n += step;
		i += step;
	}
	out[n] = '\0';
	return n;
}

static int take_line(struct jitmap *j, const char *line, size_t len)
{
	const char *p = line, *end = line + len;
	uint64_t start, size;
	char name[MAX_NAME];
	size_t n;

	if (len && end[-1] == '\r')
		end--;
	if (p == end)
		return 0;
	if (!get_hex(&p, end, &start) || !get_hex(&p, end, &size) || p == end || (*p != ' ' && *p != '\t') || !size ||
	    size > 1ull << 32 || start > ~size || j->count >= MAX_ENTRIES) {
		j->rejected++;
		return 0;
	}
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	n = sanitise(p, (size_t)(end - p), name);
	if (!n) {
		j->rejected++;
		return 0;
	}
	if (j->count == j->cap) {
		size_t cap = j->cap ? j->cap * 2 : 256;
		void *grown = realloc(j->entries, cap * sizeof(*j->entries));

		if (!grown)
			return -ENOMEM;
		j->entries = grown;
		j->cap = cap;
	}
	j->entries[j->count] = (struct entry){ start, size, intern_add(&j->names, name, n, NULL), j->seq++ };
	if (!j->entries[j->count].name)
		return -ENOMEM;
	j->count++;
	j->sorted = false;
	return 0;
}

static int feed(struct jitmap *j, const char *text, size_t len, bool last)
{
	int err = 0;

	while (len && !err) {
		const char *nl = memchr(text, '\n', len);
		size_t n = nl ? (size_t)(nl - text) : len;

		if (j->line_len + n > sizeof(j->line)) {
			j->line_too_long = true;
		} else {
			memcpy(j->line + j->line_len, text, n);
			j->line_len += n;
		}
		if (nl) {
			if (j->line_too_long)
				j->rejected++;
			else
				err = take_line(j, j->line, j->line_len);
			j->line_len = 0;
			j->line_too_long = false;
			n++;
		}
		text += n;
		len -= n;
	}
	if (last && !err && j->line_len) {
		if (!j->line_too_long)
			err = take_line(j, j->line, j->line_len);
		j->line_len = 0;
	}
	return err;
}

struct jitmap *jitmap_parse(const char *text, size_t len)
{
	struct jitmap *j = jitmap_new();

	if (j && feed(j, text, len, true)) {
		jitmap_free(j);
		return NULL;
	}
	return j;
}

/* ---- looking up ---- */

static int entry_cmp(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

const char *jitmap_find(struct jitmap *j, uint64_t addr, uint64_t *start)
{
	const struct entry *best = NULL;
	size_t lo = 0, hi = j->count;

	if (!j->sorted && j->count)
		qsort(j->entries, j->count, sizeof(*j->entries), entry_cmp);
	j->sorted = true;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->entries[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* code moves and is written again: among those that hold the address the newest is right */
	for (unsigned i = 0; i < LOOK_BACK && lo-- > 0; i++) {
		const struct entry *e = &j->entries[lo];

		if (addr - e->start < e->size && (!best || e->seq > best->seq))
			best = e;
	}
	if (!best)
		return NULL;
	if (start)
		*start = best->start;
	return intern_get(&j->names, best->name, NULL);
}

/* ---- the file ---- */

struct owner {
	uint32_t ns_pid; /* the target's pid as it knows it */
	uint32_t uid, euid;
};

static bool read_owner(uint32_t pid, struct owner *o)
{
	char path[48], line[256];
	bool has_uid = false;
	FILE *f;

	o->ns_pid = pid;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Uid:", 4)) {
			has_uid = sscanf(line + 4, "%u %u", &o->uid, &o->euid) == 2;
		} else if (!strncmp(line, "NSpid:", 6)) {
			char *last = strrchr(line, '\t');

			if (last)
				o->ns_pid = (uint32_t)strtoul(last, NULL, 10);
		}
	}
	fclose(f);
	return has_uid;
}

static int open_map(uint32_t pid, uint32_t ns_pid)
{
	char name[48];
	struct stat st;

	snprintf(name, sizeof(name), "/tmp/perf-%u.map", ns_pid);
	return openfile_in_root_nofollow(pid, name, &st);
}

struct jitmap *jitmap_load(uint32_t pid, struct err *e)
{
	struct owner o;
	struct stat st;
	struct jitmap *j;
	int fd;

	if (!read_owner(pid, &o)) {
		err_set(e, -ESRCH, "process %u is gone", pid);
		return NULL;
	}
	fd = open_map(pid, o.ns_pid);
	if (fd < 0) {
		err_set(e, fd,
			"process %u has no readable /tmp/perf-%u.map: start its runtime with perf maps on (node --perf-basic-prof, java with perf-map-agent)",
			pid, o.ns_pid);
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != o.uid && st.st_uid != o.euid)) {
		close(fd);
		err_set(e, -EPERM, "/tmp/perf-%u.map belongs to user %u, not to that of process %u: not used", o.ns_pid,
			st.st_uid, pid);
		return NULL;
	}
	j = jitmap_new();
	if (!j) {
		close(fd);
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	j->fd = fd;
	jitmap_update(j, false);
	return j;
}

int jitmap_update(struct jitmap *j, bool last)
{
	char *text;
	ssize_t n;
	int err = 0;

	if (j->fd < 0)
		return 0;
	text = malloc(65536);
	if (!text)
		return -ENOMEM;
	while (!err && j->consumed < MAX_TEXT && (n = pread(j->fd, text, 65536, (off_t)j->consumed)) > 0) {
		j->consumed += (uint64_t)n;
		err = feed(j, text, (size_t)n, false);
	}
	free(text);
	return last && !err ? feed(j, "", 0, true) : err;
}
