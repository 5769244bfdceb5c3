// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/jitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/bisect.h"
#include "util/clock.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/openfile.h"

#define AT_ONCE (16ull << 20)       /* bytes of the file: a tenth of a second; a runtime writes less in a day */
#define AT_ONCE_MOST (128ull << 20) /* at its beginning and end: a second */
#define MAX_ENTRIES 1000000u        /* kept: 40 MB. Code is forgotten as other code takes its place */
#define MAX_NAME_BYTES (64u << 20)  /* in all names that are kept */
#define MAX_NAME 512                /* bytes: longer names are cut; by hand */
#define MAX_LINE 4096               /* bytes: the rest of a longer line is left out; by hand */
#define COPY_NS 10000000000ull      /* between two copies of what a file server holds */
#define LOOK_BACK 256               /* entries that may begin between an address and its own entry */

struct jitmap_entry {
	uint64_t start, size, seq;
	uint32_t name;
};

struct jitmap {
	int fd;
	uint32_t pid, ns_pid;
	uint64_t copied; /* when, if it is a copy of what a file server holds */
	uint64_t consumed;
	struct jitmap_entry *entries;
	size_t count, cap, most;
	uint64_t seq;
	bool sorted;
	struct intern names;
	size_t name_bytes, most_name_bytes;
	uint64_t rejected;
	char line[MAX_LINE];
	size_t line_len;
	bool line_too_long;
};

static struct jitmap *jitmap_new(void)
{
	struct jitmap *j = calloc(1, sizeof(*j));

	if (j) {
		j->fd = -1;
		jitmap_limit(j, MAX_ENTRIES, MAX_NAME_BYTES);
	}
	return j;
}

