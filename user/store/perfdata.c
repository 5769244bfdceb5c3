// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "store/perfdata.h"
#include "kmod-free/queue.h"
#include "kmod-free/ring.h"
#include "util/buf.h"
#include "util/grow.h"
#include "util/map.h"

#define MAGIC 0x32454c4946524550ull         /* "PERFILE2" */
#define MAGIC_SWAPPED 0x50455246494c4532ull /* of the other byte order */
#define MAX_EVENTS 512                      /* of one recording; more is an attack; by hand */
#define MAX_IDS (1u << 20) /* of events by CPU and thread, and of build-ids; more is an attack; by hand */
/* Bytes: of all compressed records together, a part of the recording being as many times what is in the file, more is
 * an attack. Stacks that are mostly zeros come to some 100 times. */
#define INFLATED_SLACK (1u << 20)
#define INFLATED_RATIO 256
/* Bytes of samples that wait for their turn. perf ends a round when it has read all rings once, some MB; of a file that
 * ends none all would be in memory, 450 bytes for one of 8. Then the older half goes, as in perf's own reader. */
#define MOST_WAITING (128u << 20)

/* Record types of the tool, not the kernel. */
enum {
	REC_ATTR = 64,
	REC_TRACING_DATA = 66,
	REC_BUILD_ID = 67,
	REC_FINISHED_ROUND = 68,
	REC_AUXTRACE = 71,
	REC_EVENT_UPDATE = 78,
	REC_FEATURE = 80,
	REC_COMPRESSED = 81,
	REC_COMPRESSED2 = 83,
};

enum {
	FEAT_BUILD_ID = 2,
	FEAT_HOSTNAME = 3,
	FEAT_OSRELEASE = 4,
	FEAT_ARCH = 6,
	FEAT_CPUDESC = 8,
	FEAT_CMDLINE = 11,
	FEAT_EVENT_DESC = 12,
	FEAT_MAX = 256
};

#define MISC_BUILD_ID_SIZE (1u << 15) /* perf's PERF_RECORD_MISC_BUILD_ID_SIZE */

struct perfdata_section {
	uint64_t off, size;
};

struct file_header {
	uint64_t magic, size, attr_size;
	struct perfdata_section attrs, data, event_types;
	uint64_t features[4];
};

struct span {
	const uint8_t *p;
	size_t n;
};

struct perfdata {
	struct span file;
	void *map; /* to unmap */
	bool pipe;
	struct perfdata_section data;
	struct perfdata_event *events;
	unsigned event_cnt;
	struct map ids;          /* event id -> index + 1 */
	uint64_t id_sample_type; /* where ids stand: the same for all events of a file */
	int id_all;
	struct intern paths;  /* path -> id, */
	struct map build_ids; /* id -> index into build_id */
	struct sample_build_id *build_id;
	unsigned build_id_cnt;
	char *text[5];
	ZSTD_DStream *zstd;
	struct buf inflated; /* what a compressed record left over */
	uint64_t deflated_bytes, inflated_bytes;
	struct queue *queue;
	uint64_t round_max, previous_round_max;
	sample_fn fn;
	void *ctx;
	struct perfdata_stats stats;
};

static const char *const text_names[5] = { "hostname", "osrelease", "arch", "cpudesc", "cmdline" };

/* Bytes [off, off + size) of s; n == 0 and p == NULL if they are not all there. */
static struct span sub(struct span s, uint64_t off, uint64_t size)
{
	if (off > s.n || size > s.n - off)
		return (struct span){ 0 };
	return (struct span){ s.p + off, (size_t)size };
}

static uint32_t get32(struct span *s)
{
	uint32_t v = 0;

	if (s->n < 4) {
		s->n = 0;
		return 0;
	}
	memcpy(&v, s->p, 4);
	s->p += 4;
	s->n -= 4;
	return v;
}

/* A length-prefixed, padded string. */
static const char *get_padded_string(struct span *s)
{
	uint32_t len = get32(s);
	const char *str = (const char *)s->p;

	if (!len || len > s->n || !memchr(str, 0, len))
		return NULL;
	s->p += len;
	s->n -= len;
	return str;
}

