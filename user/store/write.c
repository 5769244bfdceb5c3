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
#define TRIED_TIMES 4           /* as long as what was packed both ways, and both are tried again; by hand */
#define CHUNK_TARGET (1u << 20) /* a section is written out when it holds this much */
#define LOOSE_MOST (1u << 20)   /* bytes that are held to be packed anew: half as many pack to 9 % more; by hand */
#define LOOSE_LEAST 16384       /* bytes: of shorter pieces that stay for seconds only, packing is setup; by hand */
#define LOOSE_LEVEL 1           /* of zstd: what stays for seconds */
#define PACKED_LEVEL 6          /* what stays: 6 % less than of 1, at 2 ms for 256 KB; by hand */

struct write_section {
	struct buf bytes;
	uint32_t rec_size, count;
	size_t loose_len; /* of these so many are in loose chunks as well */
	uint32_t loose_count;
	size_t tried;     /* bytes of the largest piece that was packed both ways; smaller ones are as that was */
	bool turns;       /* it was smaller turned */
	struct buf stale; /* a byte for each record up to the last that is: 1, a later one of its key is there */
};

struct store_writer {
	struct newfile file;
	struct err first; /* sticky */
	struct write_section sections[SECTIONS];
	struct intern strings;
	struct buf out; /* chunks, to be written at once */
	struct buf turned, turned_packed;
	struct buf metas; /* as they were put, each after its length: store_copy_meta() */
	ZSTD_CCtx *zstd;
	struct map said; /* section and key -> hash of the last record of store_put_changed() */
	struct map held; /* the same -> which of its section that is, from 1, of those that are held */
	uint64_t seq, written;
	uint64_t unpacks_to;                         /* as a reader counts it */
	bool loose;                                  /* the file ends with chunks that will be packed anew: */
	uint64_t loose_at, loose_seq, loose_unpacks; /* as `written`, `seq` and `unpacks_to` were before them */
};

