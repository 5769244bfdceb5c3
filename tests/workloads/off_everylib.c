// cflags: -O2 -shared -fPIC -fvisibility=hidden -fno-ipa-icf
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of the offload libraries that no package of a test machine has, by their published
 * prototypes, each under every name its library may give it. Tests copy this file to the libraries'
 * names; off_every calls it. What takes results takes a known part of what it is given.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#define FN(ret, name, params, ...)                                                                                     \
	__attribute__((visibility("default"), noipa)) ret name params;                                                 \
	ret name params                                                                                                \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
/* The formatter never comes to rest on lists of macros. */
/* clang-format off */
#define DRIVER(name, params, ...)                                                                  \
	FN(int, name, params, __VA_ARGS__) FN(int, name##_v2, params, __VA_ARGS__)                 \
	FN(int, name##_v3, params, __VA_ARGS__) FN(int, name##_ptds, params, __VA_ARGS__)          \
	FN(int, name##_ptsz, params, __VA_ARGS__) FN(int, name##_v2_ptds, params, __VA_ARGS__)     \
	FN(int, name##_v2_ptsz, params, __VA_ARGS__)
#define RUNTIME(name, params, ...)                                                                 \
	FN(int, name, params, __VA_ARGS__) FN(int, name##_ptds, params, __VA_ARGS__)               \
	FN(int, name##_ptsz, params, __VA_ARGS__) FN(int, name##_v2, params, __VA_ARGS__)
#define HIP(name, params, ...)                                                                     \
	FN(int, name, params, __VA_ARGS__) FN(int, name##_spt, params, __VA_ARGS__)
#define PLAIN(name, params, ...) FN(int, name, params, __VA_ARGS__)
/* clang-format on */

typedef void *ptr;
typedef unsigned u;
struct dim3 {
	u x, y, z;
};

/* A wait that finds its work done at once has no time of its own. */
#define NAP                                                                                                            \
	usleep(200);                                                                                                   \
	return 0;
#define OK return 0;

DRIVER(cuMemcpyHtoD, (ptr d, const void *s, size_t n), OK)
DRIVER(cuMemcpyDtoH, (ptr d, ptr s, size_t n), OK)
DRIVER(cuMemcpy, (ptr d, ptr s, size_t n), OK)
DRIVER(cuMemcpy2D, (const void *c), OK)
DRIVER(cuMemcpy2DUnaligned, (const void *c), OK)
DRIVER(cuMemcpyHtoDAsync, (ptr d, const void *s, size_t n, ptr q), OK)
DRIVER(cuMemcpyDtoHAsync, (ptr d, ptr s, size_t n, ptr q), OK)
DRIVER(cuMemcpyDtoDAsync, (ptr d, ptr s, size_t n, ptr q), OK)
DRIVER(cuMemcpyAsync, (ptr d, ptr s, size_t n, ptr q), OK)
DRIVER(cuMemcpy2DAsync, (const void *c, ptr q), OK)
PLAIN(cuMemcpyBatchAsync, (ptr * d, ptr *s, size_t *n, size_t cnt, ptr a, size_t *ai, size_t an, size_t *fail, ptr q),
      OK)
PLAIN(cuMemcpyBatchAsync_ptsz,
      (ptr * d, ptr *s, size_t *n, size_t cnt, ptr a, size_t *ai, size_t an, size_t *fail, ptr q), OK)
PLAIN(cuMemcpyBatchAsync_v2, (ptr * d, ptr *s, size_t *n, size_t cnt, ptr a, size_t *ai, size_t an, ptr q), OK)
PLAIN(cuMemcpyBatchAsync_v2_ptsz, (ptr * d, ptr *s, size_t *n, size_t cnt, ptr a, size_t *ai, size_t an, ptr q), OK)
DRIVER(cuLaunchKernel, (ptr f, u gx, u gy, u gz, u bx, u by, u bz, u sh, ptr q, ptr *a, ptr *e), OK)
DRIVER(cuLaunchCooperativeKernel, (ptr f, u gx, u gy, u gz, u bx, u by, u bz, u sh, ptr q, ptr *a), OK)
DRIVER(cuLaunchKernelEx, (const void *c, ptr f, ptr *a, ptr *e), OK)
DRIVER(cuGraphLaunch, (ptr g, ptr q), OK)
DRIVER(cuStreamSynchronize, (ptr q), NAP)
DRIVER(cuStreamQuery, (ptr q), NAP)
DRIVER(cuCtxSynchronize, (void), NAP)
DRIVER(cuEventSynchronize, (ptr e), NAP)
DRIVER(cuEventQuery, (ptr e), NAP)
DRIVER(cuEventRecord, (ptr e, ptr q), OK)
DRIVER(cuEventRecordWithFlags, (ptr e, ptr q, u f), OK)

RUNTIME(cudaMemcpy, (ptr d, const void *s, size_t n, int kind), OK)
RUNTIME(cudaMemcpy2D, (ptr d, size_t dp, const void *s, size_t sp, size_t w, size_t h, int kind), OK)
RUNTIME(cudaMemcpyAsync, (ptr d, const void *s, size_t n, int kind, ptr q), OK)
RUNTIME(cudaMemcpy2DAsync, (ptr d, size_t dp, const void *s, size_t sp, size_t w, size_t h, int kind, ptr q), OK)
RUNTIME(cudaLaunchKernel, (const void *f, struct dim3 g, struct dim3 b, ptr *a, size_t sh, ptr q), OK)
RUNTIME(cudaLaunchKernelExC, (const void *c, const void *f, ptr *a), OK)
RUNTIME(cudaGraphLaunch, (ptr g, ptr q), OK)
RUNTIME(cudaStreamSynchronize, (ptr q), NAP)
RUNTIME(cudaStreamQuery, (ptr q), NAP)
RUNTIME(cudaDeviceSynchronize, (void), NAP)
RUNTIME(cudaEventSynchronize, (ptr e), NAP)
RUNTIME(cudaEventQuery, (ptr e), NAP)
RUNTIME(cudaEventRecord, (ptr e, ptr q), OK)
RUNTIME(cudaEventRecordWithFlags, (ptr e, ptr q, u f), OK)

HIP(hipMemcpy, (ptr d, const void *s, size_t n, int kind), OK)
HIP(hipMemcpyHtoD, (ptr d, ptr s, size_t n), OK)
HIP(hipMemcpyDtoH, (ptr d, ptr s, size_t n), OK)
HIP(hipMemcpyWithStream, (ptr d, const void *s, size_t n, int kind, ptr q), OK)
HIP(hipMemcpyAsync, (ptr d, const void *s, size_t n, int kind, ptr q), OK)
HIP(hipMemcpyHtoDAsync, (ptr d, ptr s, size_t n, ptr q), OK)
HIP(hipMemcpyDtoHAsync, (ptr d, ptr s, size_t n, ptr q), OK)
HIP(hipModuleLaunchKernel, (ptr f, u gx, u gy, u gz, u bx, u by, u bz, u sh, ptr q, ptr *a, ptr *e), OK)
HIP(hipLaunchKernel, (const void *f, struct dim3 g, struct dim3 b, ptr *a, size_t sh, ptr q), OK)
HIP(hipGraphLaunch, (ptr g, ptr q), OK)
HIP(hipStreamSynchronize, (ptr q), NAP)
HIP(hipStreamQuery, (ptr q), NAP)
HIP(hipDeviceSynchronize, (void), NAP)
HIP(hipEventSynchronize, (ptr e), NAP)
HIP(hipEventQuery, (ptr e), NAP)
HIP(hipEventRecord, (ptr e, ptr q), OK)

PLAIN(zeCommandListAppendMemoryCopy, (ptr l, ptr d, const void *s, size_t n, ptr e, uint32_t cnt, ptr *w), OK)
PLAIN(zeCommandListAppendLaunchKernel, (ptr l, ptr k, const void *groups, ptr e, uint32_t cnt, ptr *w), OK)
PLAIN(zeCommandQueueExecuteCommandLists, (ptr q, uint32_t n, ptr *l, ptr f), OK)
PLAIN(zeCommandQueueSynchronize, (ptr q, uint64_t timeout), NAP)
PLAIN(zeCommandListHostSynchronize, (ptr l, uint64_t timeout), NAP)
PLAIN(zeEventHostSynchronize, (ptr e, uint64_t timeout), NAP)
PLAIN(zeFenceHostSynchronize, (ptr f, uint64_t timeout), NAP)

/* zng_stream as far as it goes; all but 3 bytes are taken, half as many come out. */
struct stream {
	const uint8_t *next_in;
	uint32_t avail_in;
	size_t total_in;
	uint8_t *next_out;
	uint32_t avail_out;
};
#define STREAM                                                                                                         \
	u n = s->avail_in - 3;                                                                                         \
	s->avail_in = 3;                                                                                               \
	s->avail_out -= n / 2;                                                                                         \
	return 0;
PLAIN(zng_deflate, (struct stream * s, int flush), STREAM)
PLAIN(zng_inflate, (struct stream * s, int flush), STREAM)

#define LENGTHS                                                                                                        \
	*sn -= 5;                                                                                                      \
	*dn = *sn / 3;                                                                                                 \
	return 0;
PLAIN(qzCompressCrcExt, (ptr q, const uint8_t *s, u *sn, uint8_t *d, u *dn, u last, uint64_t *crc, uint64_t *rc),
      LENGTHS)
PLAIN(qzCompressCrc, (ptr q, const uint8_t *s, u *sn, uint8_t *d, u *dn, u last, uint64_t *crc),
      int r = qzCompressCrcExt(q, s, sn, d, dn, last, crc, NULL);
      __asm__ volatile("" ::
			       : "memory");
      return r;)
PLAIN(qzCompressExt, (ptr q, const uint8_t *s, u *sn, uint8_t *d, u *dn, u last, uint64_t *rc), LENGTHS)
PLAIN(qzCompress, (ptr q, const uint8_t *s, u *sn, uint8_t *d, u *dn, u last),
      return qzCompressExt(q, s, sn, d, dn, last, NULL);)
PLAIN(qzDecompressExt, (ptr q, const uint8_t *s, u *sn, uint8_t *d, u *dn, uint64_t *rc), LENGTHS)
PLAIN(qzDecompress, (ptr q, const uint8_t *s, u *sn, uint8_t *d, u *dn), return qzDecompressExt(q, s, sn, d, dn, NULL);)

PLAIN(qpl_execute_job, (ptr j), OK)
PLAIN(qpl_submit_job, (ptr j), OK)
PLAIN(qpl_wait_job, (ptr j), NAP)
PLAIN(qpl_check_job, (ptr j), NAP)

PLAIN(vaCreateBuffer, (ptr d, u ctx, int type, u size, u n, ptr data, u *id), OK)
PLAIN(vaEndPicture, (ptr d, u ctx), OK)
PLAIN(vaSyncSurface, (ptr d, u s), NAP)
PLAIN(vaSyncSurface2, (ptr d, u s, uint64_t timeout), NAP)
PLAIN(vaSyncBuffer, (ptr d, u b, uint64_t timeout), NAP)

#define SIZED(name, params) FN(ssize_t, name, params, return (ssize_t)n - 1;)
SIZED(kcapi_cipher_encrypt, (ptr h, const uint8_t *s, size_t n, const uint8_t *iv, uint8_t *d, size_t dn, int access))
SIZED(kcapi_cipher_decrypt, (ptr h, const uint8_t *s, size_t n, const uint8_t *iv, uint8_t *d, size_t dn, int access))
SIZED(kcapi_aead_encrypt, (ptr h, const uint8_t *s, size_t n, const uint8_t *iv, uint8_t *d, size_t dn, int access))
SIZED(kcapi_aead_decrypt, (ptr h, const uint8_t *s, size_t n, const uint8_t *iv, uint8_t *d, size_t dn, int access))
SIZED(kcapi_md_digest, (ptr h, const uint8_t *s, size_t n, uint8_t *d, size_t dn))
PLAIN(kcapi_md_update, (ptr h, const uint8_t *s, size_t n), return (int)n - 7;)
