// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/hashed.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/openfile.h"

#define PIECE (1u << 20) /* bytes of a file read at once */

/* ns after which a change gets another time than the one before: the kernel's clock of files goes on with its tick, at
 * most 10 ms; five times that. */
#define TIMES_SETTLE 50000000ll

static int64_t file_time(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* A writer cannot choose the time of the last change (st_ctim). Whole seconds: of a file system that knows no
 * parts of them. */
static bool times_settled(const struct stat *st)
{
	return st->st_ctim.tv_nsec && (int64_t)clock_ns(CLOCK_REALTIME) - file_time(&st->st_ctim) > TIMES_SETTLE;
}

static void hash_place(XXH3_state_t *h, const struct stat *st)
{
	const int64_t as[] = { (int64_t)st->st_dev, (int64_t)st->st_ino, st->st_size, file_time(&st->st_mtim),
			       file_time(&st->st_ctim) };

	XXH3_128bits_update(h, as, sizeof(as));
}

static bool hash_contents(XXH3_state_t *h, int fd)
{
	char *piece = malloc(PIECE);
	uint64_t size = 0;
	ssize_t n = -1;

	while (piece && (n = read(fd, piece, PIECE)) > 0) {
		XXH3_128bits_update(h, piece, (size_t)n);
		size += (uint64_t)n;
	}
	XXH3_128bits_update(h, &size, sizeof(size));
	free(piece);
	return n == 0;
}

bool hashed_file(XXH3_state_t *h, const char *path, struct stat *st)
{
	int fd = openfile_regular(path, st);
	bool ok = fd >= 0, settled = ok && times_settled(st);

	if (settled)
		hash_place(h, st);
	else if (ok)
		ok = hash_contents(h, fd);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* The first object is the program. Its build-id is a sum of its contents that the linker made. */
static int hash_build_id(struct dl_phdr_info *program, size_t size, void *hash)
{
	for (unsigned i = 0; i < program->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &program->dlpi_phdr[i];
		const char *at = (const char *)(program->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && (size_t)(end - at) > sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *n = (const void *)at;
			const char *name = at + sizeof(*n), *id = name + (n->n_namesz + 3) / 4 * 4;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4))
				return XXH3_128bits_update(hash, id, n->n_descsz) == XXH_OK ? 1 : -1;
			at = id + (n->n_descsz + 3) / 4 * 4;
		}
	}
	return -1; /* no other object */
}

bool hashed_program(XXH3_state_t *h)
{
	struct stat st;

	return dl_iterate_phdr(hash_build_id, h) == 1 || hashed_file(h, "/proc/self/exe", &st);
}
