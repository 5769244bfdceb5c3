// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Encrypt-then-hash of records, as a gateway does: AES-128 in counter mode (byte-wise with an S-box,
 * key schedule per connection of 16 records) and SHA-256 over the result. Both are checked against the
 * published vectors (FIPS 197, FIPS 180-4) at the start. SIZE = records of 1024 bytes per round.
 */
#include "work.h"

#define RECORD 1024

static uint8_t sbox[256], round_key[176], plain[RECORD], sealed[RECORD], digest_out[32];

static const uint32_t sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint8_t xtime(uint8_t v)
{
	return (uint8_t)(v << 1 ^ (v & 0x80 ? 0x1b : 0));
}

STEP static void make_sbox(void)
{
	uint8_t p = 1, q = 1;

	do { /* p walks the field by multiplying with 3, q by dividing: q is p's inverse */
		uint8_t x;

		p = (uint8_t)(p ^ xtime(p));
		q ^= (uint8_t)(q << 1);
		q ^= (uint8_t)(q << 2);
		q ^= (uint8_t)(q << 4);
		q ^= q & 0x80 ? 0x09 : 0;
		x = (uint8_t)(q ^ (q << 1 | q >> 7) ^ (q << 2 | q >> 6) ^ (q << 3 | q >> 5) ^ (q << 4 | q >> 4));
		sbox[p] = x ^ 0x63;
	} while (p != 1);
	sbox[0] = 0x63;
}

STEP static void expand_key(const uint8_t key[16])
{
	uint8_t rcon = 1;

	memcpy(round_key, key, 16);
	for (int i = 16; i < 176; i += 4) {
		uint8_t t[4];

		memcpy(t, round_key + i - 4, 4);
		if (i % 16 == 0) {
			uint8_t first = t[0];

			t[0] = sbox[t[1]] ^ rcon;
			t[1] = sbox[t[2]];
			t[2] = sbox[t[3]];
			t[3] = sbox[first];
			rcon = xtime(rcon);
		}
		for (int j = 0; j < 4; j++)
			round_key[i + j] = round_key[i + j - 16] ^ t[j];
	}
}

STEP static void encrypt_block(uint8_t s[16])
{
	for (int i = 0; i < 16; i++)
		s[i] ^= round_key[i];
	for (int round = 1; round <= 10; round++) {
		uint8_t t[16];

		for (int i = 0; i < 16; i++)
			t[i] = sbox[s[(i + 4 * (i % 4)) % 16]];
		for (int c = 0; c < 16; c += 4) {
			uint8_t all = t[c] ^ t[c + 1] ^ t[c + 2] ^ t[c + 3];

			for (int r = 0; r < 4; r++)
				s[c + r] =
					(uint8_t)(round == 10 ? t[c + r]
							      : t[c + r] ^ all ^ xtime(t[c + r] ^ t[c + (r + 1) % 4]));
		}
		for (int i = 0; i < 16; i++)
			s[i] ^= round_key[round * 16 + i];
	}
}

STEP static void seal(uint64_t nonce)
{
	static uint8_t key_stream[16];

	for (uint64_t i = 0; i < RECORD; i += 16) {
		uint64_t counter = i / 16;

		memcpy(key_stream, &nonce, 8);
		memcpy(key_stream + 8, &counter, 8);
		encrypt_block(key_stream);
		for (int j = 0; j < 16; j++)
			sealed[i + (uint64_t)j] = plain[i + (uint64_t)j] ^ key_stream[j];
	}
}

static uint32_t turn(uint32_t v, int n)
{
	return v >> n | v << (32 - n);
}

STEP static void sha_block(uint32_t h[8], const uint8_t *p)
{
	uint32_t w[64], v[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 |
		       p[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, h, 32);
	for (int i = 0; i < 64; i++) {
		uint32_t a = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
			     ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[i] + w[i];
		uint32_t b = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
			     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 28);
		v[4] += a;
		v[0] = a + b;
	}
	for (int i = 0; i < 8; i++)
		h[i] += v[i];
}

STEP static void sha_sum(const uint8_t *p, size_t size)
{
	static uint8_t last[128];
	uint32_t h[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
	};
	size_t whole = size / 64 * 64, rest = size - whole, pad = rest < 56 ? 64 : 128;

	for (size_t i = 0; i < whole; i += 64)
		sha_block(h, p + i);
	memset(last, 0, sizeof(last));
	memcpy(last, p + whole, rest);
	last[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		last[pad - 1 - (size_t)i] = (uint8_t)((uint64_t)size * 8 >> (8 * i));
	for (size_t i = 0; i < pad; i += 64)
		sha_block(h, last + i);
	for (int i = 0; i < 32; i++)
		digest_out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

STEP static void make_record(uint64_t *seed)
{
	for (size_t i = 0; i < RECORD; i += 8) {
		uint64_t r = work_random(seed);

		memcpy(plain + i, &r, 8);
	}
}

STEP static uint64_t fold_digest(uint64_t digest)
{
	for (int i = 0; i < 32; i++)
		digest = work_mix(digest, digest_out[i]);
	return digest;
}

static void self_test(const struct work *w)
{
	static const uint8_t cipher[4] = { 0x69, 0xc4, 0xe0, 0xd8 }, sum[4] = { 0xba, 0x78, 0x16, 0xbf };
	uint8_t key[16], block[16];

	for (int i = 0; i < 16; i++) {
		key[i] = (uint8_t)i;
		block[i] = (uint8_t)(i * 0x11);
	}
	expand_key(key);
	encrypt_block(block);
	sha_sum((const uint8_t *)"abc", 3);
	if (memcmp(block, cipher, 4) || memcmp(digest_out, sum, 4))
		work_die(w, "AES or SHA-256 disagrees with its published vector");
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 200);
	uint64_t digest;

	make_sbox();
	self_test(&w);
	do {
		uint64_t seed = 11;

		digest = 0;
		for (unsigned long i = 0; i < w.size; i++) {
			make_record(&seed);
			if (i % 16 == 0)
				expand_key(plain);
			seal(i);
			sha_sum(sealed, RECORD);
			digest = fold_digest(digest);
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}
