// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile file of the symbol cache: head (checksum made right), entries, frames, strings. What is found
 * there, what is put to it, and what is then found again.
 */
/* harm: damaged cache files */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "symbol/symcache.h"
#include "util/cachedir.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONTENT 0x77
#define ENTRY 24 /* bytes */
#define MOST 32

static char home[64];
static const uint8_t id[20] = { 0xab };

static void remove_home(void)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/accperf/symbols/ab%038d-%016x", home, 0, CONTENT);
	unlink(path);
	snprintf(path, sizeof(path), "%s/accperf/symbols", home);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/accperf", home);
	rmdir(path);
	rmdir(home);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(home, sizeof(home), "/dev/shm/accperf-f-symcache.%d", (int)getpid());
	if (mkdir(home, 0700))
		abort();
	setenv("XDG_CACHE_HOME", home, 1);
	atexit(remove_home);
	return 0;
}

static void plant(const uint8_t *data, size_t size)
{
	struct {
		uint64_t magic, xxh64;
	} head = { SYMCACHE_MAGIC, 0 };
	int dir = cachedir_open("symbols");
	char name[64];
	AUTO_BUF(b);

	/* the checksum is of all behind the whole head, 32 bytes */
	head.xxh64 = size >= 32 ? XXH64(data + 32, size - 32, 0) : 0;
	buf_add(&b, &head, sizeof(head));
	buf_add(&b, data + 16, size - 16);
	snprintf(name, sizeof(name), "ab%038d-%016x", 0, CONTENT);
	if (dir < 0 || cachedir_write(dir, name, &b, 1 << 28))
		abort();
	close(dir);
}

static void look(struct symcache *c, uint64_t addr)
{
	struct symbol_frame f[MOST];
	enum symbol_origin origin;
	unsigned n = symcache_get(c, addr, f, MOST, &origin);

	if (n > MOST || (n && origin != SYM_DWARF && origin != SYM_TABLE))
		abort();
	for (unsigned i = 0; i < n; i++) {
		size_t length = strlen(f[i].name) + (f[i].decl_file ? strlen(f[i].decl_file) : 0) +
				(f[i].file ? strlen(f[i].file) : 0);

		if (length > 1 << 20)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_frame mine[2] = { { "inner", NULL, 0, "a.c", 7 }, { "outer", "b.h", 3, NULL, 9 } }, f[MOST];
	enum symbol_origin before, after;
	struct symcache *c;
	unsigned n;

	if (size < 16)
		return 0;
	plant(data, size);
	c = symcache_open(id, sizeof(id), CONTENT);
	if (!c)
		abort();
	/* the addresses that its entries claim, wherever those end */
	for (size_t at = 32; at + ENTRY <= size && at < 32 + 64 * ENTRY; at += ENTRY) {
		uint64_t addr;

		memcpy(&addr, data + at, sizeof(addr));
		look(c, addr);
	}
	symcache_get(c, 0x1234, f, MOST, &before);
	symcache_put(c, (struct dwfl_piece){ 0x1234, 1 }, mine, 2, SYM_DWARF);
	symcache_close(c);
	c = symcache_open_gone(id, sizeof(id));
	if (!c)
		abort();
	n = symcache_get(c, 0x1234, f, MOST, &after);
	if (!before && (n != 2 || after != SYM_DWARF || strcmp(f[0].name, "inner") || strcmp(f[1].decl_file, "b.h")))
		abort();
	symcache_close(c);
	return 0;
}
