// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/api.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct offload_api apis[] = {
	{ "cuda", "CUDA driver", "cuda", "libcuda.so*", "_v2|_v3|_ptds|_ptsz|_v2_ptds|_v2_ptsz", false, true },
	{ "cudart", "CUDA runtime", "cuda", "libcudart.so*", "_ptds|_ptsz|_v2", false, true },
	{ "hip", "HIP", "hip", "libamdhip64.so*", "_spt", false, true },
	{ "level-zero", "Level Zero", "level-zero", "libze_loader.so*", NULL, false, true },
	{ "opencl", "OpenCL", "opencl", "libOpenCL.so*", NULL, false, true },
	{ "vulkan", "Vulkan", "vulkan", "libvulkan.so*", "KHR", false, true },
	{ "openssl", "OpenSSL EVP", "openssl", "libcrypto.so*", NULL, true, false },
	{ "zlib", "zlib", "zlib", "libz.so*|libz-ng.so*", NULL, true, false },
	{ "isal", "ISA-L", "isal", "libisal.so*", NULL, false, false },
	{ "zstd", "zstd", "zstd", "libzstd.so*", NULL, true, false },
	{ "qatzip", "QATzip", "qatzip", "libqatzip.so*", NULL, false, true },
	{ "qpl", "QPL (IAA)", "qpl", "libqpl.so*", NULL, false, true },
	{ "vaapi", "VA-API", "vaapi", "libva.so*", NULL, false, true },
	{ "kcapi", "AF_ALG by libkcapi", "af_alg", "libkcapi.so*", NULL, false, true },
	{ "compressdev", "DPDK compressdev", "compressdev", "librte_compressdev.so*", NULL, false, true },
	{ "cryptodev", "DPDK cryptodev", "cryptodev", "librte_cryptodev.so*", NULL, false, true },
	/* managers are laid out anew by each version */
	{ "ipsec-mb", "libipsec-mb", "ipsec-mb", "libIPSec_MB.so.1.3*",
	  "_sse|_sse_t1|_sse_t2|_sse_t3|_avx|_avx_t1|_avx_t2|_avx2|_avx2_t1|_avx2_t2|_avx512|_avx512_t1|_avx512_t2",
	  false, false },
	{ "af_alg", "AF_ALG", "af_alg", "", NULL, false, true }, /* by system calls: a row for each algorithm seen */
	{ "io_uring", "io_uring", "io_uring", "", NULL, false, false }, /* by tracepoints: see uring_ops */
	{ 0 },
};

static const struct offload_uring_op uring_ops[] = {
	{ 1, URING_OUT, "readv" },      { 2, URING_IN, "writev" },      { 3, 0, "fsync" },
	{ 4, URING_OUT, "read_fixed" }, { 5, URING_IN, "write_fixed" }, { 9, URING_IN, "sendmsg" },
	{ 10, URING_OUT, "recvmsg" },   { 22, URING_OUT, "read" },      { 23, URING_IN, "write" },
	{ 26, URING_IN, "send" },       { 27, URING_OUT, "recv" },      { 30, URING_OUT, "splice" },
	{ 46, 0, "uring_cmd" },         { 47, URING_IN, "send_zc" },
};

const struct offload_uring_op *offload_uring_ops(unsigned *count)
{
	*count = sizeof(uring_ops) / sizeof(*uring_ops);
	return uring_ops;
}

/* Where the bytes are. Arguments count from 0. */
#define ARG(n)                                                                                                         \
	{                                                                                                              \
		.op = PX_ARG, .a = (n)                                                                                 \
	}
#define ARG32(n)                                                                                                       \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .width = 4                                                                     \
	}
#define MUL(n, m)                                                                                                      \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m)                                                                       \
	}
#define MUL32(n, m)                                                                                                    \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m), .width = 4                                                           \
	}
#define NO_BYTES                                                                                                       \
	{                                                                                                              \
		.op = PX_CONST                                                                                         \
	}
