// libs: -lcrypto
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenSSL: `off_crypt [CALLS] [PAUSE_US]` makes CALLS update calls of mixed sizes, three digests to
 * one cipher (through EVP_CipherUpdate, which calls EVP_EncryptUpdate inside), and says what it did.
 */
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long calls = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, digests = 0, ciphers = 0;
	unsigned pause = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	uint64_t digest_in = 0, cipher_in = 0, cipher_out = 0, seed = 1;
	static unsigned char in[8192], out[8192 + 64];
	unsigned char key[32] = { 1 }, iv[16] = { 2 };
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	EVP_MD_CTX *m = EVP_MD_CTX_new();

	memset(in, 7, sizeof(in));
	if (!c || !m || !EVP_EncryptInit_ex(c, EVP_aes_256_ctr(), NULL, key, iv) ||
	    !EVP_DigestInit_ex(m, EVP_sha256(), NULL))
		return 1;
	for (unsigned long i = 0; i < calls; i++) {
		unsigned n;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		n = 16u << (seed >> 61); /* 16 to 2048 */
		n += (unsigned)(seed >> 40) % 16;
		if (i % 4 == 3) {
			int got = 0;

			if (!EVP_CipherUpdate(c, out, &got, in, (int)n))
				return 1;
			ciphers++;
			cipher_in += n;
			cipher_out += (uint64_t)got;
		} else {
			if (!EVP_DigestUpdate(m, in, n))
				return 1;
			digests++;
			digest_in += n;
		}
		if (pause)
			usleep(pause);
	}
	printf("{\"EVP_DigestUpdate\":{\"calls\":%lu,\"in\":%lu},\"EVP_CipherUpdate\":{\"calls\":%lu,\"in\":%lu,\"out\":%lu}}\n",
	       digests, (unsigned long)digest_in, ciphers, (unsigned long)cipher_in, (unsigned long)cipher_out);
	EVP_CIPHER_CTX_free(c);
	EVP_MD_CTX_free(m);
	return 0;
}
