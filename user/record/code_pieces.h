/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of a target's code at hand: instructions are asked for one by one, and its files would be read for each. What
 * is kept is as good as when it was read: its keeper forgets it when code may have changed. No I/O of its own.
 * Included by emulate_env.h and tests.
 */
#ifndef ACCPERF_RECORD_CODE_PIECES_H
#define ACCPERF_RECORD_CODE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#define CODE_PIECES 8   /* a burst goes to and fro between as many functions; by hand */
#define CODE_PIECE 4096 /* bytes: what is mapped is mapped by pages */

/* Zero-initialise. */
struct code_copies {
	struct {
		uint64_t addr;
		size_t len; /* 0: none */
		uint8_t byte[CODE_PIECE];
	} piece[CODE_PIECES];
};

/* Up to len bytes of code at an address; 0: there is none. */
typedef size_t code_pieces_reader(const void *ctx, uint64_t addr, void *buf, size_t len);

size_t code_pieces_read(struct code_copies *c, code_pieces_reader *reader, const void *ctx, uint64_t addr, void *buf,
			size_t len);
void code_pieces_forget(struct code_copies *c);

#endif
