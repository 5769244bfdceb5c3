/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done to the bytes of a chunk before they are packed. By their place in a record, first those of all records'
 * first byte: most bytes of an id or a count are as in the record before, and a packer finds them where they lie
 * together. And steps: most records begin with a time, of which four bytes are new in each, and three in what it is
 * more than the one before. Included by read.c and write.c.
 */
#ifndef ACCPERF_STORE_TURNED_H
#define ACCPERF_STORE_TURNED_H

#include <stdbool.h>
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

#define STEPS_LEAST 16 /* bytes of a record: of a time alone, and no more, nothing is told */

static inline uint64_t steps_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Whether records begin with what never falls. */
static inline bool steps_rise(const uint8_t *p, size_t len, size_t rec_size)
{
	uint64_t before = 0;

	if (rec_size < STEPS_LEAST)
		return false;
	for (size_t at = 0; at + rec_size <= len; at += rec_size) {
		if (steps_at(p + at) < before)
			return false;
		before = steps_at(p + at);
	}
	return true;
}

static inline void steps_make(uint8_t *p, size_t len, size_t rec_size)
{
	uint64_t before = 0, v, step;

	for (size_t at = 0; at + rec_size <= len; at += rec_size, before = v) {
		v = steps_at(p + at);
		step = v - before;
		memcpy(p + at, &step, sizeof(step));
	}
}

static inline void steps_undo(uint8_t *p, size_t len, size_t rec_size)
{
	uint64_t v = 0;

	for (size_t at = 0; at + rec_size <= len; at += rec_size) {
		v += steps_at(p + at);
		memcpy(p + at, &v, sizeof(v));
	}
}

#endif
