/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a chunk by their place in a record, first those of all records' first byte: most bytes of an id, a time
 * or a count are as in the record before, and a packer finds them where they lie together. Included by read.c and
 * write.c.
 */
#ifndef ACCPERF_STORE_TURNED_H
#define ACCPERF_STORE_TURNED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TURNED_WIDTH 16 /* of records of any size: what they consist of is mostly so wide, or half */

static inline size_t turned_width(uint32_t rec_size)
{
	return rec_size ? rec_size : TURNED_WIDTH;
}

static inline void turned_make(uint8_t *out, const uint8_t *in, size_t len, size_t width)
{
	size_t rows = len / width;

	for (size_t i = 0; i < width; i++)
		for (size_t k = 0; k < rows; k++)
			out[i * rows + k] = in[k * width + i];
	memcpy(out + rows * width, in + rows * width, len - rows * width);
}

static inline void turned_undo(uint8_t *out, const uint8_t *in, size_t len, size_t width)
{
	size_t rows = len / width;

	for (size_t i = 0; i < width; i++)
		for (size_t k = 0; k < rows; k++)
			out[k * width + i] = in[i * rows + k];
	memcpy(out + rows * width, in + rows * width, len - rows * width);
}

#endif
