/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions of a process's files allocate and free, found by symbol: those of glibc, musl, jemalloc, tcmalloc
 * and mimalloc by whatever prefix, preloaded or linked in, and functions of the user's own (`--heap-probe`). A C++
 * library's operator new goes to malloc() and is not probed; that of an allocator's own file is. Files are looked at
 * once. Included by this room alone.
 *
 * To add a function: a row in allocators.c. To add an allocator with a prefix of its own: its prefix there.
 */
#ifndef ACCPERF_RECORD_ALLOCATORS_H
#define ACCPERF_RECORD_ALLOCATORS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kmod-free/heap_probes.h"
#include "util/err.h"

#define ALLOCATOR_OWN_MOST 16 /* of one recording; by hand */

/* A function of the user's: the block is its result. */
struct allocator_own {
	char name[128];
	unsigned arg; /* which argument the bytes are in, from 0 */
	bool found;
};

/* "pool_get" or "pool_get(arg1)". */
int allocator_own_parse(const char *text, struct allocator_own *out, struct err *e);

struct allocators;

/* h, own: borrowed. */
struct allocators *allocators_new(struct heap_probes *h, struct allocator_own *own, unsigned own_cnt);
void allocators_free(struct allocators *a);
/* Files of the process that have such functions, as heap_probes_file() numbers them: how many, at most `most`. -ESRCH:
 * the process is gone. */
int allocators_of(struct allocators *a, pid_t pid, int *files, unsigned most);
/* Functions that are not probed, as not all their exits are known; files for which there was no room. */
unsigned allocators_without_exits(const struct allocators *a);
unsigned allocators_without_room(const struct allocators *a);

#endif
