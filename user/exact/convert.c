// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <elfutils/libdwelf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exact/convert.h"
#include "kmod-free/elffile.h"
#include "exact/select.h"
#include "exact/stream.h"
#include "symbol/demangle.h"
#include "symbol/symbols.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/map.h"
#include "util/openfile.h"

struct conv {
	const uint8_t *data;
	size_t size;
	size_t snap_begin, snap_end; /* of the snapshot that counts */
	struct tool_string {
		uint32_t id;
		char *text;
	} * strings;
	size_t string_count, string_cap;
	struct map string_at; /* the tool's id -> index; an id may be any number in a damaged stream */
	/* functions' names as the rest of the product gives them */
	struct place {
		uint32_t function, module;
		uint64_t vaddr;
		char *name;
	} * places;
	size_t place_count, place_cap;
	struct mod {
		uint32_t id, kind;
		const char *path;
		uint8_t build_id[20];
		uint32_t build_id_len;
	} * mods;
	size_t mod_count;
	char **names; /* by the tool's function id */
	uint32_t name_cap;
	struct store_writer *w;
	struct exact_select *select;
	struct exact_result *res;
};

static bool block_at(const struct conv *c, size_t pos, struct xs_block *b)
{
	if (pos > c->size || c->size - pos < sizeof(*b))
		return false;
	memcpy(b, c->data + pos, sizeof(*b));
	return b->magic == XS_MAGIC && b->bytes <= c->size - pos - sizeof(*b) &&
	       (!b->rec_size || (uint64_t)b->rec_size * b->count == b->bytes);
}

/* Blocks start at multiples of eight within a buffer; between buffers there is no padding. */
static bool next_block(const struct conv *c, size_t *pos, struct xs_block *b, const uint8_t **body)
{
	for (size_t pad = 0; pad < 8; pad++)
		if (block_at(c, *pos + pad, b)) {
			*body = c->data + *pos + pad + sizeof(*b);
			*pos += pad + sizeof(*b) + b->bytes;
			return true;
		}
	return false;
}

static void find_snapshot(struct conv *c)
{
	size_t pos = 0, begin = 0;
	struct xs_block b;
	const uint8_t *body;

	while (next_block(c, &pos, &b, &body)) {
		if (b.section == XS_SNAP_BEGIN) {
			begin = pos;
		} else if (b.section == XS_SNAP_END && begin) {
			size_t n = b.bytes > 4 ? b.bytes - 4 : 0;

			c->snap_begin = begin;
			c->snap_end = pos;
			if (n >= sizeof(c->res->why))
				n = sizeof(c->res->why) - 1;
			memcpy(c->res->why, body + 4, n);
			c->res->why[n] = 0;
			begin = 0;
		}
	}
	c->res->torn = pos + 8 < c->size;
}

static uint32_t converted_string(const struct conv *c, uint32_t id)
{
	const uint64_t *at = id ? map_get(&c->string_at, id) : NULL;

	return at ? c->strings[*at].id : 0;
}

static const char *string_text(const struct conv *c, uint32_t id)
{
	const uint64_t *at = id ? map_get(&c->string_at, id) : NULL;

	return at ? c->strings[*at].text : NULL;
}

static const char *object_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static int take_string(struct conv *c, const uint8_t *rec, uint32_t n)
{
	uint64_t *at;
	char *text;
	uint32_t id;

	if (n < 4)
		return 0;
	memcpy(&id, rec, 4);
	if (!id || map_get(&c->string_at, id))
		return 0;
	text = strndup((const char *)rec + 4, n - 4);
	at = text && GROW(c->strings, c->string_count, c->string_cap, 4096) ? map_put(&c->string_at, id, NULL) : NULL;
	if (!at) {
		free(text);
		return -ENOMEM;
	}
	*at = c->string_count;
	c->strings[c->string_count++] = (struct tool_string){ store_string(c->w, text), text };
	return 0;
}

static void build_id_of(const char *path, struct fmt_module *m)
{
	struct stat st;
	int fd = openfile_regular(path, &st);
	Elf *elf;

	if (fd < 0)
		return;
	elf = elffile_begin(fd);
	if (elf) {
		const void *id;
		ssize_t n = dwelf_elf_gnu_build_id(elf, &id);

		if (n > 0 && (size_t)n <= sizeof(m->build_id)) {
			memcpy(m->build_id, id, n);
			m->build_id_len = n;
		}
		elf_end(elf);
	}
	close(fd);
}