static int write_at(struct store_writer *w, const char *p, size_t len, uint64_t at)
{
	while (len) {
		ssize_t n = pwrite(w->file.fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int code = n ? errno : EIO;

			return err_set(&w->first, -code, "writing the profile failed: %s%s", strerror(code),
				       code == ENOSPC ? " (what was written before is readable)" : "");
		}
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_all(struct store_writer *w, const void *data, size_t len)
{
	int err = write_at(w, data, len, w->written);

	w->written += err ? 0 : len;
	return err;
}

static int cut_file(struct store_writer *w, uint64_t at)
{
	if (!ftruncate(w->file.fd, (off_t)at) || w->first.code)
		return w->first.code;
	return err_set(&w->first, -errno, "the profile could not be cut to its size: %s", strerror(errno));
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
		store_undo(w);
		return NULL;
	}
	return w;
}

/* A part of a section: what is to be a chunk. */
struct write_piece {
	char *data;
	size_t len;
	uint32_t rec_size, count;
};

/* Whether a reader takes the file for whole once these bytes are in it, instead of for damage. Each chunk keeps to
 * that, so what is left of a file that is cut off does, too. */
static bool may_pack(const struct store_writer *w, const struct write_piece *s, size_t packed)
{
	return w->unpacks_to + swell_of(s->len, s->rec_size, s->count) <= swell_limit(w->written + w->out.len + packed);
}

/* Into turned_packed; its size, or 0 if that is not less. */
static size_t pack_turned(struct store_writer *w, const struct write_piece *s, int level)
{
	size_t bound = ZSTD_compressBound(s->len), n;

	buf_clear(&w->turned);
	buf_clear(&w->turned_packed);
	if (s->len < TURNED_LEAST || !buf_reserve(&w->turned, s->len) || !buf_reserve(&w->turned_packed, bound))
		return 0;
	turned_make((uint8_t *)w->turned.data, (const uint8_t *)s->data, s->len, turned_width(s->rec_size));
	n = ZSTD_compressCCtx(w->zstd, w->turned_packed.data, bound, w->turned.data, s->len, level);
	return ZSTD_isError(n) || n >= s->len || !may_pack(w, s, n) ? 0 : n;
}

static void seal_chunk(struct fmt_chunk *c, const void *data)
{
	c->xxh64 = XXH64(data, c->stored_size, XXH64(c, offsetof(struct fmt_chunk, xxh64), 0));
}

/* Into `to`; its size, s->len if that is not less. */
static size_t pack_plainly(struct store_writer *w, const struct write_piece *s, char *to, size_t bound, int level)
{
	size_t n = ZSTD_compressCCtx(w->zstd, to, bound, s->data, s->len, level);

	return ZSTD_isError(n) || n >= s->len || !may_pack(w, s, n) ? s->len : n;
}

/* To `out`; level 0: as it is. */
static void add_chunk_of(struct store_writer *w, unsigned id, const struct write_piece *s, int level)
{
	struct fmt_chunk c = {
		.magic = FMT_CHUNK_MAGIC,
		.section = (uint16_t)id,
		.rec_size = s->rec_size,
		.count = s->count,
		.raw_size = (uint32_t)s->len,
		.seq = w->seq++,
	};
	struct write_section *of = &w->sections[id];
	size_t bound = ZSTD_compressBound(s->len), n = level ? SIZE_MAX : s->len, turned = 0;
	bool rises = level && s->len >= TURNED_LEAST && steps_rise((const uint8_t *)s->data, s->len, s->rec_size);
	bool both = level && s->len > of->tried * TRIED_TIMES;
	char *to;

	if (!buf_reserve(&w->out, bound + sizeof(c)))
		return;
	to = w->out.data + w->out.len + sizeof(c);
	if (rises)
		steps_make((uint8_t *)s->data, s->len, s->rec_size);
	if (both || (level && of->turns))
		turned = pack_turned(w, s, level);
	if (both || (level && !turned))
		n = pack_plainly(w, s, to, bound, level);
	c.flags = n == s->len ? FMT_RAW : rises ? FMT_RAW | FMT_STEPS : 0;
	if (both && s->len >= TURNED_LEAST) {
		of->tried = s->len;
		of->turns = turned && turned < n;
	}
	if (turned && turned < n) {
		n = turned;
		memcpy(to, w->turned_packed.data, n);
		c.flags = FMT_RAW | (rises ? FMT_STEPS_TURNED : FMT_TURNED);
	}
	if (rises)
		steps_undo((uint8_t *)s->data, s->len, s->rec_size);
	if (c.flags == FMT_RAW)
		memcpy(to, s->data, n);
	c.stored_size = (uint32_t)n;
	seal_chunk(&c, to);
	memcpy(to - sizeof(c), &c, sizeof(c));
	w->out.len += sizeof(c) + n;
	w->unpacks_to += swell_of(s->len, s->rec_size, s->count);
}

/* What no loose chunk has, or all there is. */
static void add_section(struct store_writer *w, unsigned id, bool all, int level)
{
	struct write_section *s = &w->sections[id];
	size_t from = all ? 0 : s->loose_len;
	uint32_t before = all ? 0 : s->loose_count;

	if (!all && s->bytes.len - from < LOOSE_LEAST)
		level = 0;
	if (s->count > before)
		add_chunk_of(w, id,
			     &(struct write_piece){ .data = s->bytes.data + from,
						    .len = s->bytes.len - from,
						    .rec_size = s->rec_size,
						    .count = s->count - before },
			     level);
	s->loose_len = s->bytes.len;
	s->loose_count = s->count;
}

/* Strings first, then in section order: definitions have lower numbers than their users. */
static int add_sections(struct store_writer *w, bool all, int level)
{
	buf_clear(&w->out);
	add_section(w, FMT_STRING, all, level);
	for (unsigned i = 0; i < SECTIONS; i++)
		if (i != FMT_STRING)
			add_section(w, i, all, level);
	return buf_failed(&w->out) || buf_failed(&w->turned) || buf_failed(&w->turned_packed)
		       ? err_set(&w->first, -ENOMEM, "out of memory")
		       : 0;
}

/* Leaves the last record of each key. What loose chunks hold is more than what is held, then. */
static void drop_stale(struct write_section *s)
{
	uint32_t kept = 0;

	if (!s->stale.len)
		return;
	for (uint32_t i = 0; i < s->count; i++) {
		if (i < s->stale.len && s->stale.data[i])
			continue;
		memmove(s->bytes.data + (size_t)kept * s->rec_size, s->bytes.data + (size_t)i * s->rec_size,
			s->rec_size);
		kept++;
	}
	s->count = kept;
	s->bytes.len = (size_t)kept * s->rec_size;
	buf_clear(&s->stale);
}

static void forget_records(struct store_writer *w)
{
	map_release(&w->held);
	for (unsigned i = 0; i < SECTIONS; i++) {
		struct write_section *s = &w->sections[i];

		buf_clear(&s->bytes);
		buf_clear(&s->stale);
		s->count = s->loose_count = 0;
		s->loose_len = 0;
	}
	w->loose = false;
}

/* The last chunk of a file: what comes before it, from `to` on, is all that `from` to there is. */
static void add_replaced(struct store_writer *w, uint64_t from, uint64_t to)
{
	struct fmt_replaced r = { .from = from, .to = to };
	struct fmt_chunk c = {
		.magic = FMT_CHUNK_MAGIC,
		.section = FMT_REPLACED,
		.flags = FMT_RAW,
		.rec_size = sizeof(r),
		.count = 1,
		.raw_size = sizeof(r),
		.stored_size = sizeof(r),
		.seq = w->seq,
	};

	seal_chunk(&c, &r);
	buf_add(&w->out, &c, sizeof(c));
	buf_add(&w->out, &r, sizeof(r));
}

/* Puts all that the loose chunks hold in their place, packed together. Who is killed meanwhile leaves both, and the
 * last chunk of the file, if it is whole, says which counts; cutting it off is what makes the change. */
static int pack_loose(struct store_writer *w)
{
	uint64_t end = w->written, seq = w->seq, unpacks_to = w->unpacks_to;
	size_t packed;
	int err;

	w->written = w->loose_at;
	w->seq = w->loose_seq;
	w->unpacks_to = w->loose_unpacks;
	for (unsigned i = 0; i < SECTIONS; i++)
		drop_stale(&w->sections[i]);
	err = add_sections(w, true, PACKED_LEVEL);
	packed = w->out.len;
	w->written = end;
	if (err || packed >= end - w->loose_at) { /* they stay */
		w->seq = seq;
		w->unpacks_to = unpacks_to;
		return err;
	}
	add_replaced(w, w->loose_at, end);
	if (buf_failed(&w->out))
		return err_set(&w->first, -ENOMEM, "out of memory");
	err = write_at(w, w->out.data, w->out.len, end);
	if (err) {
		cut_file(w, end); /* no room: the loose ones count */
		return err;
	}
	err = write_at(w, w->out.data, packed, w->loose_at);
	if (!err)
		err = cut_file(w, w->loose_at + packed);
	w->written = err ? end + w->out.len : w->loose_at + packed;
	return err;
}

static int put_in_section(struct store_writer *w, unsigned id, uint32_t rec_size, const void *head, uint32_t head_size,
			  const void *tail, uint32_t tail_size)
{
	struct write_section *s = &w->sections[id];
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
	return s->bytes.len >= CHUNK_TARGET ? store_flush(w, NULL) : 0;
}

int store_put(struct store_writer *w, enum fmt_section section, const void *rec, uint32_t rec_size)
{
	return put_in_section(w, section, rec_size, rec, rec_size, NULL, 0);
}

/* The next record of this section is the latest of its key: one that is held is so no more. */
static int hold_latest(struct store_writer *w, unsigned section, uint64_t which)
{
	static const char none[64];
	struct write_section *s = &w->sections[section];
	uint64_t *at = map_put(&w->held, which, NULL);

	while (at && *at > s->stale.len && !buf_failed(&s->stale))
		buf_add(&s->stale, none, *at - s->stale.len < sizeof(none) ? *at - s->stale.len : sizeof(none));
	if (!at || buf_failed(&s->stale))
		return err_set(&w->first, -ENOMEM, "out of memory");
	if (*at)
		s->stale.data[*at - 1] = 1;
	*at = s->count + 1;
	return 0;
}

int store_put_changed(struct store_writer *w, enum fmt_section section, uint32_t key, const void *rec,
		      uint32_t rec_size)
{
	uint64_t hash = XXH64(rec, rec_size, 0), which = (uint64_t)section << 32 | key;
	uint64_t *said = map_put(&w->said, which, NULL);

	if (said && *said == hash)
		return 0;
	if (said)
		*said = hash;
	return hold_latest(w, section, which) ? w->first.code : store_put(w, section, rec, rec_size);
}

bool store_waits(const struct store_writer *w)
{
	for (unsigned i = 0; i < SECTIONS; i++)
		if (w->sections[i].count > w->sections[i].loose_count)
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

/* So that it survives a kill: the file then ends with chunks that store_flush() packs anew. */
static int add_loose(struct store_writer *w)
{
	if (!w->loose) {
		w->loose_at = w->written;
		w->loose_seq = w->seq;
		w->loose_unpacks = w->unpacks_to;
		w->loose = true;
	}
	return add_sections(w, false, LOOSE_LEVEL) ? w->first.code : write_all(w, w->out.data, w->out.len);
}

static size_t held_bytes(const struct store_writer *w)
{
	size_t n = 0;

	for (unsigned i = 0; i < SECTIONS; i++)
		n += w->sections[i].bytes.len;
	return n;
}

int store_spill(struct store_writer *w, struct err *e)
{
	if (held_bytes(w) > LOOSE_MOST)
		return store_flush(w, e);
	if (!w->first.code && store_waits(w))
		add_loose(w);
	if (w->first.code && e)
		*e = w->first;
	return w->first.code;
}

int store_flush(struct store_writer *w, struct err *e)
{
	if (!w->first.code && w->loose) {
		if (!add_loose(w))
			pack_loose(w);
	} else if (!w->first.code && !add_sections(w, true, LOOSE_LEVEL)) {
		write_all(w, w->out.data, w->out.len);
	}
	forget_records(w);
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
	for (unsigned i = 0; i < SECTIONS; i++) {
		buf_release(&w->sections[i].bytes);
		buf_release(&w->sections[i].stale);
	}
	buf_release(&w->out);
	buf_release(&w->turned);
	buf_release(&w->turned_packed);
	buf_release(&w->metas);
	intern_release(&w->strings);
	map_release(&w->said);
	map_release(&w->held);
	ZSTD_freeCCtx(w->zstd);
	free(w);
}

void store_undo(struct store_writer *w)
{
	if (w)
		newfile_undo(&w->file);
	store_abandon(w);
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
