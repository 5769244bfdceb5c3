// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symcache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/bisect.h"
#include "util/buf.h"
#include "util/cachedir.h"
#include "util/grow.h"
#include "util/map.h"

#define MAX_FILE (32u << 20)     /* bytes; more is not kept; by hand */
#define MAX_TOTAL (256ull << 20) /* bytes of all files, the oldest of which go first; by hand */

/* File: head, entries by address, frames, strings, each with its NUL. Strings are numbered from 1; 0 is none. */
struct symcache_head {
	uint64_t magic, xxh64; /* of all that follows this struct */
	uint32_t entries, frames, string_bytes, pad;
};

struct symcache_entry {
	uint64_t addr;
	uint32_t bytes, first;
	uint16_t count, origin; /* enum symbol_origin; SYM_OFFSET: no name, and no frame */
	uint32_t pad;
};

struct symcache_frame {
	uint32_t name, decl_file, decl_line, file, line;
};

struct symcache {
	int dir;
	char file[64]; /* build-id, content */
	struct symcache_entry *entries;
	struct symcache_frame *frames;
	size_t entry_count, entry_cap, frame_count, frame_cap;
	size_t loaded; /* entries, by address */
	struct intern strings;
	bool dirty;
};

static uint32_t keep_string(struct symcache *c, const char *s)
{
	return s ? intern_str(&c->strings, s, NULL) : 0;
}

static bool may_be_kept(unsigned count, unsigned origin)
{
	return origin == SYM_OFFSET ? !count
				    : (origin == SYM_DWARF || origin == SYM_TABLE) && count && count <= DWFL_MAX_CHAIN;
}

static void keep_names(struct symcache *c, const struct symcache_entry *e, const struct symcache_frame *frames)
{
	struct symcache_entry kept = *e;

	if (!GROW(c->entries, c->entry_count, c->entry_cap, 64) ||
	    !GROW_TO(c->frames, c->frame_count + e->count, c->frame_cap, 64))
		return;
	kept.first = (uint32_t)c->frame_count;
	c->entries[c->entry_count++] = kept;
	for (unsigned i = 0; i < e->count; i++)
		c->frames[c->frame_count++] = frames[i];
}

/* Ids of the file's strings by their number; NULL: it is not what it says, or no memory. */
static uint32_t *load_strings(struct symcache *c, const char *at, size_t size, uint32_t *count)
{
	const char *end = at + size;
	uint32_t *ids = NULL;
	size_t cap = 0;

	if (!GROW(ids, 0, cap, 256))
		return NULL;
	ids[0] = 0;
	for (*count = 1; at < end; at += strlen(at) + 1) {
		if (!GROW(ids, *count, cap, 256)) {
			free(ids);
			return NULL;
		}
		ids[(*count)++] = intern_str(&c->strings, at, NULL);
	}
	return ids;
}