static int add_recorded_event(struct perfdata *p, const void *attr, size_t size, struct err *e)
{
	struct perfdata_event *ev;

	if (p->event_cnt == MAX_EVENTS || size < PERF_ATTR_SIZE_VER0)
		return err_set(e, -EBADMSG, "the recording declares an event in a way that cannot be right");
	if (!GROW_ONE(p->events, p->event_cnt))
		return err_set(e, -ENOMEM, "out of memory");
	ev = &p->events[p->event_cnt];
	memset(ev, 0, sizeof(*ev));
	memcpy(&ev->attr, attr, size < sizeof(ev->attr) ? size : sizeof(ev->attr));
	if (!p->event_cnt) {
		p->id_sample_type = ev->attr.sample_type;
		p->id_all = ev->attr.sample_id_all;
	}
	p->event_cnt++;
	return 0;
}

static int add_ids(struct perfdata *p, unsigned event, struct span ids, struct err *e)
{
	for (size_t i = 0; i + 8 <= ids.n; i += 8) {
		uint64_t id, *slot;

		memcpy(&id, ids.p + i, 8);
		if (p->ids.used > MAX_IDS)
			return err_set(e, -EBADMSG, "the recording declares more event ids than can be right");
		slot = map_put(&p->ids, id, NULL);
		if (!slot)
			return err_set(e, -ENOMEM, "out of memory");
		*slot = event + 1;
	}
	return 0;
}

/* A build_id_event: header, pid, 24 bytes of id, path. */
static void take_build_id(struct perfdata *p, struct span r)
{
	struct perf_event_header h;
	const char *path = (const char *)r.p + 8 + 4 + 24;
	struct sample_build_id *list;
	uint64_t *slot;
	uint32_t id;

	if (r.n < 8 + 4 + 24 + 1 || !memchr(path, 0, r.n - (8 + 4 + 24)) || p->build_id_cnt > MAX_IDS)
		return;
	memcpy(&h, r.p, sizeof(h));
	if (!GROW_ONE(p->build_id, p->build_id_cnt))
		return;
	list = p->build_id;
	list[p->build_id_cnt].len = 20;
	if (h.misc & MISC_BUILD_ID_SIZE)
		list[p->build_id_cnt].len = r.p[8 + 4 + 20] <= 20 ? r.p[8 + 4 + 20] : 20;
	memcpy(list[p->build_id_cnt].id, r.p + 8 + 4, 20);
	id = intern_str(&p->paths, path, NULL);
	slot = id ? map_put(&p->build_ids, id, NULL) : NULL;
	if (slot)
		*slot = p->build_id_cnt++;
}

static void take_build_ids(struct perfdata *p, struct span s)
{
	while (s.n >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;

		memcpy(&h, s.p, sizeof(h));
		if (h.size < sizeof(h) || h.size > s.n)
			return;
		take_build_id(p, (struct span){ s.p, h.size });
		s.p += h.size;
		s.n -= h.size;
	}
}

static void set_text(struct perfdata *p, unsigned i, struct span s)
{
	const char *str = get_padded_string(&s);

	free(p->text[i]);
	p->text[i] = str ? strdup(str) : NULL;
}

static void take_cmdline(struct perfdata *p, struct span s)
{
	uint32_t n = get32(&s);
	struct buf b = { 0 };

	for (uint32_t i = 0; i < n && i < 4096; i++) {
		const char *a = get_padded_string(&s);

		if (!a)
			break;
		buf_addf(&b, "%s%s", i ? " " : "", a);
	}
	free(p->text[4]);
	p->text[4] = b.len && !buf_failed(&b) ? strdup(b.data) : NULL;
	buf_release(&b);
}

/* Event names, found by their ids: attrs and descriptions need not be in the same order. */
static void take_event_desc(struct perfdata *p, struct span s)
{
	uint32_t n = get32(&s), attr_size = get32(&s);

	for (uint32_t i = 0; i < n && i < MAX_EVENTS; i++) {
		struct span attr = sub(s, 0, attr_size);
		uint32_t id_cnt;
		const char *name;
		unsigned index = i;

		if (!attr.p)
			return;
		s.p += attr_size;
		s.n -= attr_size;
		id_cnt = get32(&s);
		name = get_padded_string(&s);
		if (!name || id_cnt > s.n / 8)
			return;
		if (id_cnt) {
			uint64_t id, *slot;

			memcpy(&id, s.p, 8);
			slot = map_get(&p->ids, id);
			if (slot)
				index = (unsigned)*slot - 1;
		}
		if (index < p->event_cnt)
			snprintf(p->events[index].name, sizeof(p->events[index].name), "%s", name);
		s.p += 8 * (size_t)id_cnt;
		s.n -= 8 * (size_t)id_cnt;
	}
}