/* What the tool writes, and how large it is: anything else is damage. */
static uint32_t record_size_of(uint32_t section)
{
	switch (section) {
	case FMT_FUNCTION: return sizeof(struct fmt_function);
	case FMT_MODULE: return sizeof(struct fmt_module);
	case FMT_MAPPING: return sizeof(struct fmt_mapping);
	case FMT_OBJECT: return sizeof(struct fmt_object);
	case FMT_COUNTER: return sizeof(struct fmt_counter);
	case FMT_SAMPLE: return sizeof(struct fmt_sample);
	case FMT_ACCESS: return sizeof(struct fmt_access);
	case FMT_SYSIO: return sizeof(struct fmt_sysio);
	case FMT_X_RUN: return sizeof(struct fmt_x_run);
	case FMT_X_FUNC: return sizeof(struct fmt_x_func);
	case FMT_X_EDGE: return sizeof(struct fmt_x_edge);
	case FMT_X_NODE: return sizeof(struct fmt_x_node);
	case FMT_X_USE: return sizeof(struct fmt_x_use);
	case FMT_X_OBJECT: return sizeof(struct fmt_x_object);
	case FMT_X_SLICE: return sizeof(struct fmt_x_slice);
	case FMT_X_SUBTREE: return sizeof(struct fmt_x_subtree);
	case FMT_X_SUBTREE_KE: return sizeof(struct fmt_x_subtree_ke);
	case FMT_X_PATH: return sizeof(struct fmt_x_path);
	case FMT_X_PATH_EDGE: return sizeof(struct fmt_x_path_edge);
	case FMT_X_REACH: return sizeof(struct fmt_x_reach);
	case FMT_X_EXTENT: return sizeof(struct fmt_x_extent);
	case FMT_X_MAP: return sizeof(struct fmt_x_map);
	default: return 0;
	}
}

/* "malloc in FUNCTION (file:line)": C++ names in it as people write them. */
static uint32_t allocation_name(const struct conv *c, uint32_t id)
{
	const char *s = string_text(c, id);
	AUTO_BUF(out);
	char word[1024], plain[2048];

	if (!s || !strstr(s, "_Z"))
		return converted_string(c, id);
	while (*s) {
		size_t n = strcspn(s, " ");

		if (!strncmp(s, "_Z", 2) && n < sizeof(word)) {
			memcpy(word, s, n);
			word[n] = 0;
			buf_addstr(&out, demangle(word, plain, sizeof(plain)));
		} else {
			buf_add(&out, s, n);
		}
		s += n;
		if (*s)
			buf_addch(&out, *s++);
	}
	return buf_failed(&out) ? converted_string(c, id) : store_string(c->w, out.data);
}

/* The strings a record refers to, and what only the driver can add. */
static int take_fixed(struct conv *c, uint32_t section, const uint8_t *rec, uint32_t size)
{
	union {
		struct fmt_function fn;
		struct fmt_module mod;
		struct fmt_object obj;
		struct fmt_counter counter;
		uint8_t raw[256];
	} u;

	if (size > sizeof(u) || size != record_size_of(section))
		return 0;
	memset(&u, 0, sizeof(u));
	memcpy(&u, rec, size);
	switch (section) {
	case FMT_FUNCTION:
		if (c->select && string_text(c, u.fn.name)) {
			const char *linkage = string_text(c, u.fn.name);

			exact_select_met(c->select, linkage,
					 u.fn.id < c->name_cap && c->names[u.fn.id] ? c->names[u.fn.id] : linkage);
		}
		u.fn.object = store_string(c->w, object_name(string_text(c, u.fn.object)));
		u.fn.name = u.fn.id < c->name_cap && c->names[u.fn.id] ? store_string(c->w, c->names[u.fn.id])
								       : converted_string(c, u.fn.name);
		u.fn.file = converted_string(c, u.fn.file);
		c->res->functions++;
		break;
	case FMT_MODULE: {
		const char *path = string_text(c, u.mod.path);

		u.mod.path = converted_string(c, u.mod.path);
		if (u.mod.kind == FMT_MOD_FILE && path)
			build_id_of(path, &u.mod);
		break;
	}
	case FMT_OBJECT: u.obj.name = allocation_name(c, u.obj.name); break;
	case FMT_COUNTER: u.counter.name = converted_string(c, u.counter.name); break;
	case FMT_X_RUN:
		memcpy(&c->res->run, rec, size);
		c->res->has_run = true;
		break;
	case FMT_X_SUBTREE: {
		struct exact_subtree *s;

		if (!GROW_ONE(c->res->subtrees, c->res->subtree_count))
			return -ENOMEM;
		s = &c->res->subtrees[c->res->subtree_count++];
		memcpy(&s->rec, rec, size);
		snprintf(s->name, sizeof(s->name), "%s",
			 s->rec.function < c->name_cap && c->names[s->rec.function] ? c->names[s->rec.function] : "?");
		break;
	}
	case FMT_X_EDGE: c->res->edges++; break;
	case FMT_ACCESS:
	case FMT_SAMPLE: c->res->samples++; break;
	}
	return store_put(c->w, section, &u, size);
}

