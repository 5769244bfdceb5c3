// SPDX-License-Identifier: GPL-2.0-or-later
/* Offload APIs: compression and checksums. */
#include "offload/api_rows.h"

static const struct offload_row zlib_rows[] = {
	/* z_stream: avail_in at 8, avail_out at 32; zlib-ng's own names have the same layout. */
	CALL("deflate", ST, .in = USED32(0, 8), .out = USED32(0, 32), .level = OF_STREAM(0)),
	CALL("inflate", ST, .in = USED32(0, 8), .out = USED32(0, 32)),
	CALL("zng_deflate", ST, .in = USED32(0, 8), .out = USED32(0, 32), .level = OF_OBJECT(0)),
	CALL("zng_inflate", ST, .in = USED32(0, 8), .out = USED32(0, 32)),
	/* deflateInit_() calls deflateInit2_(). */
	LEVEL("deflateInit2_", QUEUE(0), .level = ARG32(1)),
	LEVEL("zng_deflateInit2", QUEUE(0), .level = ARG32(1)),
	LEVEL("deflateParams", QUEUE(0), .level = ARG32(1)),
	LEVEL("zng_deflateParams", QUEUE(0), .level = ARG32(1)),
	LEVEL("deflateCopy", QUEUE(0), .level = OF_STREAM(1)),
	LEVEL("zng_deflateCopy", QUEUE(0), .level = OF_OBJECT(1)),
	CALL("compress", Z, .in = ARG(3), .out = AFTER64(1, 0), .level = ALWAYS(6)),
	CALL("compress2", Z, .in = ARG(3), .out = AFTER64(1, 0), .level = ARG32(4)),
	CALL("uncompress", Z, .in = ARG(3), .out = AFTER64(1, 0)),
	CALL("uncompress2", Z, .in = AFTER64(3, 0), .out = AFTER64(1, 0)),
	CALL("crc32", .apart = PA_CHECKSUMS, .in = ARG32(2)),
	CALL("crc32_z", .apart = PA_CHECKSUMS, .in = ARG(2)),
	CALL("adler32", .apart = PA_CHECKSUMS, .in = ARG32(2)),
	CALL("adler32_z", .apart = PA_CHECKSUMS, .in = ARG(2)),
};

const struct offload_api offload_zlib = {
	.name = "zlib",
	.label = "zlib",
	.family = "zlib",
	.libs = "libz.so*|libz-ng.so*",
	.calls_back = true,
	ROWS(zlib_rows),
};

static const struct offload_row isal_rows[] = {
	/* isal_zstream: avail_in at 8, avail_out at 24, level at 40; inflate_state: the output comes first. */
	CALL("isal_deflate", Z, .in = USED32(0, 8), .out = USED32(0, 24), .level = FIELD32(0, 40)),
	CALL("isal_deflate_stateless", Z, .in = USED32(0, 8), .out = USED32(0, 24), .level = FIELD32(0, 40)),
	CALL("isal_inflate", NN, .in = USED32(0, 32), .out = USED32(0, 8)),
	CALL("isal_inflate_stateless", NN, .in = USED32(0, 32), .out = USED32(0, 8)),
	CALL("crc32_gzip_refl", .apart = PA_CHECKSUMS, .in = ARG(2)),
	CALL("crc32_ieee", .apart = PA_CHECKSUMS, .in = ARG(2)),
	CALL("crc32_iscsi", .apart = PA_CHECKSUMS, .in = ARG32(1)),
	CALL("ec_encode_data", .in = MUL32(0, 1), .out = MUL32(0, 2)),
	CALL("xor_gen", .in = MUL32(0, 1)),
};

const struct offload_api offload_isal = {
	.name = "isal",
	.label = "ISA-L",
	.family = "isal",
	.libs = "libisal.so*",
	ROWS(isal_rows),
};

