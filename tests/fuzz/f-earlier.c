// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile file of what earlier recordings saw: loads and writers under a right head. What a recording takes from it,
 * and what the file is after a recording of the same program was added.
 */
/* harm: damaged cache files */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "flow/earlier_kept.h"
#include "format.h"
#include "store/write.h"
#include "util/cachedir.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAGIC 0x3130524c52414541ull
#define CONTENT 1
#define HEAD 40   /* bytes before the first load */
#define SUMMED 16 /* bytes that the sum is not of */
#define NOW 1000000ull

static char folder[64], profile[96];
static int dir = -1;
static uint64_t key;

static void make_profile(void)
{
	struct fmt_burst_site site = { .id = 1, .module = 1, .ip = 0x1000, .load_bytes = 8, .bursts = 3 };
	struct fmt_burst_pair pair = { .reader = 1, .writer = 1, .bin = 2, .bytes = 8 };
	struct fmt_module m = { .id = 1, .kind = FMT_MOD_FILE, .build_id_len = 20, .content = CONTENT };
	struct err e = { 0 };
	struct store_writer *s;

	snprintf(profile, sizeof(profile), "%s/profile", folder);
	s = store_create(profile, 0, &e);
	if (!s)
		abort();
	m.path = store_string(s, "/bin/program");
	store_put(s, FMT_MODULE, &m, sizeof(m));
	store_put(s, FMT_BURST_SITE, &site, sizeof(site));
	store_put(s, FMT_BURST_PAIR, &pair, sizeof(pair));
	if (store_close(s, &e))
		abort();
	key = earlier_key(m.build_id, m.build_id_len, CONTENT);
	key = earlier_key_in(key, key);
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
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(folder, sizeof(folder), "/dev/shm/accperf-f-earlier.%d", (int)getpid());
	dir = cachedir_open_path(folder);
	if (dir < 0)
		abort();
	make_profile();
	atexit(remove_folder);
	return 0;
}

/* The first byte says how many loads there are, the second how the head lies. */
static void plant(const uint8_t *data, size_t size)
{
	size_t loads = data[0], rest = size - 2;
	uint64_t head[HEAD / 8] = { MAGIC, 0, key, data[1] & 2 ? 2 * NOW : NOW / 2 };
	uint32_t counts[2];
	char name[32];
	AUTO_BUF(b);

	loads = loads * sizeof(struct earlier_load) > rest ? rest / sizeof(struct earlier_load) : loads;
	counts[0] = (uint32_t)loads + (data[1] & 1);
	counts[1] = (uint32_t)((rest - loads * sizeof(struct earlier_load)) / sizeof(struct earlier_writer));
	memcpy(&head[4], counts, sizeof(counts));
	buf_add(&b, head, sizeof(head));
	buf_add(&b, data + 2,
		loads * sizeof(struct earlier_load) + (data[1] & 1 ? 0 : counts[1] * sizeof(struct earlier_writer)));
	if (buf_failed(&b))
		abort();
	head[1] = XXH64(b.data + SUMMED, b.len - SUMMED, 0);
	memcpy(b.data, head, sizeof(head));
	snprintf(name, sizeof(name), "w%016lx", (unsigned long)key);
	if (cachedir_write(dir, name, &b, 1 << 28))
		abort();
}

static void take(void)
{
	struct earlier_kept k;

	earlier_load(dir, key, NOW, &k);
	for (size_t i = 0; i < k.loads; i++)
		if (!(k.load[i].bursts >= 0))
			abort();
	for (size_t i = 0; i < k.writers; i++)
		if (k.writer[i].load >= k.loads || k.writer[i].bin > 63 || !(k.writer[i].bytes >= 0))
			abort();
	earlier_release(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };

	if (size < 2)
		return 0;
	plant(data, size);
	take();
	if (earlier_keep(dir, profile, NOW, &e) < 0)
		abort();
	take();
	return 0;
}
