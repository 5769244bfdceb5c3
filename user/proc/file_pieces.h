/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small reads of a file, from large pieces of it that are kept: a control-flow graph asks for four bytes at a time.
 * What was read once is not read again, so only for files that do not change. Included by module_priv.h.
 */
#ifndef ACCPERF_PROC_FILE_PIECES_H
#define ACCPERF_PROC_FILE_PIECES_H

#include <stddef.h>
#include <stdint.h>

#define FILE_PIECE (32u << 10) /* bytes read at once; by hand */
#define FILE_PIECES 64         /* of one file in memory: 2 MB */

struct file_piece;

/* Zero-initialise. */
struct file_pieces {
	struct file_piece *piece[FILE_PIECES]; /* by place, the later one stays */
};

/* Bytes at off; returns how many (0: none). */
size_t file_pieces_read(struct file_pieces *f, int fd, uint64_t off, void *out, size_t size);
void file_pieces_release(struct file_pieces *f);

#endif
