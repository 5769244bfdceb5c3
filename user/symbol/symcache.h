/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names found in DWARF, kept by build-id and content in $XDG_CACHE_HOME/accperf/symbols (or ~/.cache):
 * reading debug information is what takes time. A target chooses its build-id, so that alone names nothing;
 * and only files that root or we have written get here (openfile_is_ours()). What a symbol table gave may get better
 * once debug information is installed, so it is kept only of addresses of which DWARF, read to its end, knew nothing:
 * those of assembler, which every recording meets. Included by symbols.c and tests.
 *
 * The cache is ours alone or not used: folders 0700 and files must belong to us, links are not
 * followed, files carry a checksum, and anything odd is ignored. Files are replaced, never changed.
 */
#ifndef ACCPERF_SYMBOL_SYMCACHE_H
#define ACCPERF_SYMBOL_SYMCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/dwfl.h"
#include "symbol/symbols.h"

/* "ACSYMC04": changes with the layout, and with what names are given for */
#define SYMCACHE_MAGIC 0x3430434d59534341ull

struct symcache; /* of one file */

/* Loads what is there; NULL if there can be no cache (no home, not ours, no build-id). content:
 * openfile_content() of the file. */
struct symcache *symcache_open(const uint8_t *build_id, unsigned len, uint64_t content);
/* Of a file that is there no more: NULL unless exactly one file of this build-id is known. */
struct symcache *symcache_open_gone(const uint8_t *build_id, unsigned len);
/* The chain of addr, as it was kept when the cache was opened, or 0; strings live until symcache_close(). origin:
 * SYM_DWARF, SYM_TABLE, or, with 0, SYM_OFFSET where neither has a name; 0: not known. */
unsigned symcache_get(struct symcache *c, uint64_t addr, struct symbol_frame *frames, unsigned max,
		      enum symbol_origin *origin);
/* Remembers (copies): of all addresses of a piece of code. */
void symcache_put(struct symcache *c, struct dwfl_piece at, const struct symbol_frame *frames, unsigned count,
		  enum symbol_origin origin);
/* Writes if something new was put; never fails loudly: a cache that cannot be written is only slow. */
void symcache_close(struct symcache *c);

#endif
