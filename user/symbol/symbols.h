/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * (module, address) -> functions with inlining, in batches. In this order: DWARF of the file, of
 * its gnu_debuglink, of its build-id path, of debuginfod (only if DEBUGINFOD_URLS is set); .symtab
 * and .dynsym of any of these; bounds from .eh_frame, or by control flow where it has none, giving `object+0xstart`;
 * `object+0xaddr`.
 * Never "[unknown]". Results from DWARF are cached by build-id and content. Files are read in
 * contained children. Included by attr, profile, flow, exact and tests.
 *
 * To add a source of names: a step in symbols_resolve(), before the one it is better than.
 */
#ifndef ACCPERF_SYMBOL_SYMBOLS_H
#define ACCPERF_SYMBOL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/module.h"
#include "util/err.h"

enum symbol_origin {
	SYM_DWARF = 1,
	SYM_TABLE = 2,
	SYM_FDE = 3,
	SYM_OFFSET = 4,
	SYM_JIT = 5,
	SYM_KERNEL = 6,
	SYM_FLOW = 7
};

struct symbol_frame {
	const char *name;      /* demangled; never NULL */
	const char *decl_file; /* where the function is declared; NULL unknown */
	uint32_t decl_line;    /* 0 unknown */
	const char *file;      /* where execution stands; NULL unknown */
	uint32_t line;
};

/* The chain for addrs[index], innermost inline first, the physical function last; borrowed. */
typedef void (*symbol_fn)(void *ctx, size_t index, const struct symbol_frame *chain, unsigned count,
			  enum symbol_origin origin);

struct symbols;
struct symbols_counters {
	uint64_t asked, from_cache, dwarf, table, fde, offset;
	uint64_t dwarf_failed; /* files whose debug information was damaged, or too much */
};

struct symbols *symbols_new(bool use_cache, bool use_dwarf);
void symbols_free(struct symbols *s);
/* For callers that open source files: where execution stands is told by absolute paths, if debug information has them.
 * Without the cache, whose paths are as the compiler was given them. */
void symbols_absolute(struct symbols *s);
/* addrs need not be sorted; every index gets exactly one call. */
int symbols_resolve(struct symbols *s, struct module *m, const uint64_t *addrs, size_t count, symbol_fn fn, void *ctx);
const struct symbols_counters *symbols_counters(const struct symbols *s);

/* For reading commands: names addresses of a module of a profile from the file at its path if that
 * still has the same build-id, or from the cache; falls back to `object+0xaddr`. */
int symbols_resolve_path(struct symbols *s, const char *path, const uint8_t *build_id, unsigned build_id_len,
			 const uint64_t *addrs, size_t count, symbol_fn fn, void *ctx);

/* "[kernel:read]", "[kernel]". */
void symbols_kernel(uint64_t addr, char *out, size_t size);

#endif