void jitmap_limit(struct jitmap *j, size_t entries, size_t name_bytes)
{
	j->most = entries;
	j->most_name_bytes = name_bytes;
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

size_t jitmap_entries(const struct jitmap *j)
{
	return j->count;
}

uint64_t jitmap_rejected(const struct jitmap *j)
{
	return j->rejected;
}

/* ---- what is kept ---- */

static int entry_cmp(const void *pa, const void *pb)
{
	const struct jitmap_entry *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void sort_entries(struct jitmap *j)
{
	if (!j->sorted && j->count)
		qsort(j->entries, j->count, sizeof(*j->entries), entry_cmp);
	j->sorted = true;
}

/* Entries around one address, the newest first: a heap of indices by seq. */
struct newest {
	const struct jitmap_entry *entries;
	uint32_t *at;
	size_t count;
};

static bool newer(const struct newest *h, size_t a, size_t b)
{
	return h->entries[h->at[a]].seq > h->entries[h->at[b]].seq;
}

static void exchange_places(struct newest *h, size_t a, size_t b)
{
	uint32_t was = h->at[a];

	h->at[a] = h->at[b];
	h->at[b] = was;
}

static void newest_push(struct newest *h, uint32_t i)
{
	size_t at = h->count++;

	h->at[at] = i;
	for (; at && newer(h, at, (at - 1) / 2); at = (at - 1) / 2)
		exchange_places(h, at, (at - 1) / 2);
}

static void newest_pop(struct newest *h)
{
	size_t at = 0, child;

	h->at[0] = h->at[--h->count];
	for (; (child = 2 * at + 1) < h->count; at = child) {
		child += child + 1 < h->count && newer(h, child + 1, child);
		if (!newer(h, child, at))
			break;
		exchange_places(h, at, child);
	}
}

/* Goes through all addresses at which an entry begins or ends: kept is what is the newest somewhere. */
static void mark_visible(const struct jitmap *j, struct newest *h, bool *keep)
{
	uint64_t at = 0, end;
	size_t next = 0;

	while (next < j->count || h->count) {
		while (h->count && h->entries[h->at[0]].start + h->entries[h->at[0]].size <= at)
			newest_pop(h);
		if (!h->count && next < j->count && j->entries[next].start > at)
			at = j->entries[next].start;
		while (next < j->count && j->entries[next].start <= at)
			newest_push(h, (uint32_t)next++);
		if (!h->count)
			continue;
		end = h->entries[h->at[0]].start + h->entries[h->at[0]].size;
		if (end <= at)
			continue;
		keep[h->at[0]] = true;
		at = next < j->count && j->entries[next].start < end ? j->entries[next].start : end;
	}
}

/* Of the entries, in their order. What has no memory stays as it is. */
static void keep_only(struct jitmap *j, const bool *keep)
{
	struct intern names = { 0 };
	size_t kept = 0, bytes = 0;

	for (size_t i = 0; i < j->count; i++) {
		struct jitmap_entry e = j->entries[i];
		const char *name;
		bool added;
		size_t len;

		if (!keep[i])
			continue;
		name = intern_get(&j->names, e.name, &len);
		e.name = intern_add(&names, name, len, &added);
		if (!e.name)
			continue;
		bytes += added ? len : 0;
		j->entries[kept++] = e;
	}
	intern_release(&j->names);
	j->names = names;
	j->name_bytes = bytes;
	j->count = kept;
}

void jitmap_prune(struct jitmap *j)
{
	struct newest heap = { .at = malloc((j->count + 1) * sizeof(*heap.at)) };
	bool *keep = calloc(j->count + 1, sizeof(*keep));

	if (heap.at && keep) {
		sort_entries(j);
		heap.entries = j->entries;
		mark_visible(j, &heap, keep);
		keep_only(j, keep);
	}
	free(heap.at);
	free(keep);
}

static int seq_cmp(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static void drop_older_half(struct jitmap *j)
{
	uint64_t *seq = malloc((j->count + 1) * sizeof(*seq));
	bool *keep = calloc(j->count + 1, sizeof(*keep));

	for (size_t i = 0; seq && i < j->count; i++)
		seq[i] = j->entries[i].seq;
	if (seq && keep) {
		qsort(seq, j->count, sizeof(*seq), seq_cmp);
		for (size_t i = 0; i < j->count; i++)
			keep[i] = j->entries[i].seq >= seq[j->count / 2];
		j->rejected += j->count / 2;
		keep_only(j, keep);
	}
	free(seq);
	free(keep);
}

static bool is_full(const struct jitmap *j)
{
	return j->count >= j->most || j->name_bytes >= j->most_name_bytes;
}

/* So much that it is not asked for again with the next lines. */
static void reserve_entries(struct jitmap *j)
{
	jitmap_prune(j);
	if (j->count > j->most / 4 * 3 || j->name_bytes > j->most_name_bytes / 4 * 3)
		drop_older_half(j);
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
	bool added;
	size_t n;

	if (len && end[-1] == '\r')
		end--;
	if (p == end)
		return 0;
	if (!get_hex(&p, end, &start) || !get_hex(&p, end, &size) || p == end || (*p != ' ' && *p != '\t') || !size ||
	    size > 1ull << 32 || start > ~size) {
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
	if (is_full(j))
		reserve_entries(j);
	if (!GROW(j->entries, j->count, j->cap, 256))
		return -ENOMEM;
	j->entries[j->count] = (struct jitmap_entry){ start, size, j->seq++, intern_add(&j->names, name, n, &added) };
	if (!j->entries[j->count].name)
		return -ENOMEM;
	j->name_bytes += added ? n : 0;
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
const char *jitmap_find(struct jitmap *j, uint64_t addr, uint64_t *start)
{
	const struct jitmap_entry *best = NULL;
	size_t lo;

	sort_entries(j);
	lo = BISECT(mid, j->count, j->entries[mid].start <= addr);
	/* code moves and is written again: among those that hold the address the newest is right */
	for (unsigned i = 0; i < LOOK_BACK && lo-- > 0; i++) {
		const struct jitmap_entry *e = &j->entries[lo];

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

static int read_on(struct jitmap *j, uint64_t most)
{
	uint64_t end = j->consumed + most;
	char *text = malloc(65536);
	ssize_t n;
	int err = 0;

	if (!text)
		return -ENOMEM;
	while (!err && j->consumed < end && (n = pread(j->fd, text, 65536, (off_t)j->consumed)) > 0) {
		j->consumed += (uint64_t)n;
		err = feed(j, text, (size_t)n, false);
	}
	free(text);
	return err;
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
			"process %u has no readable /tmp/perf-%u.map: start its runtime with perf maps on (node "
			"--perf-basic-prof, python3 -X perf), or ask it for one (`jcmd %u Compiler.perfmap`, JDK 17 and later)",
			pid, o.ns_pid, pid);
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
	j->pid = pid;
	j->ns_pid = o.ns_pid;
	j->copied = openfile_is_copy(fd) ? clock_now() : 0;
	read_on(j, AT_ONCE_MOST);
	return j;
}

/* It ends where the file ended then. */
static void copy_afresh(struct jitmap *j, bool now)
{
	int fd = now || clock_now() - j->copied > COPY_NS ? open_map(j->pid, j->ns_pid) : -EAGAIN;

	if (fd < 0)
		return;
	close(j->fd);
	j->fd = fd;
	j->copied = clock_now();
}

int jitmap_update(struct jitmap *j, bool last)
{
	struct stat st;
	int err;

	if (j->fd < 0)
		return 0;
	if (j->copied)
		copy_afresh(j, last);
	err = read_on(j, last ? AT_ONCE_MOST : AT_ONCE);
	if (!last || err)
		return err;
	j->rejected += !fstat(j->fd, &st) && (uint64_t)st.st_size > j->consumed;
	return feed(j, "", 0, true);
}
