// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile file of the counts cache: entries under a right head. What a recording of the same program takes from
 * it, the ratio that comes of that, and what the file is after the recording was added.
 */
/* harm: damaged cache files */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "counts/counts_cache.h"
#include "store/write.h"
#include "util/cachedir.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAGIC 0x31304e5553434341ull
#define CONTENT 1
#define ENTRY 240 /* bytes of an entry: key 40, sums 200 */

static struct counts_record rec;
static char folder[64];
static int dir = -1;

/* One function with a loop: the one link that the cache knows. */
static void make_record(void)
{
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE, .build_id_len = 20, .content = CONTENT };
	struct fmt_counts_func f = { .id = 1,
				     .module = 1,
				     .start = 0x1000,
				     .end = 0x1100,
				     .self_ns = 1e9,
				     .samples = 100,
				     .flags = FMT_CF_GRAPH | FMT_CF_COMPLETE };
	struct fmt_counts_node n[] = {
		{ .id = 1, .function = 1, .kind = FMT_CN_ENTRY, .addr = 0x1000, .instructions = 5 },
		{ .id = 2, .function = 1, .kind = FMT_CN_LOOP, .addr = 0x1010, .instructions = 5, .depth = 1 }
	};
	struct fmt_counts_link l = { .id = 1, .parent = 1, .child = 2, .how = FMT_CL_RATIO };
	struct fmt_counts_window w = { .armed = 1, .ended = 2, .link = 1, .anchor = 10, .child = 70 };
	struct store_writer *s;
	struct err e = { 0 };
	char path[96];

	snprintf(path, sizeof(path), "%s/profile", folder);
	s = store_create(path, 0, &e);
	if (!s)
		abort();
	store_put(s, FMT_MODULE, &m, sizeof(m));
	store_put(s, FMT_COUNTS_FUNC, &f, sizeof(f));
	store_put(s, FMT_COUNTS_NODE, &n[0], sizeof(n[0]));
	store_put(s, FMT_COUNTS_NODE, &n[1], sizeof(n[1]));
	store_put(s, FMT_COUNTS_LINK, &l, sizeof(l));
	store_put(s, FMT_COUNTS_WINDOW, &w, sizeof(w));
	if (store_close(s, &e) || counts_record_load(&rec, path, &e) || rec.links != 1)
		abort();
	rec.recording = 5;
	unlink(path);
}

static void remove_folder(void)
{
	const struct dirent *entry;
	DIR *list = fdopendir(dir);

	if (list)
		rewinddir(list);
	while (list && (entry = readdir(list)))
		unlinkat(dir, entry->d_name, 0);
	if (list)
		closedir(list);
	rmdir(folder);
	counts_record_release(&rec);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(folder, sizeof(folder), "/dev/shm/accperf-f-countscache.%d", (int)getpid());
	dir = cachedir_open_path(folder);
	if (dir < 0)
		abort();
	make_record();
	atexit(remove_folder);
	return 0;
}

/* The first byte says how the head lies; entries that are whole get the link's own key now and then. */
static void plant(const uint8_t *data, size_t size)
{
	struct {
		uint64_t magic, xxh64;
		uint32_t entries, entry_size;
	} h = { .magic = MAGIC, .entry_size = ENTRY };
	struct {
		uint64_t parent_module, parent, child, site;
		uint32_t how, pad;
	} key = { XXH64((uint8_t[20]){ 0 }, 20, CONTENT),
		  0x1000,
		  0x1010,
		  0,
		  FMT_CL_RATIO | FMT_CN_ENTRY << 8 | FMT_CN_LOOP << 16,
		  0 };
	char name[24];
	AUTO_BUF(b);

	h.entries = (uint32_t)((size - 1) / ENTRY) + (data[0] & 1);
	buf_add(&b, &h, sizeof(h));
	buf_add(&b, data + 1, size - 1);
	if (buf_failed(&b))
		abort();
	for (size_t at = sizeof(h); !(data[0] & 2) && at + ENTRY <= b.len; at += 2 * ENTRY)
		memcpy(b.data + at, &key, sizeof(key));
	h.xxh64 = XXH64(b.data + sizeof(h), b.len - sizeof(h), 0);
	memcpy(b.data, &h, sizeof(h));
	snprintf(name, sizeof(name), "%016lx", (unsigned long)key.parent_module);
	if (cachedir_write(dir, name, &b, 1 << 28))
		abort();
}

static void take(void)
{
	struct counts_others *o = &rec.link[0].others;
	struct counts_ratio r;

	memset(o, 0, sizeof(*o));
	if (counts_cache_fill(dir, &rec) < 0 || o->recordings > COUNTS_CACHE_RECORDINGS)
		abort();
	counts_cache_ratio(o, &r);
	if (o->recordings && r.how == COUNTS_CACHED && !(r.ratio >= 0 && r.low <= r.ratio && r.ratio <= r.high))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	plant(data, size);
	take();
	if (counts_cache_add(dir, &rec) < 0)
		abort();
	take();
	return 0;
}
