// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/pieces.h"

#include <stdlib.h>

#include "code/decode.h"

#define SHORT_JUMP 2 /* bytes: its target is near enough to be the same function's */

static bool load(struct code_pieces *p)
{
	free(p->byte);
	p->byte = NULL;
	p->read_from = p->start = p->end = p->from;
	p->size = 0;
	if (p->to <= p->from || p->to - p->from > PIECES_MOST)
		return false;
	p->byte = malloc((size_t)(p->to - p->from));
	if (!p->byte)
		return false;
	while (p->size < p->to - p->from) {
		size_t n = p->read(p->ctx, p->from + p->size, p->byte + p->size, (size_t)(p->to - p->from - p->size));

		if (!n)
			break;
		p->size += n;
	}
	return p->size > 0;
}

/* What stands between functions: one instruction of it, or 0. */
static unsigned padding(const uint8_t *b, size_t left)
{
	size_t at = 0;
	struct dec_insn d;

	while (at < left && at < DEC_MAX_BYTES && (b[at] == 0x66 || b[at] == 0x2e))
		at++;
	if (at < left && (b[at] == 0x90 || b[at] == 0xcc))
		return (unsigned)at + 1;
	if (at + 1 < left && b[at] == 0x0f && b[at + 1] == 0x1f && !dec_decode_flow(b, left, &d))
		return d.len;
	return 0;
}

/* Whether the next instruction is never reached from this one. */
static bool leaves(const struct dec_insn *d)
{
	if (d->flags & (DEC_F_RET | DEC_F_TRAP))
		return true;
	return (d->flags & DEC_F_BRANCH) && !(d->flags & (DEC_F_COND | DEC_F_CALL | DEC_F_SYSCALL));
}

/* From `end` to the end of the piece behind it. */
static bool next_piece(struct code_pieces *p)
{
	uint64_t at = p->end - p->from, furthest = 0;
	struct dec_insn d;
	unsigned skip;

	while (at < p->size && (skip = padding(p->byte + at, (size_t)(p->size - at))))
		at += skip;
	if (at >= p->size)
		return false;
	p->start = p->from + at;
	while (at < p->size && !dec_decode_flow(p->byte + at, (size_t)(p->size - at), &d)) {
		uint64_t target = at + d.len + (uint64_t)d.target;
		bool away = leaves(&d);

		at += d.len;
		if ((d.flags & DEC_F_DIRECT) && !(d.flags & DEC_F_CALL) && target < p->size && target > furthest &&
		    (!away || d.len == SHORT_JUMP))
			furthest = target;
		if (away && at > furthest)
			break;
	}
	/* what is no code ends here, too */
	if (p->from + at == p->start)
		at++;
	p->end = p->from + at;
	return true;
}

bool code_piece(struct code_pieces *p, uint64_t addr, uint64_t *start, uint64_t *end)
{
	if (addr < p->from || addr >= p->to || ((!p->byte || p->read_from != p->from || addr < p->start) && !load(p)))
		return false;
	while (p->end <= addr && next_piece(p))
		;
	if (addr < p->start || addr >= p->end)
		return false;
	*start = p->start;
	*end = p->end;
	return true;
}

void code_pieces_release(struct code_pieces *p)
{
	free(p->byte);
	p->byte = NULL;
}
