/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DWARF of one file: addresses to inline chains with lines. Included by
 * symbols.c and tests. Owns the library's handles; the descriptor is borrowed. Files are read, not
 * mapped: a target that truncates its own file must not be able to kill us with SIGBUS.
 *
 * Split units (.dwo) are left out: their functions are named by the symbol table.
 *
 * Built for batches: each unit that holds an address is walked once, whatever the number of addresses.
 */
#ifndef ACCPERF_SYMBOL_DWFL_H
#define ACCPERF_SYMBOL_DWFL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWFL_MAX_CHAIN 32 /* frames inlined at one address; deeper ones are left out; by hand */

struct dwfl_frame {
	const char *name;    /* DW_AT_name; NULL: none */
	const char *linkage; /* mangled; NULL: none */
	const char *decl_file;
	uint32_t decl_line;
	const char *file; /* where execution stands in it */
	uint32_t line;
};

struct dwfl_file;

/* Of code: all of it has the same chain. */
struct dwfl_piece {
	uint64_t addr;
	uint32_t bytes;
};

struct dwfl_pieces {
	struct dwfl_piece *piece;
	size_t count, cap, most; /* most: no more are wanted */
};

/* NULL if there is no DWARF in it. alt: of the common file that it refers to, or -1. bias is added to the file's own
 * addresses (prelinked originals). */
struct dwfl_file *dwfl_file_open(int fd, int alt, int64_t bias);
void dwfl_file_close(struct dwfl_file *f);
/* From now on `file` of frames, where it is relative, is joined to the folder that its unit was compiled in. */
void dwfl_file_absolute(struct dwfl_file *f);
typedef void dwfl_chain_fn(void *ctx, size_t index, const struct dwfl_frame *frames, unsigned n);
/* addrs ascending. fn is called for those that have a function, frames innermost first; strings live
 * until dwfl_file_close(). pieces: of all functions that were met, unless NULL; theirs is the caller's to free. */
int dwfl_file_chains(struct dwfl_file *f, const uint64_t *addrs, size_t count, dwfl_chain_fn *fn, void *ctx,
		     struct dwfl_pieces *pieces);

#endif
