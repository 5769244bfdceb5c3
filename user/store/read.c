// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/swell.h"
#include "store/turned.h"
#include "util/buf.h"
#include "util/map.h"

#define AHEAD 2 /* slots: one is read from, the other is filled meanwhile; each is as large as a chunk, some MB */
#define WORTH_A_THREAD (4u << 20) /* bytes of the file: less is unpacked in milliseconds; by hand */
#define EARLY_CHUNKS 8u           /* until what a recorder was told is there, which it writes first; by hand */

/* A chunk as on disk and unpacked. */
struct unpacked {
	struct fmt_chunk h;
	struct buf stored, raw;
	const uint8_t *data;
	int status;                /* 1: a chunk, 0: the end, -ENOMEM */
	bool packed;               /* and nobody has asked for what is in it yet */
	struct store_recovery rec; /* up to here */
	bool full;                 /* waits to be taken: only with a thread */
};

/* Where a walk that came to the end goes on. */
struct walk_place {
	size_t pos;
	struct store_recovery rec;
};

/* Read, not mapped: a file that someone cuts short meanwhile must not become a SIGBUS. */
struct store_reader {
	/* the unpacker's, which may be another thread */
	int fd;
	size_t size, pos;
	struct fmt_file head;
	uint64_t unpack_budget;    /* bytes that may still be unpacked on this walk */
	uint64_t scan_budget;      /* bytes that may still be hashed in search of a sound chunk */
	size_t gone_from, gone_to; /* told again behind it: FMT_REPLACED */
	uint64_t next_seq;         /* of chunks: a lower number tells again what was read, and is not for us */
	struct store_recovery rec;
	bool counted;            /* the recovery counters are final after the first full walk */
	struct walk_place sound; /* after the last chunk that was */
	ZSTD_DCtx *zstd;
	/* handed over */
	struct unpacked slot[AHEAD];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool threaded, quit;
	/* the reader's */
	struct unpacked *at; /* slot at hand */
	struct store_recovery seen;
	struct map string_at; /* id -> index into texts */
	struct intern texts;
	struct intern meta_keys;
	struct map meta_values; /* key id -> text id */
};

