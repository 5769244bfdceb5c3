// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symcache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "symbol/dwfl.h"
#include "util/buf.h"
#include "util/cachedir.h"
#include "util/grow.h"
#include "util/map.h"

#define MAGIC 0x3330434d59534341ull /* "ACSYMC03": changes with the layout, and with what names are given for */
#define MAX_FILE (32u << 20)        /* bytes; more is not kept; by hand */
#define MAX_TOTAL (256ull << 20)    /* bytes of all files, the oldest of which go first; by hand */

/* File: head, entries, frames, string bytes. Offsets into the strings; 0 is the empty one = none. */
struct symcache_head {
	uint64_t magic, xxh64; /* of all that follows this struct */
	uint32_t entries, frames, string_bytes, pad;
};

struct symcache_entry {
	uint64_t addr;
	uint32_t first;
	uint16_t count, origin; /* enum symbol_origin; SYM_OFFSET: no name, and no frame */
};

struct symcache_frame {
	uint32_t name, decl_file, decl_line, file, line;
};

struct symcache {
	int dir;
	char file[64];    /* build-id, content */
	struct map index; /* addr -> entry number + 1 */
	struct symcache_entry *entries;
	struct symcache_frame *frames;
	size_t entry_count, entry_cap, frame_count, frame_cap;
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

static void insert_names(struct symcache *c, uint64_t addr, const struct symbol_frame *frames, unsigned count,
			 unsigned origin)
{
	bool added;
	uint64_t *slot;

	if (!may_be_kept(count, origin) || !GROW(c->entries, c->entry_count, c->entry_cap, 64) ||
	    !GROW_TO(c->frames, c->frame_count + count, c->frame_cap, 64))
		return;
	slot = map_put(&c->index, addr, &added);
	if (!slot || !added)
		return;
	c->entries[c->entry_count] =
		(struct symcache_entry){ addr, (uint32_t)c->frame_count, (uint16_t)count, (uint16_t)origin };
	*slot = ++c->entry_count;
	for (unsigned i = 0; i < count; i++)
		c->frames[c->frame_count++] =
			(struct symcache_frame){ keep_string(c, frames[i].name), keep_string(c, frames[i].decl_file),
						 frames[i].decl_line, keep_string(c, frames[i].file), frames[i].line };
}

static const char *text_at(const char *strings, uint32_t size, uint32_t at)
{
	return at && at < size ? strings + at : NULL;
}

static void load_bytes(struct symcache *c, const uint8_t *data, size_t size)
{
	struct symcache_head h;
	const uint8_t *entries, *frames;
	const char *strings;

	if (size < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	if (h.magic != MAGIC || h.entries > MAX_FILE / sizeof(struct symcache_entry) ||
	    h.frames > MAX_FILE / sizeof(struct symcache_frame) ||
	    sizeof(h) + (uint64_t)h.entries * sizeof(struct symcache_entry) +
			    (uint64_t)h.frames * sizeof(struct symcache_frame) + h.string_bytes !=
		    size ||
	    !h.string_bytes || data[size - 1] || XXH64(data + sizeof(h), size - sizeof(h), 0) != h.xxh64)
		return;
	entries = data + sizeof(h);
	frames = entries + h.entries * sizeof(struct symcache_entry);
	strings = (const char *)frames + h.frames * sizeof(struct symcache_frame);
	for (uint32_t i = 0; i < h.entries; i++) {
		struct symbol_frame out[DWFL_MAX_CHAIN];
		bool named = true;
		struct symcache_entry e;

		memcpy(&e, entries + i * sizeof(e), sizeof(e));
		if (!may_be_kept(e.count, e.origin) || e.first > h.frames || e.count > h.frames - e.first)
			continue;
		for (uint32_t k = 0; k < e.count; k++) {
			struct symcache_frame f;

			memcpy(&f, frames + (e.first + k) * sizeof(f), sizeof(f));
			out[k] = (struct symbol_frame){ text_at(strings, h.string_bytes, f.name),
							text_at(strings, h.string_bytes, f.decl_file), f.decl_line,
							text_at(strings, h.string_bytes, f.file), f.line };
			named &= out[k].name != NULL;
		}
		if (named) /* else it would only stand in the way of a good one */
			insert_names(c, e.addr, out, e.count, e.origin);
	}
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
	const uint64_t *slot = c ? map_get(&c->index, addr) : NULL;
	const struct symcache_entry *e = slot ? &c->entries[*slot - 1] : NULL;

	*origin = 0;
	if (!e || e->count > max)
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

void symcache_put(struct symcache *c, uint64_t addr, const struct symbol_frame *frames, unsigned count,
		  enum symbol_origin origin)
{
	if (!c)
		return;
	insert_names(c, addr, frames, count, origin);
	c->dirty = true;
}

static void save_file(struct symcache *c)
{
	struct symcache_head h = { .magic = MAGIC,
				   .entries = (uint32_t)c->entry_count,
				   .frames = (uint32_t)c->frame_count };
	uint32_t *offset = calloc(c->strings.count + 1, sizeof(*offset));
	AUTO_BUF(b);
	AUTO_BUF(text);

	buf_addch(&text, '\0');
	for (uint32_t id = 1; offset && id <= c->strings.count; id++) {
		size_t len;
		const char *s = intern_get(&c->strings, id, &len);

		offset[id] = (uint32_t)text.len;
		buf_add(&text, s, len + 1);
	}
	h.string_bytes = (uint32_t)text.len;
	buf_add(&b, &h, sizeof(h));
	buf_add(&b, c->entries, c->entry_count * sizeof(*c->entries));
	for (size_t i = 0; offset && i < c->frame_count; i++) {
		struct symcache_frame f = c->frames[i];

		f.name = offset[f.name];
		f.decl_file = offset[f.decl_file];
		f.file = offset[f.file];
		buf_add(&b, &f, sizeof(f));
	}
	buf_add(&b, text.data, text.len);
	free(offset);
	if (buf_failed(&b) || buf_failed(&text) || b.len > MAX_FILE)
		return;
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
	map_release(&c->index);
	intern_release(&c->strings);
	free(c->entries);
	free(c->frames);
	free(c);
}
