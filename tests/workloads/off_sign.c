// libs: -lcrypto
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenSSL as a TLS server uses it: `off_sign [ROUNDS]` makes a signature in each round, and digests of a few bytes,
 * which are called two hundred times as often and take next to nothing beside it.
 */
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGESTS 200 /* of one round */

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	EVP_PKEY *key = EVP_RSA_gen(2048);
	EVP_MD_CTX *sign = EVP_MD_CTX_new(), *digest = EVP_MD_CTX_new();
	static unsigned char text[146], out[256];

	memset(text, 7, sizeof(text));
	if (!key || !sign || !digest || !EVP_DigestInit_ex(digest, EVP_sha256(), NULL))
		return 1;
	for (unsigned long i = 0; i < rounds; i++) {
		size_t n = sizeof(out);

		if (!EVP_DigestSignInit(sign, NULL, EVP_sha256(), NULL, key) ||
		    !EVP_DigestSign(sign, out, &n, text, sizeof(text)) || !EVP_MD_CTX_reset(sign))
			return 1;
		for (int k = 0; k < DIGESTS; k++)
			if (!EVP_DigestUpdate(digest, out, 48))
				return 1;
	}
	printf("{\"EVP_DigestSign\":{\"calls\":%lu,\"in\":%lu}}\n", rounds, rounds * sizeof(text));
	EVP_MD_CTX_free(sign);
	EVP_MD_CTX_free(digest);
	EVP_PKEY_free(key);
	return 0;
}