static void take_feature(struct perfdata *p, unsigned feature, struct span s)
{
	switch (feature) {
	case FEAT_BUILD_ID: take_build_ids(p, s); break;
	case FEAT_HOSTNAME: set_text(p, 0, s); break;
	case FEAT_OSRELEASE: set_text(p, 1, s); break;
	case FEAT_ARCH: set_text(p, 2, s); break;
	case FEAT_CPUDESC: set_text(p, 3, s); break;
	case FEAT_CMDLINE: take_cmdline(p, s); break;
	case FEAT_EVENT_DESC: take_event_desc(p, s); break;
	default: break;
	}
}

static int read_header(struct perfdata *p, struct err *e)
{
	struct file_header h;
	uint64_t at, each;

	if (p->file.n < 16)
		return err_set(e, -EBADMSG, "not a perf recording: too short");
	memset(&h, 0, sizeof(h));
	memcpy(&h, p->file.p, p->file.n < sizeof(h) ? p->file.n : sizeof(h));
	if (h.magic == MAGIC_SWAPPED)
		return err_set(e, -EOPNOTSUPP,
			       "this recording is from a machine of the other byte order, which is not supported");
	if (h.magic != MAGIC)
		return err_set(e, -EBADMSG, "not a perf recording (it does not begin with PERFILE2)");
	if (h.size == 16) {
		p->pipe = true;
		p->data = (struct perfdata_section){ 16, p->file.n - 16 };
		return 0;
	}
	if (p->file.n < sizeof(h) || h.attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct perfdata_section) ||
	    h.attr_size > 4096)
		return err_set(e, -EBADMSG, "the recording's header cannot be right");
	p->data = h.data;
	if (h.data.off > p->file.n)
		return err_set(e, -EBADMSG, "the recording ends before its data");
	if (h.data.size > p->file.n - h.data.off || !h.data.size) {
		/* perf writes the size last: a killed recording has none */
		p->data.size = p->file.n - h.data.off;
		p->stats.truncated = true;
	}
	each = h.attr_size;
	for (at = 0; at + each <= h.attrs.size; at += each) {
		struct span a = sub(p->file, h.attrs.off + at, each), ids;
		struct perfdata_section s;
		int err;

		if (!a.p)
			return err_set(e, -EBADMSG, "the recording ends inside its list of events");
		err = add_recorded_event(p, a.p, a.n - sizeof(s), e);
		if (err)
			return err;
		memcpy(&s, a.p + a.n - sizeof(s), sizeof(s));
		ids = sub(p->file, s.off, s.size);
		err = add_ids(p, p->event_cnt - 1, ids, e);
		if (err)
			return err;
	}
	if (!p->event_cnt)
		return err_set(e, -EBADMSG, "the recording declares no event");
	at = p->data.off + p->data.size;
	for (unsigned f = 0; f < FEAT_MAX && !p->stats.truncated; f++) {
		struct span s;
		struct perfdata_section sec;

		if (!(h.features[f / 64] >> (f % 64) & 1))
			continue;
		s = sub(p->file, at, sizeof(sec));
		if (!s.p)
			break;
		memcpy(&sec, s.p, sizeof(sec));
		at += sizeof(sec);
		s = sub(p->file, sec.off, sec.size);
		if (s.p)
			take_feature(p, f, s);
	}
	return 0;
}

struct perfdata *perfdata_from(const void *data, size_t size, struct err *e)
{
	struct perfdata *p = calloc(1, sizeof(*p));

	if (!p) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	p->file = (struct span){ data, size };
	if (read_header(p, e)) {
		perfdata_free(p);
		return NULL;
	}
	return p;
}

struct perfdata *perfdata_open(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct perfdata *p;
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st)) {
		err_set(e, -errno, "cannot open %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size < 16) {
		err_set(e, -EINVAL, "%s is not a perf recording", path);
		close(fd);
		return NULL;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		err_set(e, -errno, "cannot map %s: %s", path, strerror(errno));
		return NULL;
	}
	p = perfdata_from(map, (size_t)st.st_size, e);
	if (!p) {
		err_prefix(e, "%s", path);
		munmap(map, (size_t)st.st_size);
		return NULL;
	}
	p->map = map;
	return p;
}

/* The event that a record belongs to; the first one for records without an id. */
static int find_event(struct perfdata *p, const void *rec, size_t size)
{
	uint64_t id, *slot;

	if (!p->event_cnt)
		return -1;
	id = ring_record_id(p->id_sample_type, p->id_all, rec, size);
	slot = id ? map_get(&p->ids, id) : NULL;
	if (slot)
		return (int)*slot - 1;
	return p->event_cnt == 1 || !id ? 0 : -1;
}