#define FIELD32(n, o)                                                                                                  \
	{                                                                                                              \
		.op = PX_FIELD, .a = (n), .off = (o), .width = 4                                                       \
	}
#define PAIR(n, o)                                                                                                     \
	{                                                                                                              \
		.op = PX_FIELD_PAIR, .a = (n), .off = (o)                                                              \
	}
#define AFTER32(n, o)                                                                                                  \
	{                                                                                                              \
		.op = PX_FIELD_AFTER, .a = (n), .off = (o), .width = 4                                                 \
	}
#define AFTER64(n, o)                                                                                                  \
	{                                                                                                              \
		.op = PX_FIELD_AFTER, .a = (n), .off = (o)                                                             \
	}
#define USED32(n, o)                                                                                                   \
	{                                                                                                              \
		.op = PX_USED, .a = (n), .off = (o), .width = 4                                                        \
	}
#define GREW64(n, o)                                                                                                   \
	{                                                                                                              \
		.op = PX_GREW, .a = (n), .off = (o)                                                                    \
	}
#define RETURNED                                                                                                       \
	{                                                                                                              \
		.op = PX_RETURN                                                                                        \
	}
#define SUM(n, cnt)                                                                                                    \
	{                                                                                                              \
		.op = PX_SUM, .a = (n), .b = (cnt)                                                                     \
	}
#define SUM_OF_FIELD32(n, cnt, o)                                                                                      \
	{                                                                                                              \
		.op = PX_SUM, .a = (n), .b = (cnt), .off = (o), .width = 4                                             \
	}
#define JOBS32(n, cnt, first, other, tells, is)                                                                        \
	{                                                                                                              \
		.op = PX_JOBS, .a = (n), .b = (cnt), .width = 4, .value = PX_JOB_VALUE(first, other, tells, is)        \
	}
#define JOB64(n, ring, first, other, tells, is)                                                                        \
	{                                                                                                              \
		.op = PX_JOB, .a = (n), .off = (ring), .value = PX_JOB_VALUE(first, other, tells, is)                  \
	}
#define PRODUCT(n, cnt)                                                                                                \
	{                                                                                                              \
		.op = PX_PRODUCT, .a = (n), .b = (cnt)                                                                 \
	}
#define PRODUCT3(n)                                                                                                    \
	{                                                                                                              \
		.op = PX_PRODUCT, .a = (n), .value = 3                                                                 \
	}
#define GRID(n)                                                                                                        \
	{                                                                                                              \
		.op = PX_GRID, .a = (n)                                                                                \
	}
#define DIM3(n)                                                                                                        \
	{                                                                                                              \
		.op = PX_DIM3, .a = (n)                                                                                \
	}
/* cudaMemcpyKind, hipMemcpyKind: 1 to the device, 2 from it, 4 told by the addresses. */
#define TO_DEVICE(n, kind)                                                                                             \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .when_arg = (kind) + 1, .when = 1, .value = 1 << 4                             \
	}
#define FROM_DEVICE(n, kind)                                                                                           \
	{                                                                                                              \
		.op = PX_ARG, .a = (n), .when_arg = (kind) + 1, .when = 2, .value = 1 << 4                             \
	}
#define TO_DEVICE_2D(n, m, kind)                                                                                       \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m), .when_arg = (kind) + 1, .when = 1, .value = 1 << 4                   \
	}
#define FROM_DEVICE_2D(n, m, kind)                                                                                     \
	{                                                                                                              \
		.op = PX_MUL, .a = (n), .b = (m), .when_arg = (kind) + 1, .when = 2, .value = 1 << 4                   \
	}

/* Fields of struct probe_spec that hold an argument's number plus one. */
#define QUEUE(n) .queue_arg = (n) + 1
#define QUEUE_AT(n, o) .queue_arg = (n) + 1, .queue_off = (o)
#define EVENT(n) .event_arg = (n) + 1
#define EVENT_OUT(n) .event_out = (n) + 1
#define EVENTS(cnt, list) .list_n = (cnt) + 1, .list_p = (list) + 1
#define BLOCKS_IF(n) .block_arg = (n) + 1

