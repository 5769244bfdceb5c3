// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A JPEG-like coder and decoder of its own format: grey blocks of 8x8, integer DCT, quantiser, zigzag,
 * run-length and canonical Huffman codes whose tables are made once per picture. The cosine and Huffman
 * tables are written rarely and read all the time. SIZE = side, a multiple of 8. Modes: both, encode.
 */
#include <math.h>

#include "work.h"

#define SYMBOLS 256

static const uint8_t zigzag[64] = {
	0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
	41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
	30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

static int32_t cosine[64]; /* 12-bit fixed point */
static uint16_t quant[64];
static uint8_t *picture, *restored, *stream;
static int16_t *coefficients; /* of the whole picture, quantised, zigzag order */
static uint32_t frequency[SYMBOLS];
static uint8_t code_length[SYMBOLS];
static uint32_t code[SYMBOLS];
static uint16_t decode_table[1 << 16]; /* length << 8 | symbol */
static uint64_t bit_hold;
static unsigned int bit_count;
static size_t stream_size, stream_at;

STEP static void make_tables(void)
{
	for (int u = 0; u < 8; u++)
		for (int x = 0; x < 8; x++)
			cosine[u * 8 + x] =
				(int32_t)lrint(cos((2 * x + 1) * u * M_PI / 16) * (u ? 0.5 : sqrt(0.125)) * 4096);
	for (int i = 0; i < 64; i++)
		quant[i] = (uint16_t)(8 + 3 * (i / 8 + i % 8));
}

STEP static void make_picture(int side)
{
	uint64_t seed = 5;

	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			int v = (x * y / 64 + (x ^ y) / 2 + (int)(work_random(&seed) >> 60)) & 511;

			picture[y * side + x] = (uint8_t)(v > 255 ? 511 - v : v);
		}
}

STEP static void forward_dct(const uint8_t *from, int stride, int32_t out[64])
{
	int32_t half[64];

	for (int y = 0; y < 8; y++)
		for (int u = 0; u < 8; u++) {
			int32_t sum = 0;

			for (int x = 0; x < 8; x++)
				sum += (from[y * stride + x] - 128) * cosine[u * 8 + x];
			half[y * 8 + u] = (sum + 2048) >> 12;
		}
	for (int u = 0; u < 8; u++)
		for (int v = 0; v < 8; v++) {
			int32_t sum = 0;

			for (int y = 0; y < 8; y++)
				sum += half[y * 8 + u] * cosine[v * 8 + y];
			out[v * 8 + u] = (sum + 2048) >> 12;
		}
}

STEP static void quantise(const int32_t in[64], int16_t out[64])
{
	for (int i = 0; i < 64; i++) {
		int32_t v = in[zigzag[i]], q = quant[zigzag[i]];

		out[i] = (int16_t)(v < 0 ? -((-v + q / 2) / q) : (v + q / 2) / q);
	}
}

static unsigned int magnitude(int v)
{
	unsigned int n = 0;

	for (unsigned int a = (unsigned int)(v < 0 ? -v : v); a; a >>= 1)
		n++;
	return n;
}

/* One symbol = zeros before (high 4 bits) and size of the value (low 4); 0x00 ends, 0xf0 is 16 zeros. */
STEP static void count_symbols(size_t blocks)
{
	memset(frequency, 0, sizeof(frequency));
	for (size_t b = 0; b < blocks; b++) {
		const int16_t *c = coefficients + b * 64;
		unsigned int run = 0;

		for (int i = 0; i < 64; i++) {
			if (!c[i]) {
				run++;
				continue;
			}
			for (; run > 15; run -= 16)
				frequency[0xf0]++;
			frequency[run << 4 | magnitude(c[i])]++;
			run = 0;
		}
		frequency[0]++;
	}
}

/* Lengths by repeated joining of the two rarest trees; counts are halved until no code exceeds 16. */
STEP static void make_lengths(void)
{
	for (unsigned int shift = 0;; shift++) {
		uint64_t weight[2 * SYMBOLS];
		int parent[2 * SYMBOLS], live[SYMBOLS], lives = 0, next = SYMBOLS, longest = 0;

		for (int s = 0; s < SYMBOLS; s++) {
			weight[s] = frequency[s] ? (frequency[s] >> shift) + 1 : 0;
			parent[s] = -1;
			if (weight[s])
				live[lives++] = s;
		}
		while (lives > 1) {
			int pick[2];

			for (int k = 0; k < 2; k++) {
				int best = 0;

				for (int i = 1; i < lives; i++)
					if (weight[live[i]] < weight[live[best]])
						best = i;
				pick[k] = live[best];
				live[best] = live[--lives];
			}
			weight[next] = weight[pick[0]] + weight[pick[1]];
			parent[next] = -1;
			parent[pick[0]] = parent[pick[1]] = next;
			live[lives++] = next++;
		}
		for (int s = 0; s < SYMBOLS; s++) {
			int n = 0;

			for (int p = s; weight[s] && parent[p] >= 0; p = parent[p])
				n++;
			code_length[s] = (uint8_t)(weight[s] && !n ? 1 : n);
			longest = n > longest ? n : longest;
		}
		if (longest <= 16)
			return;
	}
}

STEP static void make_codes(void)
{
	uint32_t value = 0;

	memset(decode_table, 0, sizeof(decode_table));
	for (unsigned int n = 1; n <= 16; n++, value <<= 1)
		for (uint32_t s = 0; s < SYMBOLS; s++)
			if (code_length[s] == n) {
				uint32_t first = value << (16 - n);

				for (uint32_t i = 0; i < 1u << (16 - n); i++)
					decode_table[first + i] = (uint16_t)(n << 8 | s);
				code[s] = value++;
			}
}