static void add_known_build_id(struct perfdata *p, struct sample *s)
{
	uint64_t *slot;
	uint32_t id;
	bool added;

	if (s->build_id.len || !s->text || !p->build_id_cnt)
		return;
	id = intern_str(&p->paths, s->text, &added);
	slot = id && !added ? map_get(&p->build_ids, id) : NULL;
	if (slot)
		s->build_id = p->build_id[*slot];
}

static int take_kernel_record(struct perfdata *p, const void *rec, size_t size)
{
	int ev = find_event(p, rec, size), rc;
	struct sample s;

	if (ev < 0) {
		p->stats.unknown_event++;
		return 0;
	}
	rc = ring_parse_record(&p->events[ev].attr, rec, size, &s);
	if (rc < 0)
		p->stats.malformed++;
	if (rc <= 0)
		return 0;
	s.source = (uint32_t)ev;
	if (s.kind == SAMPLE_LOST)
		p->stats.lost += s.period;
	else if (s.kind == SAMPLE_MMAP)
		add_known_build_id(p, &s);
	else if (s.kind < SAMPLE_MMAP) {
		p->stats.samples++;
		p->events[ev].samples++;
	}
	if (s.time > p->round_max)
		p->round_max = s.time;
	rc = queue_push(p->queue, &s);
	return rc || queue_bytes(p->queue) < MOST_WAITING ? rc : queue_flush_half(p->queue, p->fn, p->ctx);
}

static int take_records(struct perfdata *p, struct span s, size_t *used, bool nested, struct err *e);

/* What is there of it: records may continue in the next compressed one. */
static int take_inflated(struct perfdata *p, struct err *e)
{
	size_t used;
	int err;

	if (buf_failed(&p->inflated))
		return err_set(e, -ENOMEM, "out of memory");
	err = take_records(p, (struct span){ (const uint8_t *)p->inflated.data, p->inflated.len }, &used, true, e);
	if (used) {
		memmove(p->inflated.data, p->inflated.data + used, p->inflated.len - used);
		p->inflated.len -= used;
	}
	return err;
}

static int inflate(struct perfdata *p, struct span in, struct err *e)
{
	ZSTD_inBuffer src = { in.p, in.n, 0 };
	bool full = false;
	int err = 0;

	if (!p->zstd && !(p->zstd = ZSTD_createDStream()))
		return err_set(e, -ENOMEM, "out of memory");
	p->deflated_bytes += in.n;
	/* full: there may be more of what has been read */
	while ((src.pos < src.size || full) && err >= 0) {
		char out[65536];
		ZSTD_outBuffer dst = { out, sizeof(out), 0 };
		size_t rc = ZSTD_decompressStream(p->zstd, &dst, &src);

		if (ZSTD_isError(rc))
			return err_set(e, -EBADMSG, "a compressed part of the recording is damaged: %s",
				       ZSTD_getErrorName(rc));
		p->inflated_bytes += dst.pos;
		if (p->inflated_bytes > INFLATED_SLACK + INFLATED_RATIO * p->deflated_bytes)
			return err_set(e, -EBADMSG, "a compressed part of the recording is larger than can be right");
		buf_add(&p->inflated, out, dst.pos);
		err = take_inflated(p, e);
		full = dst.pos == dst.size;
		if (!dst.pos && !rc)
			break;
	}
	return err;
}

static int take_attr_record(struct perfdata *p, struct span r, struct err *e)
{
	uint32_t size = 0;
	int err;

	if (r.n < 8 + PERF_ATTR_SIZE_VER0)
		return err_set(e, -EBADMSG, "the recording declares an event in a way that cannot be right");
	memcpy(&size, r.p + 8 + 4, 4); /* perf_event_attr.size */
	if (size < PERF_ATTR_SIZE_VER0 || size > r.n - 8)
		return err_set(e, -EBADMSG, "the recording declares an event in a way that cannot be right");
	err = add_recorded_event(p, r.p + 8, size, e);
	return err ? err : add_ids(p, p->event_cnt - 1, sub(r, 8 + size, r.n - 8 - size), e);
}

static void take_event_update(struct perfdata *p, struct span r)
{
	uint64_t type, id, *slot;

	/* header, type, id, text */
	if (r.n <= 24 || !memchr(r.p + 24, 0, r.n - 24))
		return;
	memcpy(&type, r.p + 8, 8);
	memcpy(&id, r.p + 16, 8);
	slot = type == 2 /* name */ ? map_get(&p->ids, id) : NULL;
	if (slot)
		snprintf(p->events[*slot - 1].name, sizeof(p->events[0].name), "%s", (const char *)r.p + 24);
}