static const struct offload_row zstd_rows[] = {
	CALL("ZSTD_compress", SZ, .in = ARG(3), .out = RETURNED, .level = ARG32(4)),
	CALL("ZSTD_compressCCtx", SZ, .in = ARG(4), .out = RETURNED, .level = ARG32(5)),
	CALL("ZSTD_compress2", SZ, .in = ARG(4), .out = RETURNED, .level = OF_OBJECT(0)),
	CALL("ZSTD_compress_usingDict", SZ, .in = ARG(4), .out = RETURNED, .level = ARG32(7)),
	CALL("ZSTD_compress_usingCDict", SZ, .in = ARG(4), .out = RETURNED),
	/* ZSTD_c_compressionLevel is 100; ZSTD_initCStream() sets it so, too. What has a level of its own (a
	 * dictionary, parameters made elsewhere) hides it, and a reset may leave it or not. */
	LEVEL("ZSTD_CCtx_setParameter", QUEUE(0), .level = ARG32_IF(2, 1, 100)),
	LEVEL("ZSTD_CCtx_setParametersUsingCCtxParams", QUEUE(0)),
	LEVEL("ZSTD_CCtx_refCDict", QUEUE(0)),
	LEVEL("ZSTD_CCtx_reset", QUEUE(0)),
	LEVEL("ZSTD_freeCCtx", QUEUE(0)),
	CALL("ZSTD_decompress", SZ, .in = ARG(3), .out = RETURNED),
	CALL("ZSTD_decompressDCtx", SZ, .in = ARG(4), .out = RETURNED),
	CALL("ZSTD_decompress_usingDict", SZ, .in = ARG(4), .out = RETURNED),
	CALL("ZSTD_decompress_usingDDict", SZ, .in = ARG(4), .out = RETURNED),
	/* ZSTD_inBuffer, ZSTD_outBuffer: pos at 16. */
	CALL("ZSTD_compressStream", SZ, .in = GREW64(2, 16), .out = GREW64(1, 16), .level = OF_OBJECT(0)),
	CALL("ZSTD_compressStream2", SZ, .in = GREW64(2, 16), .out = GREW64(1, 16), .level = OF_OBJECT(0)),
	CALL("ZSTD_endStream", SZ, .in = NO_BYTES, .out = GREW64(1, 16), .level = OF_OBJECT(0)),
	CALL("ZSTD_decompressStream", SZ, .in = GREW64(2, 16), .out = GREW64(1, 16)),
};

const struct offload_api offload_zstd = {
	.name = "zstd",
	.label = "zstd",
	.family = "zstd",
	.libs = "libzstd.so*",
	.calls_back = true,
	ROWS(zstd_rows),
};

static const struct offload_row qatzip_rows[] = {
	CALL("qzCompress", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qzCompressExt", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qzCompressCrcExt", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qzDecompressExt", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qzCompressCrc", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qzDecompress", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
};

const struct offload_api offload_qatzip = {
	.name = "qatzip",
	.label = "QATzip",
	.family = "qatzip",
	.libs = "libqatzip.so*",
	.device = true,
	ROWS(qatzip_rows),
};

static const struct offload_row qpl_rows[] = {
	/* qpl_job: available_in at 8. A job is its own queue. */
	CALL("qpl_execute_job", Z, .in = FIELD32(0, 8)),
	SUBMIT("qpl_submit_job", Z, .in = FIELD32(0, 8), QUEUE(0)),
	WAIT("qpl_wait_job", Z, QUEUE(0)),
	WAIT("qpl_check_job", Z, QUEUE(0)),
};

const struct offload_api offload_qpl = {
	.name = "qpl",
	.label = "QPL (IAA)",
	.family = "qpl",
	.libs = "libqpl.so*",
	.device = true,
	ROWS(qpl_rows),
};

static const struct offload_row compressdev_rows[] = {
	/* A burst of rte_comp_op: src.length at 52. What a poll took back was handed over before it. */
	SUBMIT("rte_compressdev_enqueue_burst", P, .in = SUM_OF_FIELD32(2, 3, 52), QUEUE(1)),
	WAIT("rte_compressdev_dequeue_burst", P, QUEUE(1)),
};

const struct offload_api offload_compressdev = {
	.name = "compressdev",
	.label = "DPDK compressdev",
	.family = "compressdev",
	.libs = "librte_compressdev.so*",
	.device = true,
	ROWS(compressdev_rows),
};