static int take_var(struct conv *c, uint32_t section, const uint8_t *rec, uint32_t n)
{
	uint8_t *copy;
	int err;

	switch (section) {
	case FMT_STRING: return take_string(c, rec, n);
	case FMT_META:
		if (n && !rec[n - 1] && memchr(rec, 0, n - 1))
			return store_meta(c->w, (const char *)rec, (const char *)rec + strlen((const char *)rec) + 1);
		return 0;
	case FMT_SYMBOL:
		copy = malloc(n + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, rec, n);
		for (size_t at = sizeof(struct fmt_symbol); at + sizeof(struct fmt_inline) <= n;
		     at += sizeof(struct fmt_inline)) {
			struct fmt_inline in;

			memcpy(&in, copy + at, sizeof(in));
			in.file = converted_string(c, in.file);
			memcpy(copy + at, &in, sizeof(in));
		}
		err = store_put_var(c->w, section, copy, n, NULL, 0);
		free(copy);
		return err;
	case FMT_STACK:
	case FMT_WINDOW:
	case FMT_WINDOW_CALLS: return n < 8 ? 0 : store_put_var(c->w, section, rec, n, NULL, 0);
	default: return 0;
	}
}

static int take_each_record(struct conv *c, const struct xs_block *b, const uint8_t *body)
{
	size_t at = 0;
	int err = 0;

	for (uint32_t i = 0; i < b->count && !err; i++) {
		if (b->rec_size) {
			err = take_fixed(c, b->section, body + (size_t)i * b->rec_size, b->rec_size);
		} else {
			uint32_t n;

			if (b->bytes - at < 4)
				break;
			memcpy(&n, body + at, 4);
			at += 4;
			if (n > b->bytes - at)
				break;
			err = take_var(c, b->section, body + at, n);
			at += n;
		}
	}
	return err;
}

/* ---- names ---- */

struct naming_run {
	struct conv *c;
	size_t first;
};

static void on_name(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
		    enum symbol_origin origin)
{
	const struct naming_run *r = ctx;
	struct place *p = &r->c->places[r->first + index];

	/* what the file does not tell, the tool may have seen in memory: keep its name then */
	if (count && origin != SYM_OFFSET) {
		free(p->name);
		p->name = strdup(chain[count - 1].name);
	}
}

static int by_module_and_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int collect_places(struct conv *c, const struct xs_block *b, const uint8_t *body)
{
	/* records of no size: as many as the block cares to claim */
	if (!b->rec_size)
		return 0;
	for (uint32_t i = 0; i < b->count; i++) {
		if (b->section == XS_FN_PLACE && b->rec_size == sizeof(struct xs_place)) {
			struct xs_place p;

			memcpy(&p, body + (size_t)i * sizeof(p), sizeof(p));
			if (!PUSH(c->places, c->place_count, c->place_cap, 1024,
				  (struct place){ p.function, p.module, p.vaddr, NULL }))
				return -ENOMEM;
		} else if (b->section == FMT_MODULE && b->rec_size == sizeof(struct fmt_module)) {
			struct fmt_module m;
			struct mod *n;

			if (!GROW_ONE(c->mods, c->mod_count))
				return -ENOMEM;
			n = c->mods;
			memcpy(&m, body + (size_t)i * sizeof(m), sizeof(m));
			n[c->mod_count] = (struct mod){ .id = m.id, .kind = m.kind, .path = string_text(c, m.path) };
			if (m.kind == FMT_MOD_FILE && n[c->mod_count].path) {
				build_id_of(n[c->mod_count].path, &m);
				memcpy(n[c->mod_count].build_id, m.build_id, sizeof(m.build_id));
				n[c->mod_count].build_id_len = m.build_id_len;
			}
			c->mod_count++;
		}
	}
	return 0;
}