static bool read_at(const struct store_reader *r, size_t at, void *to, size_t n)
{
	uint8_t *p = to;

	while (n) {
		ssize_t got = pread(r->fd, p, n, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		at += (size_t)got;
		n -= (size_t)got;
	}
	return true;
}

/* A recorder killed while it packed the last chunks anew left them twice. */
static void find_replaced(struct store_reader *r)
{
	struct {
		struct fmt_chunk c;
		struct fmt_replaced r;
	} last;
	size_t at = r->size - sizeof(last);

	if (r->size < sizeof(r->head) + sizeof(last) || !read_at(r, at, &last, sizeof(last)) ||
	    last.c.magic != FMT_CHUNK_MAGIC || last.c.section != FMT_REPLACED || last.c.stored_size != sizeof(last.r) ||
	    last.c.xxh64 != XXH64(&last.r, sizeof(last.r), XXH64(&last.c, offsetof(struct fmt_chunk, xxh64), 0)))
		return;
	if (last.r.from > last.r.to || last.r.to > at)
		return;
	r->gone_from = last.r.from;
	r->gone_to = last.r.to;
	r->size = at;
}

static size_t past_gone(const struct store_reader *r, size_t p)
{
	return p >= r->gone_from && p < r->gone_to ? r->gone_to : p;
}

static int measure_file(struct store_reader *r, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(r->fd, &st))
		return err_set(e, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s is not a regular file", path);
	if ((size_t)st.st_size < sizeof(struct fmt_file) || !read_at(r, 0, &r->head, sizeof(r->head)))
		return err_set(e, -EINVAL, "%s is not an accperf profile (only %lld bytes)", path,
			       (long long)st.st_size);
	r->size = (size_t)st.st_size;
	find_replaced(r);
	r->unpack_budget = swell_limit(r->size);
	/* generous for any real damage; a file made of false chunk headers would take hours otherwise */
	r->scan_budget = 4 * (uint64_t)r->size + 4 * (uint64_t)FMT_MAX_CHUNK;
	return 0;
}

struct store_reader *store_open(const char *path, struct err *e)
{
	struct store_reader *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	/* O_NONBLOCK: a FIFO must not make us wait before it is refused */
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (r->fd < 0) {
		if (errno == ENOENT)
			err_set(e, -ENOENT, "there is no %s; make one with `accperf record -p PID`, or name it with -i",
				*path ? path : "profile without a name");
		else
			err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
		free(r);
		return NULL;
	}
	err = measure_file(r, path, e);
	if (!err) {
		if (!memcmp(&r->head, "PERFILE2", 8))
			err = err_set(e, -EINVAL, "%s is a recording of perf; bring it in with `accperf import %s`",
				      path, path);
		else if (r->head.magic != FMT_MAGIC)
			err = err_set(e, -EINVAL, "%s is not an accperf profile", path);
		else if (r->head.major != FMT_MAJOR)
			err = err_set(
				e, -EPROTO,
				"%s has format %u.%u and this accperf reads %u.x; use the newer accperf that wrote it",
				path, r->head.major, r->head.minor, FMT_MAJOR);
		else if (r->head.header_size < sizeof(r->head) || r->head.header_size > r->size)
			err = err_set(e, -EINVAL, "%s is damaged: its header claims %u bytes", path,
				      r->head.header_size);
	}
	if (err) {
		store_reader_free(r);
		return NULL;
	}
	r->pos = r->sound.pos = r->head.header_size;
	return r;
}

static void stop_thread(struct store_reader *r)
{
	if (!r->threaded)
		return;
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	r->threaded = r->quit = false;
}

/* While no thread is at work. */
static void drop_chunks(struct store_reader *r)
{
	for (unsigned i = 0; i < AHEAD; i++) {
		buf_release(&r->slot[i].stored);
		buf_release(&r->slot[i].raw);
	}
}

void store_reader_free(struct store_reader *r)
{
	if (!r)
		return;
	stop_thread(r);
	if (r->fd >= 0)
		close(r->fd);
	drop_chunks(r);
	ZSTD_freeDCtx(r->zstd);
	map_release(&r->string_at);
	map_release(&r->meta_values);
	intern_release(&r->texts);
	intern_release(&r->meta_keys);
	free(r);
}

const struct fmt_file *store_header(const struct store_reader *r)
{
	return &r->head;
}

/* A chunk whose header is sane and whose checksum holds, at p; its bytes are in u->stored then. */
static bool chunk_at(struct store_reader *r, size_t p, struct unpacked *u, bool searching)
{
	struct fmt_chunk *c = &u->h;

	if (r->size - p < sizeof(*c) || !read_at(r, p, c, sizeof(*c)))
		return false;
	if (c->magic != FMT_CHUNK_MAGIC || c->seq < r->next_seq || c->raw_size > FMT_MAX_CHUNK ||
	    c->stored_size > FMT_MAX_CHUNK || c->stored_size > r->size - p - sizeof(*c))
		return false;
	if ((c->flags & (FMT_RAW | FMT_CHANGED)) == FMT_RAW && c->raw_size != c->stored_size)
		return false;
	if (c->rec_size ? (uint64_t)c->rec_size * c->count != c->raw_size : (uint64_t)c->count * 4 > c->raw_size)
		return false;
	if (searching) {
		if (r->scan_budget < c->stored_size)
			return false;
		r->scan_budget -= c->stored_size;
	}
	buf_clear(&u->stored);
	if (!buf_reserve(&u->stored, (size_t)c->stored_size + 1) ||
	    !read_at(r, p + sizeof(*c), u->stored.data, c->stored_size))
		return false;
	return XXH64(u->stored.data, c->stored_size, XXH64(c, offsetof(struct fmt_chunk, xxh64), 0)) == c->xxh64;
}

/* Offset of the next chunk magic at or after p, r->size if there is none. */
static size_t next_magic(const struct store_reader *r, size_t p)
{
	static const uint8_t magic[4] = { 'C', 'H', 'N', 'K' };
	uint8_t window[1 << 14];

	while (r->size - p >= sizeof(magic)) {
		size_t n = r->size - p < sizeof(window) ? r->size - p : sizeof(window);
		const uint8_t *hit;

		if (!read_at(r, p, window, n))
			break;
		hit = memmem(window, n, magic, sizeof(magic));
		if (hit)
			return p + (size_t)(hit - window);
		/* a magic may lie across two windows */
		p += n - (sizeof(magic) - 1);
	}
	return r->size;
}

/* Moves to the next sound chunk; counts what was skipped. */
static bool resync(struct store_reader *r, struct unpacked *u)
{
	size_t start = r->pos = past_gone(r, r->pos), p = start;

	if (start < r->size && chunk_at(r, start, u, false))
		return true;
	while (p < r->size && (p = past_gone(r, next_magic(r, p + 1))) < r->size) {
		if (chunk_at(r, p, u, true)) {
			if (!r->counted) {
				r->rec.bad_chunks++;
				r->rec.lost_bytes += p - start;
			}
			r->pos = p;
			return true;
		}
	}
	if (!r->counted && start < r->size) {
		r->rec.torn = true;
		r->rec.lost_bytes += r->size - start;
	}
	r->pos = r->size;
	return false;
}

static void note_string(struct store_reader *r, const uint8_t *p, size_t n)
{
	uint32_t id, text;
	uint64_t *v;

	if (n < 4)
		return;
	memcpy(&id, p, 4);
	text = intern_add(&r->texts, p + 4, n - 4, NULL);
	v = text ? map_put(&r->string_at, id, NULL) : NULL;
	if (v)
		*v = text;
}

static void note_meta(struct store_reader *r, const uint8_t *p, size_t n)
{
	size_t klen = strnlen((const char *)p, n), vlen;
	uint32_t key, text;
	uint64_t *v;

	if (klen + 1 >= n)
		return;
	vlen = strnlen((const char *)p + klen + 1, n - klen - 1);
	key = intern_add(&r->meta_keys, p, klen, NULL);
	text = intern_add(&r->texts, p + klen + 1, vlen, NULL);
	v = key && text ? map_put(&r->meta_values, key, NULL) : NULL;
	if (v)
		*v = text;
}

static bool known_section(unsigned s)
{
	return (s >= FMT_META && s <= FMT_PLACE) || s == FMT_END || (s >= 32 && s < 96);
}

/* Whether the file may hold this chunk, too; if not it ends here. */
static bool afford(struct store_reader *r, const struct fmt_chunk *h)
{
	uint64_t cost = swell_of(h->raw_size, h->rec_size, h->count);

	if (cost <= r->unpack_budget) {
		r->unpack_budget -= cost;
		return true;
	}
	if (!r->counted) {
		r->rec.swollen = true;
		r->rec.lost_bytes += r->size - r->pos;
	}
	r->pos = r->size;
	return false;
}

/* 1; 0: damaged, though its checksum holds; -ENOMEM. */
static int unpack(struct store_reader *r, struct unpacked *u)
{
	const struct fmt_chunk *h = &u->h;
	uint8_t *bytes;
	size_t n;

	if (!r->zstd)
		r->zstd = ZSTD_createDCtx();
	buf_clear(&u->raw);
	if (!r->zstd || !buf_reserve(&u->raw, (size_t)h->raw_size + 1))
		return -ENOMEM;
	n = ZSTD_decompressDCtx(r->zstd, u->raw.data, h->raw_size, u->stored.data, h->stored_size);
	if (ZSTD_isError(n) || n != h->raw_size)
		return 0;
	bytes = (uint8_t *)u->raw.data;
	u->data = bytes;
	if (h->flags & (FMT_TURNED | FMT_STEPS_TURNED)) {
		buf_clear(&u->stored);
		if (!buf_reserve(&u->stored, n + 1))
			return -ENOMEM;
		turned_undo((uint8_t *)u->stored.data, u->data, n, turned_width(h->rec_size));
		bytes = (uint8_t *)u->stored.data;
		u->data = bytes;
	}
	if (h->flags & (FMT_STEPS | FMT_STEPS_TURNED)) {
		if (h->rec_size < STEPS_LEAST)
			return 0;
		steps_undo(bytes, n, h->rec_size);
	}
	return 1;
}

/* The next sound chunk, unpacked unless that can wait. */
static void next_sound(struct store_reader *r, struct unpacked *u, bool can_wait)
{
	const struct fmt_chunk *h = &u->h;

	u->status = 1;
	while (resync(r, u) && afford(r, h)) {
		r->pos += sizeof(*h) + h->stored_size;
		r->next_seq = h->seq + 1;
		u->data = (const uint8_t *)u->stored.data;
		u->packed = (h->flags & (FMT_RAW | FMT_CHANGED)) != FMT_RAW;
		if (u->packed && !can_wait) {
			u->status = unpack(r, u);
			if (u->status == -ENOMEM)
				break;
			u->packed = false;
			if (!u->status) {
				u->status = 1;
				r->rec.bad_chunks += !r->counted;
				continue;
			}
		}
		r->rec.unknown_sections += !r->counted && !known_section(h->section);
		r->rec.ended |= h->section == FMT_END;
		r->sound = (struct walk_place){ r->pos, r->rec };
		u->rec = r->rec;
		return;
	}
	if (u->status == 1) {
		u->status = buf_failed(&u->stored) ? -ENOMEM : 0;
		r->counted |= !u->status;
	}
	u->rec = r->rec;
}

static void *unpack_ahead(void *reader)
{
	struct store_reader *r = reader;
	bool more = true;

	for (unsigned i = 0; more; i = (i + 1) % AHEAD) {
		struct unpacked *u = &r->slot[i];

		pthread_mutex_lock(&r->lock);
		while (u->full && !r->quit)
			pthread_cond_wait(&r->changed, &r->lock);
		more = !r->quit;
		pthread_mutex_unlock(&r->lock);
		if (!more)
			break;
		next_sound(r, u, false);
		more = u->status > 0;
		pthread_mutex_lock(&r->lock);
		u->full = true;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

void store_read_ahead(struct store_reader *r)
{
	if (r->threaded || r->at || r->size < WORTH_A_THREAD)
		return;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->threaded = !pthread_create(&r->thread, NULL, unpack_ahead, r);
	if (r->threaded)
		return;
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
}

/* The next chunk, in r->at. */
static void next_chunk(struct store_reader *r)
{
	struct unpacked *last = r->at;

	if (!r->threaded) {
		r->at = &r->slot[0];
		next_sound(r, r->at, true);
		return;
	}
	if (last && last->status <= 0)
		return; /* the thread has ended */
	r->at = last ? &r->slot[(last - r->slot + 1) % AHEAD] : &r->slot[0];
	pthread_mutex_lock(&r->lock);
	if (last) {
		last->full = false;
		pthread_cond_broadcast(&r->changed);
	}
	while (!r->at->full)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

static void note_texts(struct store_reader *r, struct store_chunk walk)
{
	const uint8_t *p;
	size_t n;

	while ((p = store_next_var(&walk, &n))) {
		if (walk.section == FMT_STRING)
			note_string(r, p, n);
		else
			note_meta(r, p, n);
	}
}

int store_unpack(struct store_reader *r, struct store_chunk *c, struct err *e)
{
	struct unpacked *u = r->at;
	int got = u->packed ? unpack(r, u) : 1;

	u->packed = false;
	c->data = u->data;
	if (got > 0)
		return 1;
	if (got < 0)
		return err_set(e, got, "out of memory reading the profile");
	r->rec.bad_chunks += !r->counted;
	r->sound.rec = r->seen = r->rec;
	return 0;
}

int store_next_packed(struct store_reader *r, struct store_chunk *c, struct err *e)
{
	const struct unpacked *u;
	int got = 1;

	do {
		next_chunk(r);
		u = r->at;
		r->seen = u->rec;
		if (u->status < 0)
			return err_set(e, u->status, "out of memory reading the profile");
		if (!u->status) {
			drop_chunks(r); /* what was read is made use of next, in megabytes of its own */
			return 0;
		}
		*c = (struct store_chunk){ .section = u->h.section,
					   .rec_size = u->h.rec_size,
					   .count = u->h.count,
					   .data = u->data,
					   .size = u->h.raw_size };
		if ((c->section != FMT_STRING && c->section != FMT_META) || c->rec_size)
			return 1;
		got = store_unpack(r, c, e);
	} while (!got);
	if (got > 0)
		note_texts(r, *c);
	return got;
}

int store_next(struct store_reader *r, struct store_chunk *c, struct err *e)
{
	int got, unpacked = 1;

	do
		got = store_next_packed(r, c, e);
	while (got > 0 && !(unpacked = store_unpack(r, c, e)));
	return got <= 0 ? got : unpacked;
}

bool store_more(struct store_reader *r)
{
	struct stat st;

	if (fstat(r->fd, &st) || (size_t)st.st_size <= r->size)
		return false;
	r->unpack_budget += swell_limit((size_t)st.st_size) - swell_limit(r->size);
	r->scan_budget += (size_t)st.st_size - r->size;
	r->size = (size_t)st.st_size;
	r->pos = r->sound.pos;
	r->rec = r->sound.rec;
	r->counted = false;
	return true;
}

void store_rewind(struct store_reader *r)
{
	stop_thread(r);
	for (unsigned i = 0; i < AHEAD; i++)
		r->slot[i].full = false;
	r->at = NULL;
	r->pos = r->head.header_size;
	r->next_seq = 0;
	r->unpack_budget = swell_limit(r->size);
}

const struct store_recovery *store_recovery(const struct store_reader *r)
{
	return &r->seen;
}

bool store_recovery_text(const struct store_reader *r, char *text, size_t size)
{
	const struct store_recovery *k = &r->seen;

	if (k->ended && !k->torn && !k->bad_chunks && !k->swollen)
		return false;
	if (k->swollen)
		snprintf(
			text, size,
			"damaged: it claims to hold more than %u times its size, which no recording does; its last %llu bytes were not read",
			UNPACK_FACTOR, (unsigned long long)k->lost_bytes);
	else if (k->bad_chunks)
		snprintf(text, size, "%u damaged place%s skipped, %llu bytes lost; the rest was recovered",
			 k->bad_chunks, k->bad_chunks == 1 ? "" : "s", (unsigned long long)k->lost_bytes);
	else if (k->torn)
		snprintf(
			text, size,
			"the recording was cut off: the last %llu bytes are incomplete; everything before was recovered",
			(unsigned long long)k->lost_bytes);
	else
		snprintf(
			text, size,
			"the recording did not end in order (killed, or the disk was full): at most its last second is missing");
	return true;
}

void store_rec(const struct store_chunk *c, uint32_t i, void *rec, size_t size)
{
	size_t n = c->rec_size < size ? c->rec_size : size;

	memset(rec, 0, size);
	if (i < c->count && n)
		memcpy(rec, c->data + (size_t)i * c->rec_size, n);
}

const uint8_t *store_next_var(struct store_chunk *c, size_t *size)
{
	uint32_t n;
	const uint8_t *p;

	if (c->rec_size || c->size - c->cursor < 4)
		return NULL;
	memcpy(&n, c->data + c->cursor, 4);
	if (n > c->size - c->cursor - 4)
		return NULL;
	p = c->data + c->cursor + 4;
	c->cursor += 4 + (size_t)n;
	*size = n;
	return p;
}

const char *store_str(const struct store_reader *r, uint32_t id)
{
	const uint64_t *v = id ? map_get(&r->string_at, id) : NULL;

	return v ? intern_get(&r->texts, (uint32_t)*v, NULL) : NULL;
}

const char *store_meta_get(const struct store_reader *r, const char *key)
{
	size_t pos = 0, len;
	uint64_t id, *v;

	while (map_next(&r->meta_values, &pos, &id, &v)) {
		const char *k = intern_get(&r->meta_keys, (uint32_t)id, &len);

		if (k && !strcmp(k, key))
			return intern_get(&r->texts, (uint32_t)*v, NULL);
	}
	return NULL;
}

const char *store_meta_early(struct store_reader *r, const char *key)
{
	struct store_chunk c;

	for (unsigned i = 0; i < EARLY_CHUNKS && !store_meta_get(r, key); i++)
		if (store_next(r, &c, NULL) <= 0)
			break;
	return store_meta_get(r, key);
}