/* Everything up to the newest time of the round before the last one can no longer be overtaken. */
static int finished_round(struct perfdata *p)
{
	int err = queue_flush(p->queue, p->previous_round_max, p->fn, p->ctx);

	p->previous_round_max = p->round_max;
	return err;
}

/* *size grows by data that follows the record outside of it. */
static int take_record(struct perfdata *p, struct span r, struct span rest, size_t *size, bool nested, struct err *e)
{
	struct perf_event_header h;
	uint32_t extra = 0;
	uint64_t big = 0;

	memcpy(&h, r.p, sizeof(h));
	p->stats.records++;
	if (h.type < REC_ATTR)
		return take_kernel_record(p, r.p, r.n);
	switch (h.type) {
	case REC_ATTR: return take_attr_record(p, r, e);
	case REC_BUILD_ID: take_build_id(p, r); return 0;
	case REC_FINISHED_ROUND: return finished_round(p);
	case REC_EVENT_UPDATE: take_event_update(p, r); return 0;
	case REC_FEATURE:
		if (r.n >= 16) {
			memcpy(&big, r.p + 8, 8);
			take_feature(p, big < FEAT_MAX ? (unsigned)big : FEAT_MAX, sub(r, 16, r.n - 16));
		}
		return 0;
	case REC_COMPRESSED: return nested ? 0 : inflate(p, sub(r, 8, r.n - 8), e);
	case REC_COMPRESSED2:
		if (r.n < 16 || nested)
			return 0;
		memcpy(&big, r.p + 8, 8);
		return big <= r.n - 16 ? inflate(p, sub(r, 16, big), e) : 0;
	case REC_TRACING_DATA:
	case REC_AUXTRACE:
		if (r.n >= 16) {
			memcpy(&extra, r.p + 8, 4);
			memcpy(&big, r.p + 8, 8);
			if (h.type == REC_TRACING_DATA)
				big = ((uint64_t)extra + 7) & ~7ull;
			*size += big <= rest.n - r.n ? (size_t)big : rest.n - r.n;
		}
		return 0;
	default: return 0;
	}
}

static int take_records(struct perfdata *p, struct span s, size_t *used, bool nested, struct err *e)
{
	*used = 0;
	while (s.n >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		size_t size;
		int err;

		memcpy(&h, s.p, sizeof(h));
		size = h.size;
		if (size < sizeof(h)) {
			p->stats.truncated = true;
			*used += s.n;
			return 0;
		}
		if (size > s.n)
			break;
		err = take_record(p, (struct span){ s.p, size }, s, &size, nested, e);
		if (err < 0)
			return err;
		s.p += size;
		s.n -= size;
		*used += size;
	}
	return 0;
}

int perfdata_read(struct perfdata *p, sample_fn fn, void *ctx, struct err *e)
{
	struct span data = sub(p->file, p->data.off, p->data.size);
	size_t used = 0;
	int err;

	p->queue = queue_new();
	if (!p->queue)
		return err_set(e, -ENOMEM, "out of memory");
	p->fn = fn;
	p->ctx = ctx;
	err = take_records(p, data, &used, false, e);
	if (err >= 0)
		err = queue_flush(p->queue, UINT64_MAX, fn, ctx);
	if (used < data.n || p->inflated.len)
		p->stats.truncated = true;
	queue_free(p->queue);
	p->queue = NULL;
	if (err < 0 && e && !e->code)
		err_set(e, err, "reading the recording failed: %s", strerror(-err));
	return err < 0 ? err : 0;
}

unsigned perfdata_event_count(const struct perfdata *p)
{
	return p->event_cnt;
}

const struct perfdata_event *perfdata_event(const struct perfdata *p, unsigned i)
{
	return i < p->event_cnt ? &p->events[i] : NULL;
}

const struct perfdata_stats *perfdata_stats(const struct perfdata *p)
{
	return &p->stats;
}

const char *perfdata_text(const struct perfdata *p, const char *what)
{
	for (unsigned i = 0; i < 5; i++)
		if (!strcmp(text_names[i], what))
			return p->text[i];
	return NULL;
}

void perfdata_free(struct perfdata *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < 5; i++)
		free(p->text[i]);
	free(p->events);
	free(p->build_id);
	map_release(&p->ids);
	map_release(&p->build_ids);
	intern_release(&p->paths);
	ZSTD_freeDStream(p->zstd);
	buf_release(&p->inflated);
	if (p->map)
		munmap(p->map, p->file.n);
	free(p);
}