static int symbolize_places(struct conv *c)
{
	struct symbols *s = symbols_new(true, true);
	uint64_t *addrs = calloc(c->place_count + 1, sizeof(*addrs));
	uint32_t top = 0;
	int err = s && addrs ? 0 : -ENOMEM;

	if (c->place_count)
		qsort(c->places, c->place_count, sizeof(*c->places), by_module_and_address);
	for (size_t i = 0, j; !err && i < c->place_count; i = j) {
		struct naming_run run = { c, i };
		const struct mod *m = NULL;

		for (j = i; j < c->place_count && c->places[j].module == c->places[i].module; j++)
			addrs[j - i] = c->places[j].vaddr;
		for (size_t k = 0; k < c->mod_count; k++)
			if (c->mods[k].id == c->places[i].module)
				m = &c->mods[k];
		if (m && m->path && m->kind == FMT_MOD_FILE)
			symbols_resolve_path(s, m->path, m->build_id, m->build_id_len, addrs, j - i, on_name, &run);
	}
	for (size_t i = 0; i < c->place_count; i++)
		if (c->places[i].function < 1u << 20 && c->places[i].function > top)
			top = c->places[i].function;
	c->names = calloc(top + 1, sizeof(*c->names));
	c->name_cap = c->names ? top + 1 : 0;
	for (size_t i = 0; i < c->place_count; i++)
		if (c->places[i].function < c->name_cap)
			c->names[c->places[i].function] = c->places[i].name;
	symbols_free(s);
	free(addrs);
	return err ? err : c->names ? 0 : -ENOMEM;
}

/* Strings, places and modules first: names are wanted before the first function is written. */
static int name_and_write_functions(struct conv *c)
{
	size_t pos = 0;
	struct xs_block b;
	const uint8_t *body;
	int err = 0;

	while (!err && next_block(c, &pos, &b, &body)) {
		if (b.section == FMT_STRING)
			err = take_each_record(c, &b, body);
		else if (b.section == XS_FN_PLACE || b.section == FMT_MODULE)
			err = collect_places(c, &b, body);
	}
	return err ? err : symbolize_places(c);
}

static int walk_blocks(struct conv *c, struct err *e)
{
	size_t pos = 0;
	bool inside = false;
	struct xs_block b;
	const uint8_t *body;

	while (next_block(c, &pos, &b, &body)) {
		int err;

		if (b.section == XS_SNAP_BEGIN) {
			inside = true;
			continue;
		}
		if (b.section == XS_SNAP_END || b.section == XS_FN_PLACE || b.section == FMT_STRING) {
			inside = inside && b.section != XS_SNAP_END;
			continue;
		}
		/* Functions may be met for the first time inside a snapshot that does not count. */
		if (inside && b.section != FMT_FUNCTION && b.section != FMT_MODULE &&
		    (pos <= c->snap_begin || pos > c->snap_end))
			continue;
		err = take_each_record(c, &b, body);
		if (err)
			return err_set(e, err, "cannot write the profile: %s", strerror(-err));
	}
	return 0;
}

void exact_result_release(struct exact_result *res)
{
	free(res->subtrees);
	res->subtrees = NULL;
	res->subtree_count = 0;
}

int exact_convert(int fd, struct store_writer *w, struct exact_select *select, struct exact_result *res, struct err *e)
{
	struct conv c = { .w = w, .select = select, .res = res };
	struct stat st;
	void *map = MAP_FAILED;
	int err = 0;

	memset(res, 0, sizeof(*res));
	if (fstat(fd, &st))
		err = err_set(e, -errno, "cannot read what the exact engine wrote: %s", strerror(errno));
	else if (st.st_size == 0)
		err = err_set(e, -ENODATA, "the exact engine wrote nothing: the program did not start under it");
	if (!err) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			err = err_set(e, -errno, "cannot read what the exact engine wrote: %s", strerror(errno));
	}
	if (!err) {
		c.data = map;
		c.size = st.st_size;
		find_snapshot(&c);
		err = name_and_write_functions(&c);
		if (err)
			err = err_set(e, err, "cannot name functions: %s", strerror(-err));
		else
			err = walk_blocks(&c, e);
	}
	if (map != MAP_FAILED)
		munmap(map, st.st_size);
	for (size_t i = 0; i < c.string_count; i++)
		free(c.strings[i].text);
	free(c.strings);
	map_release(&c.string_at);
	for (size_t i = 0; i < c.place_count; i++)
		free(c.places[i].name);
	free(c.places);
	free(c.mods);
	free(c.names);
	return err;
}