#define CALL(api, sym, ...)                                                                                            \
	{                                                                                                              \
		api, sym,                                                                                              \
		{                                                                                                      \
			.kind = PK_CALL, __VA_ARGS__                                                                   \
		}                                                                                                      \
	}
#define SUBMIT(api, sym, ...)                                                                                          \
	{                                                                                                              \
		api, sym,                                                                                              \
		{                                                                                                      \
			.kind = PK_SUBMIT, __VA_ARGS__                                                                 \
		}                                                                                                      \
	}
#define WAIT(api, sym, ...)                                                                                            \
	{                                                                                                              \
		api, sym,                                                                                              \
		{                                                                                                      \
			.kind = PK_WAIT, __VA_ARGS__                                                                   \
		}                                                                                                      \
	}
#define MARK(api, sym, ...)                                                                                            \
	{                                                                                                              \
		api, sym,                                                                                              \
		{                                                                                                      \
			.kind = PK_EVENT, __VA_ARGS__                                                                  \
		}                                                                                                      \
	}
#define Z .ok = PR_ZERO
#define P .ok = PR_POSITIVE
#define NN .ok = PR_NOT_NEGATIVE
#define SZ .ok = PR_SIZE

static const struct offload_row rows[] = {
	/* CUDA driver. A synchronous copy also ends what was launched on the default stream. */
	CALL("cuda", "cuMemcpyHtoD", Z, .in = ARG(2), .out = NO_BYTES),
	CALL("cuda", "cuMemcpyDtoH", Z, .in = NO_BYTES, .out = ARG(2), .completes = 1),
	CALL("cuda", "cuMemcpy", Z, .in = ARG(2), .either = 1, .completes = 1),
	CALL("cuda", "cuMemcpy2D", Z, .in = PAIR(0, 112), .either = 1, .completes = 1),
	CALL("cuda", "cuMemcpy2DUnaligned", Z, .in = PAIR(0, 112), .either = 1, .completes = 1),
	SUBMIT("cuda", "cuMemcpyHtoDAsync", Z, .in = ARG(2), .out = NO_BYTES, QUEUE(3)),
	SUBMIT("cuda", "cuMemcpyDtoHAsync", Z, .in = NO_BYTES, .out = ARG(2), QUEUE(3)),
	SUBMIT("cuda", "cuMemcpyDtoDAsync", Z, .in = NO_BYTES, .out = NO_BYTES, QUEUE(3)),
	SUBMIT("cuda", "cuMemcpyAsync", Z, .in = ARG(2), .either = 1, QUEUE(3)),
	SUBMIT("cuda", "cuMemcpy2DAsync", Z, .in = PAIR(0, 112), .either = 1, QUEUE(1)),
	/* The second version dropped an argument before the stream. */
	SUBMIT("cuda", "cuMemcpyBatchAsync_v2", Z, .in = SUM(2, 3), .either = 1, QUEUE(7)),
	SUBMIT("cuda", "cuMemcpyBatchAsync", Z, .in = SUM(2, 3), .either = 1, QUEUE(8)),
	SUBMIT("cuda", "cuLaunchKernel", Z, .items = GRID(1), QUEUE(8)),
	SUBMIT("cuda", "cuLaunchCooperativeKernel", Z, .items = GRID(1), QUEUE(8)),
	SUBMIT("cuda", "cuLaunchKernelEx", Z, QUEUE_AT(0, 32)),
	SUBMIT("cuda", "cuGraphLaunch", Z, QUEUE(1)),
	WAIT("cuda", "cuStreamSynchronize", Z, QUEUE(0)),
	WAIT("cuda", "cuStreamQuery", Z, QUEUE(0)),
	WAIT("cuda", "cuCtxSynchronize", Z, .scope = PS_ALL),
	WAIT("cuda", "cuEventSynchronize", Z, .scope = PS_EVENT, EVENT(0)),
	WAIT("cuda", "cuEventQuery", Z, .scope = PS_EVENT, EVENT(0)),
	MARK("cuda", "cuEventRecord", Z, EVENT(0), QUEUE(1)),
	MARK("cuda", "cuEventRecordWithFlags", Z, EVENT(0), QUEUE(1)),

	/* CUDA runtime: the same family, so that the driver calls inside count once. */
	CALL("cudart", "cudaMemcpy", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), .completes = 1),
	CALL("cudart", "cudaMemcpy2D", Z, .in = TO_DEVICE_2D(4, 5, 6), .out = FROM_DEVICE_2D(4, 5, 6), .completes = 1),
	SUBMIT("cudart", "cudaMemcpyAsync", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), QUEUE(4)),
	SUBMIT("cudart", "cudaMemcpy2DAsync", Z, .in = TO_DEVICE_2D(4, 5, 6), .out = FROM_DEVICE_2D(4, 5, 6), QUEUE(7)),
	SUBMIT("cudart", "cudaLaunchKernel", Z, .items = DIM3(1), QUEUE(7)),
	SUBMIT("cudart", "cudaLaunchKernelExC", Z, QUEUE_AT(0, 32)),
	SUBMIT("cudart", "cudaGraphLaunch", Z, QUEUE(1)),
	WAIT("cudart", "cudaStreamSynchronize", Z, QUEUE(0)),
	WAIT("cudart", "cudaStreamQuery", Z, QUEUE(0)),
	WAIT("cudart", "cudaDeviceSynchronize", Z, .scope = PS_ALL),
	WAIT("cudart", "cudaEventSynchronize", Z, .scope = PS_EVENT, EVENT(0)),
	WAIT("cudart", "cudaEventQuery", Z, .scope = PS_EVENT, EVENT(0)),
	MARK("cudart", "cudaEventRecord", Z, EVENT(0), QUEUE(1)),
	MARK("cudart", "cudaEventRecordWithFlags", Z, EVENT(0), QUEUE(1)),

	CALL("hip", "hipMemcpy", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), .completes = 1),
	CALL("hip", "hipMemcpyHtoD", Z, .in = ARG(2), .out = NO_BYTES),
	CALL("hip", "hipMemcpyDtoH", Z, .in = NO_BYTES, .out = ARG(2), .completes = 1),
	CALL("hip", "hipMemcpyWithStream", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), QUEUE(4),
	     .completes = 1),
	SUBMIT("hip", "hipMemcpyAsync", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), QUEUE(4)),
	SUBMIT("hip", "hipMemcpyHtoDAsync", Z, .in = ARG(2), .out = NO_BYTES, QUEUE(3)),
	SUBMIT("hip", "hipMemcpyDtoHAsync", Z, .in = NO_BYTES, .out = ARG(2), QUEUE(3)),
	SUBMIT("hip", "hipModuleLaunchKernel", Z, .items = GRID(1), QUEUE(8)),
	SUBMIT("hip", "hipLaunchKernel", Z, .items = DIM3(1), QUEUE(7)),
	SUBMIT("hip", "hipGraphLaunch", Z, QUEUE(1)),
	WAIT("hip", "hipStreamSynchronize", Z, QUEUE(0)),
	WAIT("hip", "hipStreamQuery", Z, QUEUE(0)),
	WAIT("hip", "hipDeviceSynchronize", Z, .scope = PS_ALL),
	WAIT("hip", "hipEventSynchronize", Z, .scope = PS_EVENT, EVENT(0)),
	WAIT("hip", "hipEventQuery", Z, .scope = PS_EVENT, EVENT(0)),
	MARK("hip", "hipEventRecord", Z, EVENT(0), QUEUE(1)),

	/* Level Zero: copies are put on a list, the list on a queue; which list went to which queue
	 * is not followed, so a synchronisation ends all. */
	SUBMIT("level-zero", "zeCommandListAppendMemoryCopy", Z, .in = ARG(3), .either = 1, QUEUE(0)),
	SUBMIT("level-zero", "zeCommandListAppendLaunchKernel", Z, QUEUE(0)),
	SUBMIT("level-zero", "zeCommandQueueExecuteCommandLists", Z, QUEUE(0)),
	WAIT("level-zero", "zeCommandQueueSynchronize", Z, .scope = PS_ALL),
	WAIT("level-zero", "zeCommandListHostSynchronize", Z, .scope = PS_ALL),
	WAIT("level-zero", "zeEventHostSynchronize", Z, .scope = PS_ALL),
	WAIT("level-zero", "zeFenceHostSynchronize", Z, .scope = PS_ALL),

	SUBMIT("opencl", "clEnqueueWriteBuffer", Z, .in = ARG(4), .out = NO_BYTES, BLOCKS_IF(2), QUEUE(0), EVENT_OUT(8),
	       .completes = 1),
	SUBMIT("opencl", "clEnqueueReadBuffer", Z, .in = NO_BYTES, .out = ARG(4), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(8),
	       .completes = 1),
	SUBMIT("opencl", "clEnqueueWriteBufferRect", Z, .in = PRODUCT3(5), .out = NO_BYTES, BLOCKS_IF(2), QUEUE(0),
	       EVENT_OUT(13), .completes = 1),
	SUBMIT("opencl", "clEnqueueReadBufferRect", Z, .in = NO_BYTES, .out = PRODUCT3(5), BLOCKS_IF(2), QUEUE(0),
	       EVENT_OUT(13), .completes = 1),
	SUBMIT("opencl", "clEnqueueWriteImage", Z, .items = PRODUCT3(4), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(10),
	       .completes = 1),
	SUBMIT("opencl", "clEnqueueReadImage", Z, .items = PRODUCT3(4), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(10),
	       .completes = 1),
	SUBMIT("opencl", "clEnqueueCopyBuffer", Z, .in = NO_BYTES, .out = NO_BYTES, QUEUE(0), EVENT_OUT(8)),
	SUBMIT("opencl", "clEnqueueFillBuffer", Z, .in = NO_BYTES, .out = NO_BYTES, QUEUE(0), EVENT_OUT(8)),
	SUBMIT("opencl", "clEnqueueMapBuffer", .ok = PR_NONZERO, .in = ARG(5), .either = 1, BLOCKS_IF(2), QUEUE(0),
	       EVENT_OUT(8), .completes = 1),
	SUBMIT("opencl", "clEnqueueUnmapMemObject", Z, QUEUE(0), EVENT_OUT(5)),
	SUBMIT("opencl", "clEnqueueSVMMemcpy", Z, .in = ARG(4), .either = 1, BLOCKS_IF(1), QUEUE(0), EVENT_OUT(7),
	       .completes = 1),
	SUBMIT("opencl", "clEnqueueNDRangeKernel", Z, .items = PRODUCT(4, 2), QUEUE(0), EVENT_OUT(8)),
	WAIT("opencl", "clFinish", Z, QUEUE(0)),
	WAIT("opencl", "clWaitForEvents", Z, .scope = PS_EVENT, EVENTS(0, 1)),

	/* What a command buffer holds is not followed: a submission is one call. A fence stands for all before it. */
	SUBMIT("vulkan", "vkQueueSubmit", Z, QUEUE(0), EVENT(3)),
	SUBMIT("vulkan", "vkQueueSubmit2", Z, QUEUE(0), EVENT(3)),
	WAIT("vulkan", "vkQueueWaitIdle", Z, QUEUE(0)),
	WAIT("vulkan", "vkDeviceWaitIdle", Z, .scope = PS_ALL),
	WAIT("vulkan", "vkWaitForFences", Z, .scope = PS_EVENT, EVENTS(1, 2)),
	WAIT("vulkan", "vkGetFenceStatus", Z, .scope = PS_EVENT, EVENT(1)),

	CALL("openssl", "EVP_CipherUpdate", P, .in = ARG32(4), .out = AFTER32(2, 0)),
	CALL("openssl", "EVP_EncryptUpdate", P, .in = ARG32(4), .out = AFTER32(2, 0)),
	CALL("openssl", "EVP_DecryptUpdate", P, .in = ARG32(4), .out = AFTER32(2, 0)),
	CALL("openssl", "EVP_Cipher", NN, .in = ARG32(3)),
	CALL("openssl", "EVP_Digest", P, .in = ARG(1)),
	CALL("openssl", "EVP_DigestUpdate", P, .in = ARG(2)),
	CALL("openssl", "EVP_DigestSign", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("openssl", "EVP_DigestVerify", P, .apart = PA_KEYS, .in = ARG(4)),
	CALL("openssl", "EVP_DigestSignUpdate", P, .in = ARG(2)),
	CALL("openssl", "EVP_DigestVerifyUpdate", P, .in = ARG(2)),
	CALL("openssl", "EVP_DigestSignFinal", P, .apart = PA_KEYS, .in = NO_BYTES, .out = AFTER64(2, 0)),
	CALL("openssl", "EVP_DigestVerifyFinal", P, .apart = PA_KEYS, .in = NO_BYTES),
	CALL("openssl", "EVP_MAC_update", P, .in = ARG(2)),
	CALL("openssl", "EVP_PKEY_sign", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("openssl", "EVP_PKEY_verify", P, .apart = PA_KEYS, .in = ARG(4)),
	CALL("openssl", "EVP_PKEY_encrypt", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("openssl", "EVP_PKEY_decrypt", P, .apart = PA_KEYS, .in = ARG(4), .out = AFTER64(2, 0)),
	CALL("openssl", "EVP_PKEY_derive", P, .apart = PA_KEYS, .in = NO_BYTES, .out = AFTER64(2, 0)),

	/* z_stream: avail_in at 8, avail_out at 32; zlib-ng's own names have the same layout. */
	CALL("zlib", "deflate", NN, .in = USED32(0, 8), .out = USED32(0, 32)),
	CALL("zlib", "inflate", NN, .in = USED32(0, 8), .out = USED32(0, 32)),
	CALL("zlib", "zng_deflate", NN, .in = USED32(0, 8), .out = USED32(0, 32)),
	CALL("zlib", "zng_inflate", NN, .in = USED32(0, 8), .out = USED32(0, 32)),
	CALL("zlib", "compress", Z, .in = ARG(3), .out = AFTER64(1, 0)),
	CALL("zlib", "compress2", Z, .in = ARG(3), .out = AFTER64(1, 0)),
	CALL("zlib", "uncompress", Z, .in = ARG(3), .out = AFTER64(1, 0)),
	CALL("zlib", "uncompress2", Z, .in = AFTER64(3, 0), .out = AFTER64(1, 0)),
	CALL("zlib", "crc32", .apart = PA_CHECKSUMS, .in = ARG32(2)),
	CALL("zlib", "crc32_z", .apart = PA_CHECKSUMS, .in = ARG(2)),
	CALL("zlib", "adler32", .apart = PA_CHECKSUMS, .in = ARG32(2)),
	CALL("zlib", "adler32_z", .apart = PA_CHECKSUMS, .in = ARG(2)),

	/* isal_zstream: avail_in at 8, avail_out at 24; inflate_state: the output comes first. */
	CALL("isal", "isal_deflate", Z, .in = USED32(0, 8), .out = USED32(0, 24)),
	CALL("isal", "isal_deflate_stateless", Z, .in = USED32(0, 8), .out = USED32(0, 24)),
	CALL("isal", "isal_inflate", NN, .in = USED32(0, 32), .out = USED32(0, 8)),
	CALL("isal", "isal_inflate_stateless", NN, .in = USED32(0, 32), .out = USED32(0, 8)),
	CALL("isal", "crc32_gzip_refl", .apart = PA_CHECKSUMS, .in = ARG(2)),
	CALL("isal", "crc32_ieee", .apart = PA_CHECKSUMS, .in = ARG(2)),
	CALL("isal", "crc32_iscsi", .apart = PA_CHECKSUMS, .in = ARG32(1)),
	CALL("isal", "ec_encode_data", .in = MUL32(0, 1), .out = MUL32(0, 2)),
	CALL("isal", "xor_gen", .in = MUL32(0, 1)),

	CALL("zstd", "ZSTD_compress", SZ, .in = ARG(3), .out = RETURNED),
	CALL("zstd", "ZSTD_compressCCtx", SZ, .in = ARG(4), .out = RETURNED),
	CALL("zstd", "ZSTD_compress2", SZ, .in = ARG(4), .out = RETURNED),
	CALL("zstd", "ZSTD_compress_usingDict", SZ, .in = ARG(4), .out = RETURNED),
	CALL("zstd", "ZSTD_compress_usingCDict", SZ, .in = ARG(4), .out = RETURNED),
	CALL("zstd", "ZSTD_decompress", SZ, .in = ARG(3), .out = RETURNED),
	CALL("zstd", "ZSTD_decompressDCtx", SZ, .in = ARG(4), .out = RETURNED),
	CALL("zstd", "ZSTD_decompress_usingDict", SZ, .in = ARG(4), .out = RETURNED),
	CALL("zstd", "ZSTD_decompress_usingDDict", SZ, .in = ARG(4), .out = RETURNED),
	/* ZSTD_inBuffer, ZSTD_outBuffer: pos at 16. */
	CALL("zstd", "ZSTD_compressStream", SZ, .in = GREW64(2, 16), .out = GREW64(1, 16)),
	CALL("zstd", "ZSTD_compressStream2", SZ, .in = GREW64(2, 16), .out = GREW64(1, 16)),
	CALL("zstd", "ZSTD_endStream", SZ, .in = NO_BYTES, .out = GREW64(1, 16)),
	CALL("zstd", "ZSTD_decompressStream", SZ, .in = GREW64(2, 16), .out = GREW64(1, 16)),

	CALL("qatzip", "qzCompress", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qatzip", "qzCompressExt", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qatzip", "qzCompressCrcExt", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qatzip", "qzDecompressExt", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qatzip", "qzCompressCrc", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),
	CALL("qatzip", "qzDecompress", Z, .in = AFTER32(2, 0), .out = AFTER32(4, 0)),

	/* qpl_job: available_in at 8. A job is its own queue. */
	CALL("qpl", "qpl_execute_job", Z, .in = FIELD32(0, 8)),
	SUBMIT("qpl", "qpl_submit_job", Z, .in = FIELD32(0, 8), QUEUE(0)),
	WAIT("qpl", "qpl_wait_job", Z, QUEUE(0)),
	WAIT("qpl", "qpl_check_job", Z, QUEUE(0)),

	CALL("vaapi", "vaCreateBuffer", Z, .in = MUL32(3, 4)),
	SUBMIT("vaapi", "vaEndPicture", Z, QUEUE(1)),
	WAIT("vaapi", "vaSyncSurface", Z, .scope = PS_ALL),
	WAIT("vaapi", "vaSyncSurface2", Z, .scope = PS_ALL),
	WAIT("vaapi", "vaSyncBuffer", Z, .scope = PS_ALL),

	CALL("kcapi", "kcapi_cipher_encrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi", "kcapi_cipher_decrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi", "kcapi_aead_encrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi", "kcapi_aead_decrypt", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi", "kcapi_md_digest", NN, .in = ARG(2), .out = RETURNED),
	CALL("kcapi", "kcapi_md_update", NN, .in = ARG(2)),

	/* A burst of rte_comp_op: src.length at 52. What a poll took back was handed over before it. */
	SUBMIT("compressdev", "rte_compressdev_enqueue_burst", P, .in = SUM_OF_FIELD32(2, 3, 52), QUEUE(1)),
	WAIT("compressdev", "rte_compressdev_dequeue_burst", P, QUEUE(1)),

	/* A driver's own functions (tables, below), with the queue pair first. rte_crypto_op: bytes to cipher, or to
	 * encrypt with a tag, at 52; none: bytes to authenticate at 60. */
	SUBMIT("cryptodev", "rte_cryptodev_enqueue_burst", P, .in = JOBS32(1, 2, 52, 60, 52, 0), QUEUE(0)),
	WAIT("cryptodev", "rte_cryptodev_dequeue_burst", P, QUEUE(0)),

	/* IMB_MGR of 1.3: its jobs at 1024, before them where the next one lies. IMB_JOB: bytes to cipher at 48; with a
	 * cipher_mode (132) of IMB_CIPHER_NULL: bytes to authenticate at 64. */
	SUBMIT("ipsec-mb", "submit_job", .in = JOB64(0, 1024, 48, 64, 132, 3), QUEUE(0), .job_event = 1,
	       .completes = 1),
	SUBMIT("ipsec-mb", "submit_job_nocheck", .in = JOB64(0, 1024, 48, 64, 132, 3), QUEUE(0), .job_event = 1,
	       .completes = 1),
	WAIT("ipsec-mb", "flush_job", .ok = PR_NONZERO, .scope = PS_EVENT, .job_event = 1),
	WAIT("ipsec-mb", "get_completed_job", .ok = PR_NONZERO, .scope = PS_EVENT, .job_event = 1),
};

static const struct offload_table tables[] = {
	{ "cryptodev", "rte_crypto_fp_ops", 64, 64, { "rte_cryptodev_enqueue_burst", "rte_cryptodev_dequeue_burst" } },
};

const struct offload_table *offload_table_of(const struct offload_api *api)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!strcmp(tables[i].api, api->name))
			return &tables[i];
	return NULL;
}

const struct offload_api *offload_apis(void)
{
	return apis;
}

const struct offload_row *offload_rows(unsigned *count)
{
	*count = sizeof(rows) / sizeof(*rows);
	return rows;
}

const struct offload_api *offload_api_find(const char *name)
{
	for (const struct offload_api *a = apis; a->name; a++)
		if (!strcmp(a->name, name))
			return a;
	return NULL;
}

static bool pattern_matches(const char *patterns, const char *base)
{
	while (*patterns) {
		size_t n = strcspn(patterns, "|");
		char one[64];

		snprintf(one, sizeof(one), "%.*s", (int)n, patterns);
		if (!fnmatch(one, base, 0))
			return true;
		patterns += n + (patterns[n] != 0);
	}
	return false;
}

const struct offload_api *offload_api_of(const char *base, const struct offload_api *after)
{
	for (const struct offload_api *a = after ? after + 1 : apis; a->name; a++)
		if (pattern_matches(a->libs, base))
			return a;
	return NULL;
}

static bool twin(const char *suffixes, const char *rest, bool *per_thread)
{
	*per_thread = false;
	if (!*rest)
		return true;
	while (suffixes && *suffixes) {
		size_t n = strcspn(suffixes, "|");

		if (strlen(rest) == n && !strncmp(rest, suffixes, n)) {
			*per_thread = strstr(rest, "_pt") || strstr(rest, "_spt");
			return true;
		}
		suffixes += n + (suffixes[n] != 0);
	}
	return false;
}

const struct offload_row *offload_row_of(const struct offload_api *api, const char *symbol, bool *per_thread)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t n = strlen(rows[i].symbol);

		if (!strncmp(rows[i].symbol, symbol, n) && !strcmp(rows[i].api, api->name) &&
		    twin(api->suffixes, symbol + n, per_thread))
			return &rows[i];
	}
	return NULL;
}

uint16_t offload_family(const char *family)
{
	for (const struct offload_api *a = apis; a->name; a++)
		if (!strcmp(a->family, family))
			return (uint16_t)(a - apis + 1);
	return 0;
}
