// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.data: a real recording against what perf itself printed of it; the same recording turned into a
 * pipe file and a compressed one; files cut and bent everywhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "kmod-free/queue.h"
#include "store/perfdata.h"
#include "unit/sized.h"
#include "unit/unit.h"
#include "unit/xorshift.h"
#include "util/buf.h"

struct line {
	unsigned pid, tid, cpu;
	uint64_t time, addr, data_src, ip;
	uint32_t weight;
};

struct script {
	struct line line[64];
	unsigned count, seen, wrong;
	unsigned maps, comms;
};

static char *load(const char *name, size_t *size)
{
	const char *shared = getenv("ACCPERF_SHARED");
	char path[512];
	FILE *f = NULL;
	char *data;

	if (shared)
		snprintf(path, sizeof(path), "%s/perfdata/%s", shared, name);
	else
		snprintf(path, sizeof(path), "../shared/perfdata/%s", name);
	f = fopen(path, "rb");
	if (!f) {
		printf("# no %s: set ACCPERF_SHARED\n", path);
		return NULL;
	}
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	data = malloc(*size + 1);
	assert_int_equal(fread(data, 1, *size, f), *size);
	data[*size] = 0;
	fclose(f);
	return data;
}

#define RECORDING "skx-load-latency.weight_struct.perf.data"
#define PRINTED "skx-load-latency.weight_struct.perf.script.txt"

static bool load_script(struct script *s)
{
	size_t size;
	char *text = load(PRINTED, &size), *save = NULL;

	memset(s, 0, sizeof(*s));
	if (!text)
		return false;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		struct line *x = &s->line[s->count];
		unsigned long sec, nsec, addr, src, weight, ip;
		char *slash = strchr(l, '/'), *p, *last;

		while (slash && !(slash[-1] >= '0' && slash[-1] <= '9'))
			slash = strchr(slash + 1, '/');
		assert_non_null(slash);
		for (p = slash; p > l && p[-1] != ' '; p--)
			;
		assert_int_equal(sscanf(p, "%u/%u [%u] %lu.%lu:", &x->pid, &x->tid, &x->cpu, &sec, &nsec), 5);
		x->time = sec * 1000000000u + nsec;
		p = strstr(l, "pinned:");
		assert_non_null(p);
		assert_int_equal(sscanf(p + 7, "%lx %lx", &addr, &src), 2);
		last = strrchr(l, ' ');
		assert_int_equal(sscanf(last, "%lx", &ip), 1);
		while (last > l && *last == ' ')
			last--;
		while (last > l && *last != ' ')
			last--;
		assert_int_equal(sscanf(last, "%lu", &weight), 1);
		x->addr = addr;
		x->data_src = src;
		x->ip = ip;
		x->weight = (uint32_t)weight;
		s->count++;
	}
	free(text);
	return true;
}

static int compare(void *ctx, const struct sample *s)
{
	struct script *x = ctx;
	const struct line *l = &x->line[x->seen];

	x->maps += s->kind == SAMPLE_MMAP;
	x->comms += s->kind == SAMPLE_COMM;
	if (s->kind != SAMPLE_ACCESS)
		return 0;
	if (x->seen++ >= x->count)
		return 0;
	if (s->addr != l->addr || s->ip != l->ip || s->latency != l->weight || s->data_src != l->data_src ||
	    s->pid != l->pid || s->tid != l->tid || s->cpu != l->cpu || s->time != l->time || !(s->flags & SF_LOAD) ||
	    !!(s->flags & SF_KERNEL) != (l->ip >> 63))
		x->wrong++;
	return 0;
}

static void check(const void *data, size_t size, struct script *x)
{
	struct err e = { 0 };
	struct perfdata *p = perfdata_from(data, size, &e);

	x->seen = x->wrong = x->maps = x->comms = 0;
	assert_non_null(p);
	assert_int_equal(perfdata_read(p, compare, x, &e), 0);
	assert_int_equal(x->count, 14);
	assert_int_equal(x->seen, 14);
	assert_int_equal(x->wrong, 0);
	assert_true(x->maps > 1000);
	assert_true(x->comms > 100);
	assert_int_equal(perfdata_stats(p)->malformed, 0);
	assert_false(perfdata_stats(p)->truncated);
	perfdata_free(p);
}

