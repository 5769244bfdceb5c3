/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the functions and markers of an ELF file lie in the file, which is what uprobes want.
 * Dynamic symbols first (they survive strip), then the symbol table if there is one. The file is
 * hostile input. Included by offload, record and tests; owns nothing beyond a call.
 */
#ifndef ACCPERF_KMOD_FREE_ELFSYM_H
#define ACCPERF_KMOD_FREE_ELFSYM_H

#include <stdbool.h>
#include <stdint.h>

#include "util/err.h"

struct elfsym {
	const char *name; /* borrowed during the callback */
	uint64_t offset;  /* in the file */
};

struct elfsym_marker {
	const char *provider, *name, *args; /* borrowed */
	uint64_t offset;
};

struct elfsym_info {
	bool dynamic_symbols, full_symbols;
	unsigned functions;
};

/* Calls fn for each function the file defines; fn returns nonzero to stop. 0 or -errno. */
int elfsym_walk(int fd, int (*fn)(void *ctx, const struct elfsym *s), void *ctx, struct elfsym_info *info,
		struct err *e);
/* For tests and fuzzers: the same for an image in memory. */
int elfsym_walk_memory(const void *image, uint64_t size, int (*fn)(void *ctx, const struct elfsym *s), void *ctx,
		       struct elfsym_info *info, struct err *e);
/* Markers in SystemTap's note format (stapsdt). */
int elfsym_markers(int fd, int (*fn)(void *ctx, const struct elfsym_marker *m), void *ctx, struct err *e);
/* For tests and fuzzers: the same for an image in memory. */
int elfsym_markers_memory(const void *image, uint64_t size, int (*fn)(void *ctx, const struct elfsym_marker *m),
			  void *ctx, struct err *e);
/* A variable that the file exports: how far it lies, in memory, above where the file's beginning would be, were all of
 * it mapped as its code is. */
bool elfsym_variable(int fd, const char *name, uint64_t *from);
/* RUNPATH or RPATH entries, joined by ':' as in the file; empty if none. */
int elfsym_runpath(int fd, char *text, size_t size);

#endif
