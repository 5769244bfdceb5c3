// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/file_pieces.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file_piece {
	uint64_t at; /* a multiple of FILE_PIECE */
	size_t len;
	uint8_t bytes[FILE_PIECE];
};

/* NULL: out of memory. */
static const struct file_piece *piece_around(struct file_pieces *f, int fd, uint64_t off)
{
	uint64_t at = off - off % FILE_PIECE;
	struct file_piece **slot = &f->piece[at / FILE_PIECE % FILE_PIECES], *k;
	ssize_t n;

	if (*slot && (*slot)->at == at)
		return *slot;
	k = *slot ? *slot : malloc(sizeof(*k));
	if (!k)
		return NULL;
	n = pread(fd, k->bytes, FILE_PIECE, (off_t)at);
	k->at = at;
	k->len = n > 0 ? (size_t)n : 0;
	return *slot = k;
}

size_t file_pieces_read(struct file_pieces *f, int fd, uint64_t off, void *out, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const struct file_piece *k = piece_around(f, fd, off + done);
		size_t from = (size_t)((off + done) % FILE_PIECE), n;

		if (!k || k->len <= from)
			break;
		n = k->len - from < size - done ? k->len - from : size - done;
		memcpy((uint8_t *)out + done, k->bytes + from, n);
		done += n;
	}
	return done;
}

void file_pieces_release(struct file_pieces *f)
{
	for (unsigned i = 0; i < FILE_PIECES; i++)
		free(f->piece[i]);
	memset(f, 0, sizeof(*f));
}
