// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <elfutils/libdwelf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exact/convert.h"
#include "exact/stream.h"

#define MAX_STRINGS (1u << 26)

struct conv {
	const uint8_t *data;
	size_t size;
	size_t snap_begin, snap_end; /* of the snapshot that counts */
	struct tool_string { uint32_t id; char *text; } *strings; /* by the tool's id */
	uint32_t string_cap;
	struct store_writer *w;
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

static uint32_t string_id(const struct conv *c, uint32_t id)
{
	return id && id < c->string_cap ? c->strings[id].id : 0;
}

static int take_string(struct conv *c, const uint8_t *rec, uint32_t n)
{
	uint32_t id, cap = c->string_cap;

	if (n < 4)
		return 0;
	memcpy(&id, rec, 4);
	if (id > MAX_STRINGS)
		return 0;
	while (id >= cap)
		cap = cap ? cap * 2 : 4096;
	if (cap > c->string_cap) {
		void *p = realloc(c->strings, cap * sizeof(*c->strings));

		if (!p)
			return -ENOMEM;
		c->strings = p;
		memset(c->strings + c->string_cap, 0, (cap - c->string_cap) * sizeof(*c->strings));
		c->string_cap = cap;
	}
	free(c->strings[id].text);
	c->strings[id].text = strndup((const char *)rec + 4, n - 4);
	c->strings[id].id = store_string(c->w, c->strings[id].text);
	return c->strings[id].text ? 0 : -ENOMEM;
}

static void build_id_of(const char *path, struct fmt_module *m)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
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

/* The strings a record refers to, and what only the driver can add. */
static int take_fixed(struct conv *c, uint16_t section, const uint8_t *rec, uint32_t size)
{
	union {
		struct fmt_function fn;
		struct fmt_module mod;
		struct fmt_object obj;
		uint8_t raw[256];
	} u;

	if (size > sizeof(u))
		return 0;
	memset(&u, 0, sizeof(u));
	memcpy(&u, rec, size);
	switch (section) {
	case FMT_FUNCTION:
		u.fn.name = string_id(c, u.fn.name);
		u.fn.object = string_id(c, u.fn.object);
		u.fn.file = string_id(c, u.fn.file);
		c->res->functions++;
		break;
	case FMT_MODULE: {
		const char *path = u.mod.path < c->string_cap ? c->strings[u.mod.path].text : NULL;

		u.mod.path = string_id(c, u.mod.path);
		if (u.mod.kind == FMT_MOD_FILE && path)
			build_id_of(path, &u.mod);
		break;
	}
	case FMT_OBJECT:
		u.obj.name = string_id(c, u.obj.name);
		break;
	case FMT_X_RUN:
		memcpy(&c->res->run, rec, size < sizeof(c->res->run) ? size : sizeof(c->res->run));
		c->res->has_run = true;
		break;
	case FMT_X_EDGE:
		c->res->edges++;
		break;
	case FMT_ACCESS:
	case FMT_SAMPLE:
		c->res->samples++;
		break;
	}
	return store_put(c->w, section, &u, size);
}

static int take_var(struct conv *c, uint16_t section, const uint8_t *rec, uint32_t n)
{
	uint8_t *copy;
	int err;

	switch (section) {
	case FMT_STRING:
		return take_string(c, rec, n);
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
			in.file = string_id(c, in.file);
			memcpy(copy + at, &in, sizeof(in));
		}
		err = store_put_var(c->w, section, copy, n, NULL, 0);
		free(copy);
		return err;
	case FMT_STACK:
	case FMT_WINDOW:
		return store_put_var(c->w, section, rec, n, NULL, 0);
	default:
		return 0;
	}
}

static int take_block(struct conv *c, const struct xs_block *b, const uint8_t *body)
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

static int walk(struct conv *c, struct err *e)
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
		if (b.section == XS_SNAP_END) {
			inside = false;
			continue;
		}
		/* Strings may be met for the first time inside a snapshot that does not count. */
		if (inside && b.section != FMT_STRING && b.section != FMT_FUNCTION && b.section != FMT_MODULE &&
		    (pos <= c->snap_begin || pos > c->snap_end))
			continue;
		err = take_block(c, &b, body);
		if (err)
			return err_set(e, err, "cannot write the profile: %s", strerror(-err));
	}
	return 0;
}

int exact_convert(const char *stream, struct store_writer *w, struct exact_result *res, struct err *e)
{
	struct conv c = { .w = w, .res = res };
	struct stat st;
	void *map = MAP_FAILED;
	int err = 0, fd = open(stream, O_RDONLY | O_CLOEXEC);

	memset(res, 0, sizeof(*res));
	if (fd < 0 || fstat(fd, &st))
		err = err_set(e, -errno, "cannot read what the exact engine wrote (%s): %s", stream, strerror(errno));
	else if (st.st_size == 0)
		err = err_set(e, -ENODATA, "the exact engine wrote nothing: the program did not start under it");
	if (!err) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED)
			err = err_set(e, -errno, "cannot read %s: %s", stream, strerror(errno));
	}
	if (!err) {
		c.data = map;
		c.size = st.st_size;
		find_snapshot(&c);
		err = walk(&c, e);
	}
	if (map != MAP_FAILED)
		munmap(map, st.st_size);
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; i < c.string_cap; i++)
		free(c.strings[i].text);
	free(c.strings);
	return err;
}
