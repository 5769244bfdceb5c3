// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/swell.h"
#include "store/turned.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/map.h"
#include "util/newfile.h"

#define SECTIONS 128            /* above every number of enum fmt_section */
#define TURNED_LEAST 256        /* bytes of a chunk: of less nothing is gained */
#define CHUNK_TARGET (1u << 20) /* a section is written out when it holds this much */

struct section {
	struct buf bytes;
	uint32_t rec_size, count;
};

struct store_writer {
	struct newfile file;
	struct err first; /* sticky */
	struct section sections[SECTIONS];
	struct intern strings;
	struct buf packed;
	struct buf turned, turned_packed;
	struct buf metas; /* as they were put, each after its length: store_copy_meta() */
	ZSTD_CCtx *zstd;
	struct map said; /* section and key -> hash of the last record of store_put_changed() */
	uint64_t seq, written;
	uint64_t unpacks_to; /* as a reader counts it */
};

static int write_all(struct store_writer *w, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(w->file.fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int code = n ? errno : EIO;

			return err_set(&w->first, -code, "writing the profile failed: %s%s", strerror(code),
				       code == ENOSPC ? " (what was written before is readable)" : "");
		}
		p += n;
		len -= (size_t)n;
		w->written += (uint64_t)n;
	}
	return 0;
}

static unsigned to_newfile(unsigned flags)
{
	return (flags & STORE_KEEP_OLD ? NEWFILE_KEEP_OLD : 0) | (flags & STORE_WHEN_DONE ? 0 : NEWFILE_AT_ONCE);
}

struct store_writer *store_create(const char *path, unsigned flags, struct err *e)
{
	struct store_writer *w = calloc(1, sizeof(*w));
	struct fmt_file head = {
		.magic = FMT_MAGIC,
		.major = FMT_MAJOR,
		.minor = FMT_MINOR,
		.header_size = sizeof(head),
	};

	if (!w) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	if (!(flags & STORE_TIMELESS)) {
		head.start_realtime_ns = clock_ns(CLOCK_REALTIME);
		head.start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	}
	if (newfile_open(&w->file, AT_FDCWD, path, to_newfile(flags), e)) {
		free(w);
		return NULL;
	}
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd || write_all(w, &head, sizeof(head))) {
		err_set(e, w->first.code ? w->first.code : -ENOMEM, "%s: %s", path,
			w->first.code ? w->first.text : "out of memory");
		store_abandon(w);
		return NULL;
	}
	return w;
}

/* Whether a reader takes the file for whole once these bytes are in it, instead of for damage. Each chunk keeps to
 * that, so what is left of a file that is cut off does, too. */
static bool may_pack(const struct store_writer *w, const struct section *s, size_t packed)
{
	return w->unpacks_to + swell_of(s->bytes.len, s->rec_size, s->count) <= swell_limit(w->written + packed);
}

/* Into turned_packed, behind room for the header; its size, or 0 if that is not less than `than`. */
static size_t pack_turned(struct store_writer *w, const struct section *s, size_t than)
{
	size_t len = s->bytes.len, bound = ZSTD_compressBound(len), n;

	buf_clear(&w->turned);
	buf_clear(&w->turned_packed);
	if (len < TURNED_LEAST || !buf_reserve(&w->turned, len) ||
	    !buf_reserve(&w->turned_packed, bound + sizeof(struct fmt_chunk)))
		return 0;
	turned_make((uint8_t *)w->turned.data, (const uint8_t *)s->bytes.data, len, turned_width(s->rec_size));
	n = ZSTD_compressCCtx(w->zstd, w->turned_packed.data + sizeof(struct fmt_chunk), bound, w->turned.data, len, 1);
	return ZSTD_isError(n) || n >= than || n >= len || !may_pack(w, s, n) ? 0 : n;
}

static int write_section(struct store_writer *w, unsigned id)
{
	struct section *s = &w->sections[id];
	struct fmt_chunk c = {
		.magic = FMT_CHUNK_MAGIC,
		.section = (uint16_t)id,
		.rec_size = s->rec_size,
		.count = s->count,
		.raw_size = (uint32_t)s->bytes.len,
	};
	const void *data = s->bytes.data;
	size_t bound = ZSTD_compressBound(s->bytes.len), n, turned;
	struct buf *out = &w->packed;
	int err;

	if (!s->count)
		return 0;
	buf_clear(&w->packed);
	if (!buf_reserve(&w->packed, bound + sizeof(c)))
		return err_set(&w->first, -ENOMEM, "out of memory");
	n = ZSTD_compressCCtx(w->zstd, w->packed.data + sizeof(c), bound, data, s->bytes.len, 1);
	if (ZSTD_isError(n) || n >= s->bytes.len || !may_pack(w, s, n)) {
		n = s->bytes.len;
		memcpy(w->packed.data + sizeof(c), data, n);
		c.flags = FMT_RAW;
	}
	turned = pack_turned(w, s, n);
	if (turned) {
		n = turned;
		out = &w->turned_packed;
		c.flags = FMT_RAW | FMT_TURNED;
	}
	c.stored_size = (uint32_t)n;
	c.seq = w->seq++;
	c.xxh64 = XXH64(out->data + sizeof(c), n, XXH64(&c, offsetof(struct fmt_chunk, xxh64), 0));
	memcpy(out->data, &c, sizeof(c));
	err = write_all(w, out->data, sizeof(c) + n);
	w->unpacks_to += swell_of(s->bytes.len, s->rec_size, s->count);
	buf_clear(&s->bytes);
	s->count = 0;
	return err;
}