TEST(as_perf_prints)
{
	struct script x;
	struct perfdata *p;
	struct err e = { 0 };
	size_t size;
	char *data = load(RECORDING, &size);

	if (!data || !load_script(&x))
		skip();
	check(data, size, &x);
	p = perfdata_from(data, size, &e);
	assert_int_equal(perfdata_event_count(p), 2);
	assert_int_equal(perfdata_event(p, 0)->attr.config, 0x1cd);
	assert_int_equal(perfdata_event(p, 0)->attr.config1, 0x40);
	assert_non_null(strstr(perfdata_event(p, 0)->name, "LOAD_LATENCY"));
	assert_non_null(strstr(perfdata_text(p, "cpudesc"), "8173M"));
	perfdata_free(p);
	free(data);
}

/* Header and records of a normal file as a pipe would carry them. */
static void to_pipe(const char *data, struct buf *out, bool compress)
{
	uint64_t h[13], attr_size, attrs_off, attrs_size, data_off, data_size, sixteen = 16;
	ZSTD_CStream *z = ZSTD_createCStream();

	memcpy(h, data, sizeof(h));
	attr_size = h[2], attrs_off = h[3], attrs_size = h[4], data_off = h[5], data_size = h[6];
	buf_add(out, data, 8);
	buf_add(out, &sixteen, 8);
	for (uint64_t at = attrs_off; at + attr_size <= attrs_off + attrs_size; at += attr_size) {
		uint64_t ids[2];
		struct {
			uint32_t type;
			uint16_t misc, size;
		} rec = { 64, 0, 0 };

		memcpy(ids, data + at + attr_size - 16, 16);
		rec.size = (uint16_t)(8 + attr_size - 16 + ids[1]);
		buf_add(out, &rec, 8);
		buf_add(out, data + at, attr_size - 16);
		/* attr.size says how long it is; files may hold more than that */
		memcpy(out->data + out->len - (attr_size - 16) + 4, &(uint32_t){ (uint32_t)(attr_size - 16) }, 4);
		buf_add(out, data + ids[0], ids[1]);
	}
	if (!compress) {
		buf_add(out, data + data_off, data_size);
		goto out;
	}
	ZSTD_initCStream(z, 1);
	/* pieces that cut records anywhere: one stream over all of them */
	for (uint64_t at = 0; at < data_size;) {
		uint64_t n = data_size - at < 30011 ? data_size - at : 30011;
		struct {
			uint32_t type;
			uint16_t misc, size;
		} rec = { 81, 0, 0 };
		char piece[65000];
		ZSTD_inBuffer in = { data + data_off + at, n, 0 };
		ZSTD_outBuffer o = { piece, sizeof(piece), 0 };

		while (in.pos < in.size)
			ZSTD_compressStream(z, &o, &in);
		ZSTD_flushStream(z, &o);
		rec.size = (uint16_t)(8 + o.pos);
		buf_add(out, &rec, 8);
		buf_add(out, piece, o.pos);
		at += n;
	}
out:
	ZSTD_freeCStream(z);
}

TEST(pipe_and_compressed)
{
	struct script x;
	size_t size;
	char *data = load(RECORDING, &size);
	struct buf b = { 0 };

	if (!data || !load_script(&x))
		skip();
	to_pipe(data, &b, false);
	check(b.data, b.len, &x);
	buf_clear(&b);
	to_pipe(data, &b, true);
	assert_true(b.len < size);
	check(b.data, b.len, &x);
	buf_release(&b);
	free(data);
}

static int ignore(void *ctx, const struct sample *s)
{
	return 0;
}