STEP static void put_bits(uint32_t value, unsigned int count)
{
	bit_hold = bit_hold << count | value;
	bit_count += count;
	while (bit_count >= 8) {
		bit_count -= 8;
		stream[stream_size++] = (uint8_t)(bit_hold >> bit_count);
	}
}

STEP static void encode_block(const int16_t *c)
{
	unsigned int run = 0;

	for (int i = 0; i < 64; i++) {
		unsigned int size;

		if (!c[i]) {
			run++;
			continue;
		}
		for (; run > 15; run -= 16)
			put_bits(code[0xf0], code_length[0xf0]);
		size = magnitude(c[i]);
		put_bits(code[run << 4 | size], code_length[run << 4 | size]);
		put_bits((uint32_t)(c[i] < 0 ? c[i] + (1 << size) - 1 : c[i]), size);
		run = 0;
	}
	put_bits(code[0], code_length[0]);
}

STEP static uint32_t peek_bits(unsigned int count)
{
	while (bit_count < count) {
		bit_hold = bit_hold << 8 | (stream_at < stream_size ? stream[stream_at++] : 0);
		bit_count += 8;
	}
	return (uint32_t)(bit_hold >> (bit_count - count)) & ((1u << count) - 1);
}

STEP static void decode_block(int16_t *c)
{
	unsigned int i = 0;

	memset(c, 0, 64 * sizeof(*c));
	for (;;) {
		uint32_t entry = decode_table[peek_bits(16)], size = entry & 15, v;

		bit_count -= entry >> 8;
		if (!(entry & 255))
			return;
		i += entry >> 4 & 15;
		if (!size) {
			i++;
			continue;
		}
		v = peek_bits(size);
		bit_count -= size;
		if (i > 63)
			abort();
		c[i++] = (int16_t)(v >> (size - 1) ? (int)v : (int)v - (1 << size) + 1);
	}
}

STEP static void dequantise(const int16_t in[64], int32_t out[64])
{
	for (int i = 0; i < 64; i++)
		out[zigzag[i]] = in[i] * quant[zigzag[i]];
}

STEP static void inverse_dct(const int32_t in[64], uint8_t *to, int stride)
{
	int32_t half[64];

	for (int v = 0; v < 8; v++)
		for (int x = 0; x < 8; x++) {
			int32_t sum = 0;

			for (int u = 0; u < 8; u++)
				sum += in[v * 8 + u] * cosine[u * 8 + x];
			half[v * 8 + x] = (sum + 2048) >> 12;
		}
	for (int x = 0; x < 8; x++)
		for (int y = 0; y < 8; y++) {
			int32_t sum = 0;

			for (int v = 0; v < 8; v++)
				sum += half[v * 8 + x] * cosine[v * 8 + y];
			sum = ((sum + 2048) >> 12) + 128;
			to[y * stride + x] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
		}
}

STEP static uint64_t compare_pictures(int side)
{
	uint64_t error = 0, digest = stream_size;

	for (int i = 0; i < side * side; i++) {
		int d = picture[i] - restored[i];

		error += (uint64_t)(d * d);
		digest = work_mix(digest, restored[i]);
	}
	if (error > (uint64_t)side * (uint64_t)side * 400)
		abort(); /* worse than 22 dB: the decoder is broken */
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "both|encode", 256);
	int side = (int)w.size;
	size_t blocks = (size_t)side / 8 * ((size_t)side / 8);
	uint64_t digest;

	if (w.size < 8 || w.size > 8192 || w.size % 8)
		work_die(&w, "SIZE must be a multiple of 8 up to 8192");
	picture = malloc((size_t)side * (size_t)side);
	restored = malloc((size_t)side * (size_t)side);
	stream = malloc((size_t)side * (size_t)side * 4 + 64);
	coefficients = malloc(blocks * 64 * sizeof(*coefficients));
	if (!picture || !restored || !stream || !coefficients)
		work_die(&w, "out of memory");
	make_tables();
	do {
		static int32_t block[64]; /* not on the stack: the flow between the steps is to be seen */

		make_picture(side);
		for (size_t b = 0; b < blocks; b++) {
			size_t x = b % ((size_t)side / 8) * 8, y = b / ((size_t)side / 8) * 8;

			forward_dct(picture + y * (size_t)side + x, side, block);
			quantise(block, coefficients + b * 64);
		}
		count_symbols(blocks);
		make_lengths();
		make_codes();
		stream_size = 0;
		bit_hold = bit_count = 0;
		for (size_t b = 0; b < blocks; b++)
			encode_block(coefficients + b * 64);
		put_bits(0, 7);
		digest = stream_size;
		if (!strcmp(w.mode, "both")) {
			stream_at = 0;
			bit_hold = bit_count = 0;
			for (size_t b = 0; b < blocks; b++) {
				size_t x = b % ((size_t)side / 8) * 8, y = b / ((size_t)side / 8) * 8;

				decode_block(coefficients + b * 64);
				dequantise(coefficients + b * 64, block);
				inverse_dct(block, restored + y * (size_t)side + x, side);
			}
			digest = compare_pictures(side);
		}
	} while (work_more(&w, digest));
	free(picture);
	free(restored);
	free(stream);
	free(coefficients);
	return work_done(&w);
}
