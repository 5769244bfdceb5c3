// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/code_pieces.h"

#include <string.h>

size_t code_pieces_read(struct code_copies *c, code_pieces_reader *reader, const void *ctx, uint64_t addr, void *buf,
			size_t len)
{
	uint64_t start = addr & ~(uint64_t)(CODE_PIECE - 1), at = addr - start;
	unsigned i = start / CODE_PIECE % CODE_PIECES;

	if (!c->piece[i].len || c->piece[i].addr != start) {
		c->piece[i].addr = start;
		c->piece[i].len = reader(ctx, start, c->piece[i].byte, CODE_PIECE);
	}
	/* it reaches into the next page, the file ends in this one, or it is none of code */
	if (at + len > c->piece[i].len)
		return reader(ctx, addr, buf, len);
	memcpy(buf, c->piece[i].byte + at, len);
	return len;
}

void code_pieces_forget(struct code_copies *c)
{
	for (unsigned i = 0; i < CODE_PIECES; i++)
		c->piece[i].len = 0;
}
