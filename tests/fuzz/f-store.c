// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profile reader and all that renders a profile, on hostile files. Each input is read three times: as
 * it is, with the checksums of what looks like chunks put right, because a fuzzer does not
 * guess a hash and would never get past it, and with each chunk's bytes repeated and packed by zstd, because it
 * does not guess a compressed megabyte either: then memory must stay bounded by the file.
 */
/* harm: a profile of 200 KB at most that unpacks to a gigabyte */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "profile/profile.h"
#include "store/read.h"
#include "view/export.h"
#include "view/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mend(uint8_t *data, size_t size)
{
	struct fmt_file head;
	struct fmt_chunk c;

	if (size < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	head.magic = FMT_MAGIC;
	head.major = FMT_MAJOR;
	head.header_size = sizeof(head);
	memcpy(data, &head, sizeof(head));
	for (size_t p = sizeof(head); size - p >= sizeof(c); p += sizeof(c) + c.stored_size) {
		memcpy(&c, data + p, sizeof(c));
		c.magic = FMT_CHUNK_MAGIC;
		if (c.stored_size > size - p - sizeof(c))
			c.stored_size = (uint32_t)(size - p - sizeof(c));
		if ((c.flags & (FMT_RAW | FMT_CHANGED)) == FMT_RAW)
			c.raw_size = c.stored_size;
		if (c.rec_size && (uint64_t)c.rec_size * c.count != c.raw_size)
			c.count = c.raw_size / c.rec_size;
		c.xxh64 = XXH64(data + p + sizeof(c), c.stored_size, XXH64(&c, offsetof(struct fmt_chunk, xxh64), 0));
		memcpy(data + p, &c, sizeof(c));
	}
}

/* timed: of the formats that show time, which `eo` then has; else the others. */
static void export_all(const struct profile *p, const struct export_opts *eo, bool timed)
{
	struct buf out = { 0 };

	for (const struct export_format *f = export_formats; f->name; f++) {
		if (f->timed == timed && f->branches == !!eo->branches)
			f->render(p, eo, &out, NULL);
		buf_release(&out);
	}
}

static void render(const struct profile *p)
{
	struct report_opts o = { .children = true, .inlined = true, .per_thread = true, .callers = "main" };
	struct text_style style = { .width = 80, .colour = true };
	struct export_opts eo = { .inlined = true };
	struct report r;
	struct buf out = { 0 };

	if (report_build(p, "fuzz", &o, &r, NULL)) {
		o.callers = NULL;
		if (report_build(p, "fuzz", &o, &r, NULL))
			return;
	}
	report_text(&r, &style, &out);
	report_json(&r, &out);
	report_release(&r);
	buf_release(&out);
	export_all(p, &eo, false);
}

static void render_in_order(const char *path)
{
	struct in_order o;
	struct export_opts eo = { .inlined = true, .in_order = &o };
	struct profile *p = in_order_load_as_stored(path, &o, NULL);

	if (p)
		export_all(p, &eo, true);
	in_order_release(&o);
	profile_free(p);
}

static void render_branches(const char *path)
{
	struct branches b = { 0 };
	struct section_reader ways = branches_reader(&b);
	struct export_opts eo = { .branches = &b };
	struct err e = { 0 };
	struct profile *p = profile_load_with(path, 0, &ways, 1, &e);

	if (p)
		branches_sum(&b, p);
	for (eo.module = 0; p && eo.module <= p->module_count && eo.module < 4; eo.module++)
		export_all(p, &eo, false);
	branches_release(&b);
	profile_free(p);
}

static void read_all(const char *path)
{
	struct err e = { 0 };
	struct store_reader *r = store_open(path, &e);
	struct profile *p;
	struct store_chunk c;
	uint64_t first = 0, second = 0;
	size_t n;

	if (!r)
		return;
	for (int pass = 0; pass < 2; pass++) {
		while (store_next(r, &c, &e) > 0) {
			uint64_t *sum = pass ? &second : &first;
			const uint8_t *rec;

			for (uint32_t i = 0; c.rec_size && i < c.count; i++) {
				struct fmt_window w;

				store_rec(&c, i, &w, sizeof(w));
				*sum += w.armed;
			}
			while ((rec = store_next_var(&c, &n)))
				*sum += n ? rec[n - 1] : 1;
		}
		store_rewind(r);
	}
	/* two walks see the same */
	if (first != second)
		abort();
	store_reader_free(r);
	p = profile_load_as_stored(path, &e);
	if (p)
		render(p);
	profile_free(p);
	render_in_order(path);
	render_branches(path);
}

#define INFLATED (1u << 20)   /* bytes of an inflated chunk */
#define MOST_MEMORY (1 << 20) /* KiB, of all that happens here: the sanitizer keeps 256 MiB of freed blocks */

/* Each unpacked chunk of the mended file becomes 1 MiB of itself, packed: of eight, which is twice what so small a
 * file may hold. */
static void inflate(const uint8_t *data, size_t size, int fd)
{
	size_t bound = ZSTD_compressBound(INFLATED), n;
	uint8_t *raw = malloc(INFLATED), *packed = malloc(sizeof(struct fmt_chunk) + bound);
	struct fmt_file head;
	struct fmt_chunk c;
	off_t to = sizeof(head);

	if (raw && packed && size >= sizeof(head) && pwrite(fd, data, sizeof(head), 0) == sizeof(head))
		for (size_t p = sizeof(head), k = 0; size - p >= sizeof(c) && k < 8;
		     p += sizeof(c) + c.stored_size, k++) {
			memcpy(&c, data + p, sizeof(c));
			/* as many bytes as it says lie here only if they lie as they are */
			if (c.flags != FMT_RAW || !c.raw_size || c.raw_size > size - p - sizeof(c))
				continue;
			n = INFLATED / c.raw_size * c.raw_size;
			for (size_t at = 0; at < n; at += c.raw_size)
				memcpy(raw + at, data + p + sizeof(c), c.raw_size);
			c.count = c.rec_size ? (uint32_t)(n / c.rec_size) : (uint32_t)(n / c.raw_size);
			c.flags = 0;
			c.raw_size = (uint32_t)(c.rec_size ? c.count * c.rec_size : n);
			n = ZSTD_compress(packed + sizeof(c), bound, raw, c.raw_size, 1);
			struct fmt_chunk to_write = c;

			to_write.stored_size = (uint32_t)n;
			to_write.xxh64 =
				XXH64(packed + sizeof(c), n, XXH64(&to_write, offsetof(struct fmt_chunk, xxh64), 0));
			memcpy(packed, &to_write, sizeof(to_write));
			if (pwrite(fd, packed, sizeof(c) + n, to) == (ssize_t)(sizeof(c) + n))
				to += (off_t)(sizeof(c) + n);
		}
	free(raw);
	free(packed);
	if (ftruncate(fd, to))
		abort();
}

static void stay_small(void)
{
	struct rusage ru;

	if (!getrusage(RUSAGE_SELF, &ru) && ru.ru_maxrss > MOST_MEMORY)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("f-store", MFD_CLOEXEC);
	uint8_t *copy = malloc(size + 1);
	char path[64];

	if (fd >= 0 && copy) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		memcpy(copy, data, size);
		if (pwrite(fd, copy, size, 0) == (ssize_t)size)
			read_all(path);
		mend(copy, size);
		if (pwrite(fd, copy, size, 0) == (ssize_t)size)
			read_all(path);
		if (XXH64(data, size, 0) % 64 == 0) { /* it takes a hundred times as long: now and then */
			inflate(copy, size, fd);
			read_all(path);
			stay_small();
		}
	}
	if (fd >= 0)
		close(fd);
	free(copy);
	return 0;
}
