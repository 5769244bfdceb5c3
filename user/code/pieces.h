/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that no table divides into functions, such as assembly without call frame information: it is read from where a
 * table leaves off, and a piece ends at a return or a jump away that no jump before leads across. What is taken for two
 * pieces may be one function, as a jump to a place further down is taken for a call at the end of one where its
 * encoding has room for a distance; a name is given to neither. Bytes are untrusted. Included by user/symbol and tests.
 */
#ifndef ACCPERF_CODE_PIECES_H
#define ACCPERF_CODE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIECES_MOST (4u << 20) /* bytes that are read for it: some 100 ms; more is left undivided; by hand */

struct code_pieces {
	/* Bytes at vaddr; returns how many (0: none). */
	size_t (*read)(void *ctx, uint64_t vaddr, void *out, size_t size);
	void *ctx;
	uint64_t from, to; /* what no table divides; changed: begins anew */
	/* our own, zero at first */
	uint8_t *byte;
	uint64_t read_from, size, start, end; /* the latter: of the latest piece */
};

/* The piece around addr, which lies between from and to; in ascending order each byte is looked at once. False: there
 * is none, as where it is padding. */
bool code_piece(struct code_pieces *p, uint64_t addr, uint64_t *start, uint64_t *end);
void code_pieces_release(struct code_pieces *p);

#endif
