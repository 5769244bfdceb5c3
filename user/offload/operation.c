// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/operation.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DEFLATE, INFLATE, ZSTD, UNZSTD, CRC32, ADLER32, AES, SHA, CIPHER, DIGEST, SIGN, COPY, MATRIX, VECTOR };

static const struct operation operations[] = {
	[DEFLATE] = { "compress (deflate)",
		      "this goes for calls at that level: theirs is not recorded, and a higher one takes longer for a smaller result",
		      .levelled = true, .by_itself = -1, .usual = 6 },
	[INFLATE] = { "decompress (deflate)", NULL, false },
	[ZSTD] = { "compress (zstd)",
		   "this goes for calls at that level: theirs is not recorded, and a higher one takes longer for a smaller result",
		   .levelled = true, .by_itself = 0, .usual = 3 },
	[UNZSTD] = { "decompress (zstd)", NULL, false },
	[CRC32] = { "CRC-32", NULL, false, true },
	[ADLER32] = { "Adler-32", NULL, false, true },
	[AES] = { "AES",
		  "libraries use a processor's own AES instructions by themselves: these calls may run on them already",
		  false, true },
	[SHA] = { "SHA",
		  "libraries use a processor's own SHA instructions by themselves: these calls may run on them already",
		  false, true },
	[CIPHER] = { "a cipher", NULL, true, true },
	[DIGEST] = { "a digest", NULL, true, true },
	[SIGN] = { "a signature", NULL, true },
	[COPY] = { "copy", NULL, false, true },
	[MATRIX] = { "matrix product", NULL, false },
	[VECTOR] = { "vector sum", NULL, false },
};

/* The first row whose word the name holds decides; `api` restricts a row to one library's names. */
static const struct {
	const char *api, *word;
	int operation;
} words[] = {
	{ "zstd", "decompress", UNZSTD },
	{ "zstd", "compress", ZSTD },
	{ NULL, "adler32", ADLER32 },
	{ NULL, "crc32", CRC32 },
	{ NULL, "inflate", INFLATE },
	{ NULL, "uncompress", INFLATE },
	{ NULL, "decompress", INFLATE },
	{ NULL, "deflate", DEFLATE },
	{ "zlib", "compress", DEFLATE },
	{ "qatzip", "compress", DEFLATE },
	{ "qpl", "compress", DEFLATE },
	{ NULL, "zstd", ZSTD },
	{ NULL, "digestsign", SIGN },
	{ NULL, "digestverify", SIGN },
	{ NULL, "evp_pkey", SIGN },
	{ NULL, "aes", AES },
	{ NULL, "sha1", SHA },
	{ NULL, "sha2", SHA },
	{ NULL, "sha5", SHA },
	{ NULL, "sha-", SHA },
	{ "openssl", "digest", DIGEST },
	{ "openssl", "mac", DIGEST },
	{ "openssl", "encrypt", CIPHER },
	{ "openssl", "decrypt", CIPHER },
	{ "openssl", "cipher", CIPHER },
	{ NULL, "gemm", MATRIX },
	{ NULL, "memcpy", COPY },
	{ NULL, "memmove", COPY },
};

/* What stands behind the work's name: such a call begins, ends or asks, and none of the work is done in it. */
static bool only_prepares(const char *behind)
{
	static const char *const all[] = {
		"init", "reset", "bound", "begin", "params", "copy", "dictionary", "combine"
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcasestr(behind, all[i]))
			return true;
	return !strcmp(behind, "End"); /* deflateEnd(); ZSTD_compressEnd() writes the last block */
}

const struct operation *operation_of(const char *api, const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *at = strcasestr(name, words[i].word);

		if (at && (!words[i].api || (api && !strcmp(api, words[i].api))))
			return only_prepares(at + strlen(words[i].word)) ? NULL : &operations[words[i].operation];
	}
	return NULL;
}

int operation_level(const struct operation *op, int told)
{
	return told == op->by_itself ? op->usual : told;
}

bool operation_level_said(const struct operation *op, const char *text, int *level)
{
	const char *at = text ? strcasestr(text, "level ") : NULL;

	if (!op || !op->levelled || !at || sscanf(at + strlen("level "), "%d", level) != 1)
		return false;
	*level = operation_level(op, *level);
	return true;
}
