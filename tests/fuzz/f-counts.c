// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile sections of execution counts -> record -> tree -> solver -> rows -> views. Input = repeated
 * { section, size, data }; chunks get valid checksums. Ids are folded into a few, so that records find
 * each other.
 */
#include <dirent.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "counts/counts_cache.h"
#include "store/write.h"
#include "util/cachedir.h"
#include "view/counts.h"

#define CONTENT 1

static const struct {
	uint16_t section, size;
} kinds[] = {
	{ FMT_COUNTS_FUNC, sizeof(struct fmt_counts_func) },
	{ FMT_COUNTS_NODE, sizeof(struct fmt_counts_node) },
	{ FMT_COUNTS_BLOCK, sizeof(struct fmt_counts_block) },
	{ FMT_COUNTS_LINK, sizeof(struct fmt_counts_link) },
	{ FMT_COUNTS_LINK, sizeof(struct fmt_counts_link) },
	{ FMT_COUNTS_WINDOW, sizeof(struct fmt_counts_window) },
	{ FMT_SEGMENT, sizeof(struct fmt_segment) },
	{ FMT_COUNTS_DRAWN, sizeof(struct fmt_counts_drawn) },
	{ FMT_MODULE, sizeof(struct fmt_module) },
	{ FMT_SYMBOL, 0 },
	{ FMT_FUNCTION, sizeof(struct fmt_function) },
	{ FMT_COUNTS_WENT, sizeof(struct fmt_counts_went) }, /* kinds of older seeds keep their places */
	{ FMT_COUNTS_REPEATS, sizeof(struct fmt_counts_repeats) },
	{ FMT_SEGMENT_STRETCH, sizeof(struct fmt_segment_stretch) },
};

static void fold(uint8_t *at, uint32_t below)
{
	uint32_t id;

	memcpy(&id, at, sizeof(id));
	id %= below;
	memcpy(at, &id, sizeof(id));
}

static void put(struct store_writer *w, unsigned kind, uint8_t *rec, unsigned n)
{
	switch (kinds[kind].section) {
	case FMT_MODULE:
		fold(rec, 4);
		memset(rec + offsetof(struct fmt_module, build_id), 0, 20);
		rec[offsetof(struct fmt_module, build_id_len)] = 20;
		memset(rec + offsetof(struct fmt_module, build_id_len) + 1, 0, 3);
		memset(rec + offsetof(struct fmt_module, content), 0, 8);
		rec[offsetof(struct fmt_module, content)] = CONTENT; /* the cache is for files that are known */
		break;
	case FMT_COUNTS_FUNC:
		fold(rec, 8);
		fold(rec + offsetof(struct fmt_counts_func, module), 4);
		break;
	case FMT_COUNTS_NODE:
		fold(rec, 24);
		fold(rec + offsetof(struct fmt_counts_node, function), 8);
		break;
	case FMT_COUNTS_LINK:
		fold(rec, 40);
		fold(rec + offsetof(struct fmt_counts_link, parent), 24);
		fold(rec + offsetof(struct fmt_counts_link, child), 24);
		fold(rec + offsetof(struct fmt_counts_link, how), 6);
		break;
	case FMT_COUNTS_REPEATS:
	case FMT_COUNTS_DRAWN: fold(rec, 8); break;
	case FMT_COUNTS_WENT:
		fold(rec, 8);
		fold(rec + offsetof(struct fmt_counts_went, function), 8);
		break;
	case FMT_SEGMENT:
		fold(rec + offsetof(struct fmt_segment, state), FMT_SEG_STATES + 1);
		fold(rec + offsetof(struct fmt_segment, cause), FMT_SEGCS + 1);
		/* fewer of a stretch, and of stretches, tell no rate */
		for (uint32_t i = 0; i < 10; i++) {
			memcpy(rec + offsetof(struct fmt_segment, stretch), &(uint32_t){ i / 2 }, sizeof(i));
			store_put(w, FMT_SEGMENT, rec, kinds[kind].size);
		}
		return;
	case FMT_COUNTS_WINDOW:
		fold(rec + offsetof(struct fmt_counts_window, link), 40);
		/* a window that says nothing is no test: three of them make a ratio */
		for (int i = 0; i < 3; i++)
			store_put(w, FMT_COUNTS_WINDOW, rec, kinds[kind].size);
		return;
	}
	if (kinds[kind].size)
		store_put(w, (enum fmt_section)kinds[kind].section, rec, kinds[kind].size);
	else
		store_put_var(w, (enum fmt_section)kinds[kind].section, rec, n, NULL, 0);
}