static void load_bytes(struct symcache *c, const uint8_t *data, size_t size)
{
	struct symcache_head h;
	const uint8_t *entries, *frames;
	uint32_t *ids, strings;

	if (size < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	if (h.magic != SYMCACHE_MAGIC || h.entries > MAX_FILE / sizeof(struct symcache_entry) ||
	    h.frames > MAX_FILE / sizeof(struct symcache_frame) ||
	    sizeof(h) + (uint64_t)h.entries * sizeof(struct symcache_entry) +
			    (uint64_t)h.frames * sizeof(struct symcache_frame) + h.string_bytes !=
		    size ||
	    !h.string_bytes || data[size - 1] || XXH64(data + sizeof(h), size - sizeof(h), 0) != h.xxh64)
		return;
	entries = data + sizeof(h);
	frames = entries + h.entries * sizeof(struct symcache_entry);
	ids = load_strings(c, (const char *)frames + h.frames * sizeof(struct symcache_frame), h.string_bytes,
			   &strings);
	for (uint32_t i = 0; ids && i < h.entries; i++) {
		struct symcache_frame out[DWFL_MAX_CHAIN];
		const struct symcache_entry *last = c->entry_count ? &c->entries[c->entry_count - 1] : NULL;
		bool named = true;
		struct symcache_entry e;

		memcpy(&e, entries + i * sizeof(e), sizeof(e));
		if (!may_be_kept(e.count, e.origin) || e.first > h.frames || e.count > h.frames - e.first ||
		    (last && e.addr - last->addr < last->bytes) || (last && e.addr < last->addr))
			continue;
		for (uint32_t k = 0; k < e.count; k++) {
			struct symcache_frame *f = &out[k];

			memcpy(f, frames + (e.first + k) * sizeof(*f), sizeof(*f));
			f->name = f->name < strings ? ids[f->name] : 0;
			f->decl_file = f->decl_file < strings ? ids[f->decl_file] : 0;
			f->file = f->file < strings ? ids[f->file] : 0;
			named &= f->name != 0;
		}
		if (named) /* else it would only stand in the way of a good one */
			keep_names(c, &e, out);
	}
	free(ids);
	c->loaded = c->entry_count;
}

static void load_file(struct symcache *c)
{
	AUTO_BUF(b);

	if (!cachedir_read(c->dir, c->file, MAX_FILE, &b))
		load_bytes(c, (const uint8_t *)b.data, b.len);
}

static void name_of(const uint8_t *build_id, unsigned len, char *out)
{
	for (unsigned i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", build_id[i]);
}

static struct symcache *folder(unsigned build_id_len)
{
	struct symcache *c;

	if (build_id_len < 8 || build_id_len > 20 || !(c = calloc(1, sizeof(*c))))
		return NULL;
	c->dir = cachedir_open("symbols");
	if (c->dir < 0) {
		free(c);
		return NULL;
	}
	return c;
}

struct symcache *symcache_open(const uint8_t *build_id, unsigned len, uint64_t content)
{
	struct symcache *c = folder(len);

	if (!c)
		return NULL;
	name_of(build_id, len, c->file);
	snprintf(c->file + 2 * len, sizeof(c->file) - 2 * len, "-%016llx", (unsigned long long)content);
	load_file(c);
	return c;
}

struct symcache *symcache_open_gone(const uint8_t *build_id, unsigned len)
{
	struct symcache *c = folder(len);
	char id[48];
	unsigned known = 0;
	struct dirent *d;
	DIR *dir;
	int fd;

	if (!c)
		return NULL;
	name_of(build_id, len, id);
	fd = dup(c->dir);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	while (dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, id, 2 * len) || d->d_name[2 * len] != '-' ||
		    strlen(d->d_name) >= sizeof(c->file))
			continue;
		snprintf(c->file, sizeof(c->file), "%.63s", d->d_name);
		known++;
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	if (known != 1) {
		symcache_close(c);
		return NULL;
	}
	load_file(c);
	return c;
}

unsigned symcache_get(struct symcache *c, uint64_t addr, struct symbol_frame *frames, unsigned max,
		      enum symbol_origin *origin)
{
	size_t behind = c ? BISECT(i, c->loaded, c->entries[i].addr <= addr) : 0;
	const struct symcache_entry *e = behind ? &c->entries[behind - 1] : NULL;

	*origin = 0;
	if (!e || addr - e->addr >= e->bytes || e->count > max)
		return 0;
	for (uint32_t i = 0; i < e->count; i++) {
		const struct symcache_frame *f = &c->frames[e->first + i];

		frames[i] = (struct symbol_frame){ intern_get(&c->strings, f->name, NULL),
						   intern_get(&c->strings, f->decl_file, NULL), f->decl_line,
						   intern_get(&c->strings, f->file, NULL), f->line };
		if (!frames[i].name)
			return 0;
	}
	*origin = e->origin;
	return e->count;
}

void symcache_put(struct symcache *c, struct dwfl_piece at, const struct symbol_frame *frames, unsigned count,
		  enum symbol_origin origin)
{
	struct symcache_frame out[DWFL_MAX_CHAIN];

	if (!c || !at.bytes || !may_be_kept(count, origin))
		return;
	for (unsigned i = 0; i < count; i++)
		out[i] = (struct symcache_frame){ keep_string(c, frames[i].name), keep_string(c, frames[i].decl_file),
						  frames[i].decl_line, keep_string(c, frames[i].file), frames[i].line };
	keep_names(c,
		   &(struct symcache_entry){
			   .addr = at.addr, .bytes = at.bytes, .count = (uint16_t)count, .origin = (uint16_t)origin },
		   out);
	c->dirty = true;
}

static int entries_by_place(const void *a, const void *b)
{
	const struct symcache_entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Those that lie in another are no longer needed. Their frames' strings stay. */
static size_t keep_apart(struct symcache *c, struct buf *frames)
{
	size_t kept = 0, frame_count = 0;

	qsort(c->entries, c->entry_count, sizeof(*c->entries), entries_by_place);
	for (size_t i = 0; i < c->entry_count; i++) {
		struct symcache_entry e = c->entries[i], *last = kept ? &c->entries[kept - 1] : NULL;

		if (last && e.addr - last->addr < last->bytes)
			continue;
		buf_add(frames, &c->frames[e.first], e.count * sizeof(*c->frames));
		e.first = (uint32_t)frame_count;
		frame_count += e.count;
		c->entries[kept++] = e;
	}
	c->entry_count = kept;
	return frame_count;
}

static void save_file(struct symcache *c)
{
	struct symcache_head h = { .magic = SYMCACHE_MAGIC };
	AUTO_BUF(b);
	AUTO_BUF(frames);
	size_t head = sizeof(h);

	if (!c->entry_count)
		return;
	h.frames = (uint32_t)keep_apart(c, &frames);
	h.entries = (uint32_t)c->entry_count;
	buf_add(&b, &h, head);
	buf_add(&b, c->entries, c->entry_count * sizeof(*c->entries));
	buf_add(&b, frames.data, frames.len);
	head = b.len;
	for (uint32_t id = 1; id <= c->strings.count; id++) {
		size_t len;
		const char *s = intern_get(&c->strings, id, &len);

		buf_add(&b, s, len + 1);
	}
	if (!c->strings.count)
		buf_addch(&b, '\0');
	h.string_bytes = (uint32_t)(b.len - head);
	if (buf_failed(&b) || buf_failed(&frames) || b.len > MAX_FILE)
		return;
	memcpy(b.data, &h, sizeof(h));
	h.xxh64 = XXH64(b.data + sizeof(h), b.len - sizeof(h), 0);
	memcpy(b.data, &h, sizeof(h));
	cachedir_write(c->dir, c->file, &b, MAX_TOTAL);
}

void symcache_close(struct symcache *c)
{
	if (!c)
		return;
	if (c->dirty)
		save_file(c);
	close(c->dir);
	intern_release(&c->strings);
	free(c->entries);
	free(c->frames);
	free(c);
}
