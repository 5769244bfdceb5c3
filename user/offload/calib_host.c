// SPDX-License-Identifier: GPL-2.0-or-later
/* What the host runs where the accelerator is given a kernel. Plain C, the same arithmetic. */
#include <string.h>

#include "offload/calib.h"

void calib_host_vector(const uint32_t *in, uint32_t *out, size_t n)
{
	/* a trip count that depends on the data: neither side may turn it into wide vectors */
	for (size_t i = 0; i < n; i++) {
		uint32_t x = in[i], k = 0;

		do {
			x = x * 1664525u + 1013904223u;
			k++;
		} while ((x >> 29) && k < 64);
		out[i] = x ^ k;
	}
}

void calib_host_sgemm(const float *a, const float *b, float *c, size_t n)
{
	memset(c, 0, n * n * sizeof(*c));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			float x = a[i * n + k];

			for (size_t j = 0; j < n; j++)
				c[i * n + j] += x * b[k * n + j];
		}
}

static inline uint32_t mix_word(uint32_t x)
{
	x ^= x << 8 | x >> 24;
	x *= 0x9e3779b1u;
	return x ^ x >> 15;
}

/* Ten rounds over 16-byte blocks: the shape of AES without its tables. No cipher. */
void calib_host_cipher(const uint32_t *in, uint32_t *out, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		uint32_t s[4] = { in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3] };

		for (uint32_t r = 0; r < 10; r++) {
			uint32_t t0 = mix_word(s[0] ^ (s[1] + r)), t1 = mix_word(s[1] ^ (s[2] + r)),
				 t2 = mix_word(s[2] ^ (s[3] + r));

			s[3] = mix_word(s[3] ^ (s[0] + r));
			s[0] = t0;
			s[1] = t1;
			s[2] = t2;
		}
		memcpy(out + 4 * i, s, sizeof(s));
	}
}

static uint32_t table[8][256];

static void build_crc_table(void)
{
	if (table[0][1])
		return;
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
		table[0][i] = c;
	}
	for (int s = 1; s < 8; s++)
		for (uint32_t i = 0; i < 256; i++)
			table[s][i] = table[s - 1][i] >> 8 ^ table[0][table[s - 1][i] & 255];
}

uint32_t calib_host_crc_table(const uint8_t *in, size_t n)
{
	uint32_t c = ~0u;

	build_crc_table();
	for (size_t i = 0; i < n; i++)
		c = c >> 8 ^ table[0][(c ^ in[i]) & 255];
	return ~c;
}

uint32_t calib_host_crc_slices(const uint8_t *in, size_t n)
{
	uint32_t c = ~0u;

	build_crc_table();
	for (; n >= 8; n -= 8, in += 8) {
		uint32_t lo, hi;

		memcpy(&lo, in, 4);
		memcpy(&hi, in + 4, 4);
		lo ^= c;
		c = table[7][lo & 255] ^ table[6][lo >> 8 & 255] ^ table[5][lo >> 16 & 255] ^ table[4][lo >> 24] ^
		    table[3][hi & 255] ^ table[2][hi >> 8 & 255] ^ table[1][hi >> 16 & 255] ^ table[0][hi >> 24];
	}
	for (; n; n--, in++)
		c = c >> 8 ^ table[0][(c ^ *in) & 255];
	return ~c;
}