static void write_profile(const char *path, const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	struct store_writer *w = store_create(path, 0, &e);

	if (!w)
		abort();
	store_string(w, "f\033[31m");
	while (size >= 2) {
		unsigned kind = data[0] % (sizeof(kinds) / sizeof(kinds[0])), n = data[1];
		uint8_t rec[256] = { 0 };

		data += 2;
		size -= 2;
		n = n > size ? (unsigned)size : n;
		if (kinds[kind].size && n > kinds[kind].size)
			n = kinds[kind].size;
		memcpy(rec, data, n);
		put(w, kind, rec, n);
		data += n;
		size -= n;
	}
	if (store_close(w, &e))
		abort();
}

static void show(const struct counts_record *rec, const struct profile *p)
{
	struct text_style style = { .width = 80, .colour = true };
	struct counts_report r;
	struct err e = { 0 };

	if (counts_report_make(rec, p, NULL, 100, &r, &e))
		return;
	for (size_t i = 0; i < r.row_count; i++)
		if (r.row[i].trust < 0 || r.row[i].trust > 1)
			abort();
	for (int i = 0; i < 2; i++) {
		struct counts_view v = { .r = &r, .rows = 20, .source = "fuzz" };
		AUTO_BUF(out);

		if (i)
			counts_json(&v, &out);
		else
			counts_text(&v, &style, &out);
	}
	counts_report_release(&r);
}

static void cache_path(char *path, size_t size)
{
	snprintf(path, size, "/dev/shm/accperf-f-counts.%d.cache", (int)getpid());
}

/* The input as a file of the cache, under the name of the module whose build-id is all zeros. */
static int write_cache(const uint8_t *data, size_t size)
{
	const uint8_t id[20] = { 0 };
	struct {
		uint64_t magic, xxh64;
		uint32_t entries, entry_size;
	} h = { .magic = 0x31304e5553434341ull, .entry_size = 240 };
	char path[64], name[24];
	int dir;
	AUTO_BUF(b);

	cache_path(path, sizeof(path));
	snprintf(name, sizeof(name), "%016lx", (unsigned long)XXH64(id, sizeof(id), CONTENT));
	dir = cachedir_open_path(path);
	h.entries = (uint32_t)(size / h.entry_size);
	size = (size_t)h.entries * h.entry_size;
	h.xxh64 = XXH64(data, size, 0);
	buf_add(&b, &h, sizeof(h));
	buf_add(&b, data, size);
	if (dir >= 0)
		cachedir_write(dir, name, &b, 1 << 20);
	return dir;
}

/* With all that is in it, whoever wrote that. */
static void remove_cache(int dir)
{
	char path[64];
	const struct dirent *entry;
	DIR *list = fdopendir(dir);

	if (list)
		rewinddir(list); /* the cache reads it, too */
	while (list && (entry = readdir(list)))
		unlinkat(dir, entry->d_name, 0);
	if (list)
		closedir(list);
	cache_path(path, sizeof(path));
	if (rmdir(path))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct counts_record rec;
	struct err e = { 0 };
	struct profile *p;
	int dir = size & 1 ? write_cache(data, size) : -1;

	snprintf(path, sizeof(path), "/dev/shm/accperf-f-counts.%d", (int)getpid());
	write_profile(path, data, size);
	if (!counts_record_load(&rec, path, &e)) {
		if (dir >= 0 && size & 1) {
			counts_cache_fill(dir, &rec);
			rec.recording = 5;
			counts_cache_add(dir, &rec);
		}
		p = profile_load_as_stored(path, &e);
		if (p)
			show(&rec, p);
		profile_free(p);
		counts_record_release(&rec);
	}
	unlink(path);
	if (dir >= 0)
		remove_cache(dir);
	return 0;
}
