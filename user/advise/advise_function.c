// SPDX-License-Identifier: GPL-2.0-or-later
/* What a function's name alone tells. */
#include <math.h>
#include <string.h>

#include "advise/candidates.h"
#include "offload/operation.h"

unsigned advise_kinds(const struct operation *op)
{
	static const struct {
		const char *word;
		enum catalogue_kind kind;
	} rows[] = {
		{ "decompress", CATALOGUE_DECOMPRESS },
		{ "compress", CATALOGUE_COMPRESS },
		{ "CRC", CATALOGUE_CHECKSUM },
		{ "Adler", CATALOGUE_CHECKSUM },
		{ "AES", CATALOGUE_CIPHER },
		{ "cipher", CATALOGUE_CIPHER },
		{ "SHA", CATALOGUE_HASH },
		{ "digest", CATALOGUE_HASH },
		{ "copy", CATALOGUE_COPY },
		{ "matrix", CATALOGUE_MATRIX },
		{ "vector", CATALOGUE_VECTOR },
	};

	for (size_t i = 0; op && i < sizeof(rows) / sizeof(*rows); i++)
		if (strstr(op->name, rows[i].word))
			return 1u << rows[i].kind;
	return 0;
}

/* One call handles a piece of a stream, and state goes on from call to call. */
static bool is_stream(const char *name)
{
	static const char *const streams[] = { "deflate",
					       "inflate",
					       "ZSTD_compressStream",
					       "ZSTD_compressStream2",
					       "ZSTD_decompressStream",
					       "EVP_EncryptUpdate",
					       "EVP_DecryptUpdate",
					       "EVP_CipherUpdate",
					       "EVP_DigestUpdate",
					       "BZ2_bzCompress",
					       "lzma_code" };

	for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
		if (!strcmp(name, streams[i]))
			return true;
	return false;
}

struct advise_function advise_function_unknown(const char *name, const char *object)
{
	struct figure u = FIGURE_UNKNOWN;
	/* code without a name is called by its object and address: what the object is called tells nothing of it */
	const struct operation *op = strstr(name, "+0x") ? NULL : operation_of(NULL, name);

	return (struct advise_function){ .name = name,
					 .object = object,
					 .share = u,
					 .calls_per_s = u,
					 .in = NAN,
					 .in_low = NAN,
					 .in_high = NAN,
					 .out = NAN,
					 .out_low = NAN,
					 .out_high = NAN,
					 .compute = NAN,
					 .array_share = NAN,
					 .kinds = advise_kinds(op),
					 .operation = op,
					 .stream = is_stream(name),
					 .part = NAN,
					 .ns_per_call = u,
					 .timed = u,
					 .beside = FIGURE_EXACT(0),
					 .argument_in = u,
					 .argument_out = u,
					 .p50 = NAN,
					 .p90 = NAN,
					 .p99 = NAN,
					 .shortest = NAN,
					 .scv = NAN,
					 .wait_share = NAN,
					 .failed_share = NAN,
					 .faults_per_call = NAN,
					 .fault_share = NAN,
					 .wait_ns = u,
					 .ready_ns = NAN,
					 .thread_share = u,
					 .elapsed_share = u,
					 .t0 = u,
					 .C = u,
					 .beta = u,
					 .counterpart_speedup = u,
					 .counterpart_below = NAN,
					 .counterpart_g1 = NAN };
}