TEST(damaged)
{
	size_t size;
	char *data = load(RECORDING, &size), *copy;
	struct err e = { 0 };
	uint64_t x = 88172645463325252ull, end[2];

	if (!data)
		skip();
	assert_null(perfdata_from("PERFILE2", 8, &e));
	assert_null(perfdata_from("nonsense nonsense nonsense", 26, &e));
	assert_non_null(strstr(e.text, "not a perf recording"));
	assert_null(perfdata_from("2ELIFREP\0\0\0\0\0\0\0\x10", 16, &e));
	assert_non_null(strstr(e.text, "byte order"));
	copy = malloc(size);
	for (int i = 0; i < SIZED(40, 24); i++) {
		size_t n = size;
		struct perfdata *p;

		memcpy(copy, data, size);
		xorshift(&x);
		if (i % 2)
			n = x % size;
		else
			for (int k = 0; k < 20; k++) {
				xorshift(&x);
				copy[i % 4 ? x % 4096 : x % size] = (char)(x >> 32);
			}
		p = perfdata_from(copy, n, &e);
		if (!p)
			continue;
		perfdata_read(p, ignore, NULL, &e);
		memcpy(&end, data + 40, sizeof(end)); /* data.off, data.size */
		if (i % 2 && n < end[0] + end[1])
			assert_true(perfdata_stats(p)->truncated);
		perfdata_free(p);
	}
	free(copy);
	free(data);
}

static int count_all(void *ctx, const struct sample *s)
{
	(*(uint64_t *)ctx)++;
	return 0;
}

/* Records of 8 bytes, zeros but for what they are, a whole compressed record of them: `count` in some 100 bytes. */
static void squeezed(struct buf *out, unsigned count)
{
	struct perf_event_attr a = { .size = PERF_ATTR_SIZE_VER0, .type = PERF_TYPE_RAW };
	struct perf_event_header h = { 64 /* attr */, 0, (uint16_t)(sizeof(h) + a.size + 8) };
	const uint64_t begin[] = { 0x32454c4946524550ull, 16 }, id = 1;
	const struct perf_event_header r = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(r) };
	size_t bytes = count * sizeof(r), room = ZSTD_compressBound(bytes);
	char *plain = malloc(bytes), *packed = malloc(room);

	for (unsigned i = 0; i < count; i++)
		memcpy(plain + i * sizeof(r), &r, sizeof(r));
	room = ZSTD_compress(packed, room, plain, bytes, 19);
	assert_false(ZSTD_isError(room) || room > 60000);
	buf_add(out, begin, sizeof(begin));
	buf_add(out, &h, sizeof(h));
	buf_add(out, &a, a.size);
	buf_add(out, &id, 8);
	h = (struct perf_event_header){ 81 /* compressed */, 0, (uint16_t)(sizeof(h) + room) };
	buf_add(out, &h, sizeof(h));
	buf_add(out, packed, room);
	free(plain);
	free(packed);
}

/* What one read of the decoder does not give is asked for; what no recorder can have written is refused. */
TEST(squeezed_records)
{
	static const unsigned many[] = { 100000, 30000000 };

	for (int i = 0; i < 2; i++) {
		AUTO_BUF(b);
		struct err e = { 0 };
		struct perfdata *p;
		uint64_t n = 0;

		squeezed(&b, many[i]);
		p = perfdata_from(b.data, b.len, &e);
		assert_non_null(p);
		if (!i) {
			assert_int_equal(perfdata_read(p, count_all, &n, &e), 0);
			assert_int_equal(n, many[i]);
			assert_false(perfdata_stats(p)->truncated);
		} else {
			assert_int_equal(perfdata_read(p, count_all, &n, &e), -EBADMSG);
		}
		perfdata_free(p);
	}
}

static int in_order(void *ctx, const struct sample *s)
{
	assert_int_equal(s->time, ++*(uint64_t *)ctx);
	return 0;
}

TEST(halves_of_a_queue)
{
	struct queue *q = queue_new();
	struct sample s = { 0 };
	uint64_t last = 0;

	for (s.time = 7; s.time; s.time--)
		assert_int_equal(queue_push(q, &s), 0);
	assert_int_equal(queue_flush_half(q, in_order, &last), 0);
	assert_int_equal(last, 4);
	assert_int_equal(queue_flush_half(q, in_order, &last), 0);
	assert_int_equal(last, 6);
	assert_int_equal(queue_flush(q, 7, in_order, &last), 0);
	assert_int_equal(last, 6);
	assert_int_equal(queue_flush(q, 8, in_order, &last), 0);
	assert_int_equal(last, 7);
	assert_int_equal(queue_bytes(q), 0);
	queue_free(q);
}