static int put_in_section(struct store_writer *w, unsigned id, uint32_t rec_size, const void *head, uint32_t head_size,
			  const void *tail, uint32_t tail_size)
{
	struct section *s = &w->sections[id];
	uint32_t total = head_size + tail_size;

	if (w->first.code)
		return w->first.code;
	if (id >= SECTIONS || (s->count && s->rec_size != rec_size) || total > CHUNK_TARGET * 16)
		return err_set(&w->first, -EINVAL, "internal: bad record for section %u", id);
	s->rec_size = rec_size;
	if (!rec_size)
		buf_add(&s->bytes, &total, sizeof(total));
	buf_add(&s->bytes, head, head_size);
	if (tail_size)
		buf_add(&s->bytes, tail, tail_size);
	s->count++;
	if (buf_failed(&s->bytes))
		return err_set(&w->first, -ENOMEM, "out of memory");
	if (s->bytes.len >= CHUNK_TARGET) {
		/* what a record refers to comes before it in the file */
		if (id != FMT_STRING && write_section(w, FMT_STRING))
			return w->first.code;
		return write_section(w, id);
	}
	return 0;
}

int store_put(struct store_writer *w, enum fmt_section section, const void *rec, uint32_t rec_size)
{
	return put_in_section(w, section, rec_size, rec, rec_size, NULL, 0);
}

int store_put_changed(struct store_writer *w, enum fmt_section section, uint32_t key, const void *rec,
		      uint32_t rec_size)
{
	uint64_t hash = XXH64(rec, rec_size, 0);
	uint64_t *said = map_put(&w->said, (uint64_t)section << 32 | key, NULL);

	if (said && *said == hash)
		return 0;
	if (said)
		*said = hash;
	return store_put(w, section, rec, rec_size);
}

bool store_waits(const struct store_writer *w)
{
	for (unsigned i = 0; i < SECTIONS; i++)
		if (w->sections[i].count)
			return true;
	return false;
}

int store_put_var(struct store_writer *w, enum fmt_section section, const void *head, uint32_t head_size,
		  const void *tail, uint32_t tail_size)
{
	return put_in_section(w, section, 0, head, head_size, tail, tail_size);
}

uint32_t store_string(struct store_writer *w, const char *s)
{
	bool added;
	uint32_t id, len;

	if (!s)
		return 0;
	len = (uint32_t)strnlen(s, 1u << 16);
	id = intern_add(&w->strings, s, len, &added);
	if (id && added)
		put_in_section(w, FMT_STRING, 0, &id, sizeof(id), s, len);
	return id;
}

const char *store_text(const struct store_writer *w, uint32_t id)
{
	return id ? intern_get(&w->strings, id, NULL) : NULL;
}

int store_meta(struct store_writer *w, const char *key, const char *value)
{
	buf_add(&w->metas, key, strlen(key) + 1);
	buf_add(&w->metas, value, strlen(value) + 1);
	return store_put_var(w, FMT_META, key, (uint32_t)strlen(key) + 1, value, (uint32_t)strlen(value) + 1);
}

int store_copy_meta(struct store_writer *w, const struct store_writer *from)
{
	int err = buf_failed(&from->metas) ? err_set(&w->first, -ENOMEM, "out of memory") : 0;

	for (size_t at = 0; at < from->metas.len && !err;) {
		const char *key = from->metas.data + at, *value = key + strlen(key) + 1;

		at += strlen(key) + strlen(value) + 2;
		err = store_meta(w, key, value);
	}
	return err;
}

int store_metaf(struct store_writer *w, const char *key, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;
	int n, err;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -ENOMEM;
	err = store_meta(w, key, text);
	free(text);
	return err;
}

int store_flush(struct store_writer *w, struct err *e)
{
	/* strings first, then in section order: definitions have lower numbers than their users */
	if (!w->first.code)
		write_section(w, FMT_STRING);
	for (unsigned i = 0; i < SECTIONS && !w->first.code; i++)
		write_section(w, i);
	if (w->first.code && e)
		*e = w->first;
	return w->first.code;
}

uint64_t store_bytes(const struct store_writer *w)
{
	return w->written;
}

void store_abandon(struct store_writer *w)
{
	if (!w)
		return;
	newfile_drop(&w->file);
	for (unsigned i = 0; i < SECTIONS; i++)
		buf_release(&w->sections[i].bytes);
	buf_release(&w->packed);
	buf_release(&w->turned);
	buf_release(&w->turned_packed);
	buf_release(&w->metas);
	intern_release(&w->strings);
	map_release(&w->said);
	ZSTD_freeCCtx(w->zstd);
	free(w);
}

int store_close(struct store_writer *w, struct err *e)
{
	int err;

	if (!w)
		return 0;
	err = store_flush(w, e);
	if (!err)
		err = newfile_commit(&w->file, e);
	store_abandon(w);
	return err;
}
