// cflags: -O2
// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls each function of off_everylib under each of its names, with sizes of its own, and waits once
 * for each submission: `off_every API...`, with copies of off_everylib under the libraries' names in the
 * loader's path. Says what it did as JSON, one object of calls, in, out, items, async per function and API.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef void *ptr;
typedef unsigned u;
struct dim3 {
	u x, y, z;
};

static struct figures {
	char name[64];
	unsigned long calls, in, out, items, async;
} seen[64];
static unsigned seen_cnt, sizes_used;
static uint8_t data[1 << 16];
static ptr lib;

static const char *const driver[] = { "", "_v2", "_v3", "_ptds", "_ptsz", "_v2_ptds", "_v2_ptsz", NULL };
static const char *const runtime[] = { "", "_ptds", "_ptsz", "_v2", NULL };
static const char *const hip[] = { "", "_spt", NULL };
static const char *const plain[] = { "", NULL };
static const char *const batch[] = { "", "_ptsz", NULL };

static struct figures *of(const char *name)
{
	for (unsigned i = 0; i < seen_cnt; i++)
		if (!strcmp(seen[i].name, name))
			return &seen[i];
	snprintf(seen[seen_cnt].name, sizeof(seen->name), "%s", name);
	return &seen[seen_cnt++];
}

static ptr find(const char *name, const char *suffix)
{
	char full[96];
	ptr f;

	snprintf(full, sizeof(full), "%s%s", name, suffix);
	f = dlsym(lib, full);
	if (!f) {
		fprintf(stderr, "off_every: no %s\n", full);
		exit(1);
	}
	return f;
}

/* Runs the statements with f = each of the function's names, and n another size for each. */
#define EACH(names, name, ret, params, ...)                                                                            \
	for (unsigned i_ = 0; names[i_]; i_++) {                                                                       \
		ret(*f) params;                                                                                        \
		size_t n = 1000 + 7 * (++sizes_used);                                                                  \
		struct figures *c = of(#name);                                                                         \
		*(ptr *)&f = find(#name, names[i_]);                                                                   \
		c->calls++;                                                                                            \
		(void)n;                                                                                               \
		__VA_ARGS__;                                                                                           \
	}

/* A queue, an event of one's own: nothing but the wait under test can complete what is on it. */
static ptr fresh(void)
{
	static uintptr_t handle = 0x1000;

	return (ptr)(handle += 16);
}

/* One for all: a wait for everything that was not seen leaves its work to the next one, and work that
 * shares its queue with later work is told late. */
#define SHARED ((ptr)0x77)

static void cu_launch(ptr q)
{
	int (*f)(ptr, u, u, u, u, u, u, u, ptr, ptr *, ptr *);

	*(ptr *)&f = find("cuLaunchKernel", "");
	of("cuLaunchKernel")->calls++;
	of("cuLaunchKernel")->items += 4 * 2 * 32;
	of("cuLaunchKernel")->async++;
	f(NULL, 4, 1, 1, 32, 2, 1, 0, q, NULL, NULL);
}

static void end(const char *wait, ptr q)
{
	int (*f)(ptr);

	*(ptr *)&f = find(wait, "");
	of(wait)->calls++;
	f(q);
}

static void mark(const char *record, ptr e, ptr q)
{
	int (*f)(ptr, ptr);

	*(ptr *)&f = find(record, "");
	of(record)->calls++;
	f(e, q);
}

#define WAITED(wait, q) c->async++, end(wait, q)

static void cuda(void)
{
	size_t copy[16] = { 0 }, sizes[3];
	uint64_t launch[8] = { 0 };
	ptr q, e;

	EACH(driver, cuMemcpyHtoD, int, (ptr, const void *, size_t), f(data, data, n); c->in += n)
	EACH(driver, cuMemcpyDtoH, int, (ptr, ptr, size_t), f(data, data, n); c->out += n)
	EACH(driver, cuMemcpy, int, (ptr, ptr, size_t), f(data, data, n); c->in += n)
	EACH(driver, cuMemcpy2D, int, (const void *), copy[14] = n; copy[15] = 3; f(copy); c->in += 3 * n)
	EACH(driver, cuMemcpy2DUnaligned, int, (const void *), copy[14] = n; copy[15] = 5; f(copy); c->in += 5 * n)
	EACH(driver, cuMemcpyHtoDAsync, int, (ptr, const void *, size_t, ptr), q = fresh(); f(data, data, n, q);
	     c->in += n; WAITED("cuStreamSynchronize", q))
	EACH(driver, cuMemcpyDtoHAsync, int, (ptr, ptr, size_t, ptr), q = fresh(); f(data, data, n, q); c->out += n;
	     WAITED("cuStreamSynchronize", q))
	EACH(driver, cuMemcpyDtoDAsync, int, (ptr, ptr, size_t, ptr), q = fresh(); f(data, data, n, q);
	     WAITED("cuStreamSynchronize", q))
	EACH(driver, cuMemcpyAsync, int, (ptr, ptr, size_t, ptr), q = fresh(); f(data, data, n, q); c->in += n;
	     WAITED("cuStreamSynchronize", q))
	EACH(driver, cuMemcpy2DAsync, int, (const void *, ptr), copy[14] = n; copy[15] = 2; q = fresh(); f(copy, q);
	     c->in += 2 * n; WAITED("cuStreamSynchronize", q))
	EACH(batch, cuMemcpyBatchAsync, int, (ptr *, ptr *, size_t *, size_t, ptr, size_t *, size_t, size_t *, ptr),
	     sizes[0] = n;
	     sizes[1] = 1; sizes[2] = 10; q = fresh(); f(NULL, NULL, sizes, 3, NULL, NULL, 0, NULL, q); c->in += n + 11;
	     WAITED("cuStreamSynchronize", q))
	/* To the reader this is the same function. */
	for (unsigned i = 0; i < 2; i++) {
		int (*f)(ptr *, ptr *, size_t *, size_t, ptr, size_t *, size_t, ptr);
		struct figures *c = of("cuMemcpyBatchAsync_v2");

		*(ptr *)&f = find("cuMemcpyBatchAsync_v2", batch[i]);
		sizes[0] = 77;
		sizes[1] = 7;
		q = fresh();
		f(NULL, NULL, sizes, 2, NULL, NULL, 0, q);
		c->calls++;
		c->in += 84;
		WAITED("cuStreamSynchronize", q);
	}
	EACH(driver, cuLaunchKernel, int, (ptr, u, u, u, u, u, u, u, ptr, ptr *, ptr *), q = fresh();
	     f(NULL, (u)n, 2, 3, 4, 5, 6, 0, q, NULL, NULL); c->items += n * 720; WAITED("cuStreamSynchronize", q))
	EACH(driver, cuLaunchCooperativeKernel, int, (ptr, u, u, u, u, u, u, u, ptr, ptr *), q = fresh();
	     f(NULL, (u)n, 2, 3, 4, 5, 6, 0, q, NULL); c->items += n * 720; WAITED("cuStreamSynchronize", q))
	EACH(driver, cuLaunchKernelEx, int, (const void *, ptr, ptr *, ptr *), q = fresh(); launch[4] = (uintptr_t)q;
	     f(launch, NULL, NULL, NULL); WAITED("cuStreamSynchronize", q))
	EACH(driver, cuGraphLaunch, int, (ptr, ptr), q = fresh(); f(data, q); WAITED("cuStreamSynchronize", q))
	EACH(driver, cuStreamSynchronize, int, (ptr), q = fresh(); cu_launch(q); f(q))
	EACH(driver, cuStreamQuery, int, (ptr), q = fresh(); cu_launch(q); f(q))
	EACH(driver, cuCtxSynchronize, int, (void), cu_launch(SHARED); f())
	EACH(driver, cuEventRecord, int, (ptr, ptr), q = fresh(); e = fresh(); cu_launch(q); f(e, q);
	     end("cuEventSynchronize", e))
	EACH(driver, cuEventRecordWithFlags, int, (ptr, ptr, u), q = fresh(); e = fresh(); cu_launch(q); f(e, q, 0);
	     end("cuEventSynchronize", e))
	EACH(driver, cuEventSynchronize, int, (ptr), q = fresh(); e = fresh(); cu_launch(q);
	     mark("cuEventRecord", e, q); f(e))
	EACH(driver, cuEventQuery, int, (ptr), q = fresh(); e = fresh(); cu_launch(q); mark("cuEventRecord", e, q);
	     f(e))
}

static void cuda_launch(ptr q)
{
	int (*f)(const void *, struct dim3, struct dim3, ptr *, size_t, ptr);

	*(ptr *)&f = find("cudaLaunchKernel", "");
	of("cudaLaunchKernel")->calls++;
	of("cudaLaunchKernel")->items += 7 * 32;
	of("cudaLaunchKernel")->async++;
	f(NULL, (struct dim3){ 7, 1, 1 }, (struct dim3){ 32, 1, 1 }, NULL, 0, q);
}

/* Kinds of copies: 1 to the device, 2 from it, 3 within it, 4 whichever the addresses say. */
#define BY_KIND(bytes)                                                                                                 \
	c->in += kind == 1 ? (bytes) : 0;                                                                              \
	c->out += kind == 2 ? (bytes) : 0;

static void cudart(void)
{
	uint64_t launch[8] = { 0 };
	int kind = 0;
	ptr q, e;

	EACH(runtime, cudaMemcpy, int, (ptr, const void *, size_t, int), kind = kind % 4 + 1; f(data, data, n, kind);
	     BY_KIND(n))
	EACH(runtime, cudaMemcpy2D, int, (ptr, size_t, const void *, size_t, size_t, size_t, int), kind = kind % 4 + 1;
	     f(data, 1, data, 1, n, 4, kind); BY_KIND(4 * n))
	EACH(runtime, cudaMemcpyAsync, int, (ptr, const void *, size_t, int, ptr), kind = kind % 4 + 1; q = fresh();
	     f(data, data, n, kind, q); BY_KIND(n) WAITED("cudaStreamSynchronize", q))
	EACH(runtime, cudaMemcpy2DAsync, int, (ptr, size_t, const void *, size_t, size_t, size_t, int, ptr),
	     kind = kind % 4 + 1;
	     q = fresh(); f(data, 1, data, 1, n, 6, kind, q); BY_KIND(6 * n) WAITED("cudaStreamSynchronize", q))
	EACH(runtime, cudaLaunchKernel, int, (const void *, struct dim3, struct dim3, ptr *, size_t, ptr), q = fresh();
	     f(NULL, (struct dim3){ (u)n, 2, 3 }, (struct dim3){ 4, 5, 6 }, NULL, 0, q); c->items += n * 720;
	     WAITED("cudaStreamSynchronize", q))
	EACH(runtime, cudaLaunchKernelExC, int, (const void *, const void *, ptr *), q = fresh();
	     launch[4] = (uintptr_t)q; f(launch, NULL, NULL); WAITED("cudaStreamSynchronize", q))
	EACH(runtime, cudaGraphLaunch, int, (ptr, ptr), q = fresh(); f(data, q); WAITED("cudaStreamSynchronize", q))
	EACH(runtime, cudaStreamSynchronize, int, (ptr), q = fresh(); cuda_launch(q); f(q))
	EACH(runtime, cudaStreamQuery, int, (ptr), q = fresh(); cuda_launch(q); f(q))
	EACH(runtime, cudaDeviceSynchronize, int, (void), cuda_launch(SHARED); f())
	EACH(runtime, cudaEventRecord, int, (ptr, ptr), q = fresh(); e = fresh(); cuda_launch(q); f(e, q);
	     end("cudaEventSynchronize", e))
	EACH(runtime, cudaEventRecordWithFlags, int, (ptr, ptr, u), q = fresh(); e = fresh(); cuda_launch(q);
	     f(e, q, 0); end("cudaEventSynchronize", e))
	EACH(runtime, cudaEventSynchronize, int, (ptr), q = fresh(); e = fresh(); cuda_launch(q);
	     mark("cudaEventRecord", e, q); f(e))
	EACH(runtime, cudaEventQuery, int, (ptr), q = fresh(); e = fresh(); cuda_launch(q);
	     mark("cudaEventRecord", e, q); f(e))
}

static void hip_launch(ptr q)
{
	int (*f)(const void *, struct dim3, struct dim3, ptr *, size_t, ptr);

	*(ptr *)&f = find("hipLaunchKernel", "");
	of("hipLaunchKernel")->calls++;
	of("hipLaunchKernel")->items += 9 * 64;
	of("hipLaunchKernel")->async++;
	f(NULL, (struct dim3){ 9, 1, 1 }, (struct dim3){ 64, 1, 1 }, NULL, 0, q);
}

static void hip_all(void)
{
	int kind = 0;
	ptr q, e;

	for (int twice = 0; twice < 2; twice++) { /* two names only: the other kinds */
		EACH(hip, hipMemcpy, int, (ptr, const void *, size_t, int), kind = kind % 4 + 1; f(data, data, n, kind);
		     BY_KIND(n))
		EACH(hip, hipMemcpyWithStream, int, (ptr, const void *, size_t, int, ptr),
		     f(data, data, n, 2 - twice, fresh());
		     kind = 2 - twice; BY_KIND(n))
		EACH(hip, hipMemcpyAsync, int, (ptr, const void *, size_t, int, ptr), kind = kind % 4 + 1; q = fresh();
		     f(data, data, n, kind, q); BY_KIND(n) WAITED("hipStreamSynchronize", q))
	}
	EACH(hip, hipMemcpyHtoD, int, (ptr, ptr, size_t), f(data, data, n); c->in += n)
	EACH(hip, hipMemcpyDtoH, int, (ptr, ptr, size_t), f(data, data, n); c->out += n)
	EACH(hip, hipMemcpyHtoDAsync, int, (ptr, ptr, size_t, ptr), q = fresh(); f(data, data, n, q); c->in += n;
	     WAITED("hipStreamSynchronize", q))
	EACH(hip, hipMemcpyDtoHAsync, int, (ptr, ptr, size_t, ptr), q = fresh(); f(data, data, n, q); c->out += n;
	     WAITED("hipStreamSynchronize", q))
	EACH(hip, hipModuleLaunchKernel, int, (ptr, u, u, u, u, u, u, u, ptr, ptr *, ptr *), q = fresh();
	     f(NULL, (u)n, 2, 3, 4, 5, 6, 0, q, NULL, NULL); c->items += n * 720; WAITED("hipStreamSynchronize", q))
	EACH(hip, hipLaunchKernel, int, (const void *, struct dim3, struct dim3, ptr *, size_t, ptr), q = fresh();
	     f(NULL, (struct dim3){ (u)n, 2, 3 }, (struct dim3){ 4, 5, 6 }, NULL, 0, q); c->items += n * 720;
	     WAITED("hipStreamSynchronize", q))
	EACH(hip, hipGraphLaunch, int, (ptr, ptr), q = fresh(); f(data, q); WAITED("hipStreamSynchronize", q))
	EACH(hip, hipStreamSynchronize, int, (ptr), q = fresh(); hip_launch(q); f(q))
	EACH(hip, hipStreamQuery, int, (ptr), q = fresh(); hip_launch(q); f(q))
	EACH(hip, hipDeviceSynchronize, int, (void), hip_launch(SHARED); f())
	EACH(hip, hipEventRecord, int, (ptr, ptr), q = fresh(); e = fresh(); hip_launch(q); f(e, q);
	     end("hipEventSynchronize", e))
	EACH(hip, hipEventSynchronize, int, (ptr), q = fresh(); e = fresh(); hip_launch(q);
	     mark("hipEventRecord", e, q); f(e))
	EACH(hip, hipEventQuery, int, (ptr), q = fresh(); e = fresh(); hip_launch(q); mark("hipEventRecord", e, q);
	     f(e))
}

static void ze_copy(void)
{
	EACH(plain, zeCommandListAppendMemoryCopy, int, (ptr, ptr, const void *, size_t, ptr, uint32_t, ptr *),
	     f(SHARED, data, data, n, NULL, 0, NULL);
	     c->in += n; c->async++)
}

static void level_zero(void)
{
	ze_copy();
	EACH(plain, zeCommandQueueSynchronize, int, (ptr, uint64_t), f(fresh(), ~0ull))
	EACH(plain, zeCommandListAppendLaunchKernel, int, (ptr, ptr, const void *, ptr, uint32_t, ptr *),
	     f(SHARED, data, data, NULL, 0, NULL);
	     c->async++)
	EACH(plain, zeCommandListHostSynchronize, int, (ptr, uint64_t), f(fresh(), ~0ull))
	EACH(plain, zeCommandQueueExecuteCommandLists, int, (ptr, uint32_t, ptr *, ptr), f(SHARED, 1, NULL, NULL);
	     c->async++)
	EACH(plain, zeEventHostSynchronize, int, (ptr, uint64_t), f(fresh(), ~0ull))
	ze_copy();
	EACH(plain, zeFenceHostSynchronize, int, (ptr, uint64_t), f(fresh(), ~0ull))
}

struct stream {
	const uint8_t *next_in;
	uint32_t avail_in;
	size_t total_in;
	uint8_t *next_out;
	uint32_t avail_out;
	uint8_t rest[200];
};

static void zng(void)
{
	struct stream s = { .next_in = data };

	EACH(plain, zng_deflate, int, (struct stream *, int), s.avail_in = (uint32_t)n; s.avail_out = 99999; f(&s, 0);
	     c->in += n - 3; c->out += (n - 3) / 2)
	EACH(plain, zng_inflate, int, (struct stream *, int), s.avail_in = (uint32_t)n; s.avail_out = 99999; f(&s, 0);
	     c->in += n - 3; c->out += (n - 3) / 2)
}

#define TOOK c->in += n - 5, c->out += (n - 5) / 3
static void qatzip(void)
{
	uint64_t crc;
	u sn, dn;

	EACH(plain, qzCompress, int, (ptr, const uint8_t *, u *, uint8_t *, u *, u), sn = (u)n; dn = 9999;
	     f(NULL, data, &sn, data, &dn, 1); TOOK)
	EACH(plain, qzCompressExt, int, (ptr, const uint8_t *, u *, uint8_t *, u *, u, uint64_t *), sn = (u)n;
	     dn = 9999; f(NULL, data, &sn, data, &dn, 1, &crc); TOOK)
	EACH(plain, qzCompressCrc, int, (ptr, const uint8_t *, u *, uint8_t *, u *, u, uint64_t *), sn = (u)n;
	     dn = 9999; f(NULL, data, &sn, data, &dn, 1, &crc); TOOK)
	EACH(plain, qzCompressCrcExt, int, (ptr, const uint8_t *, u *, uint8_t *, u *, u, uint64_t *, uint64_t *),
	     sn = (u)n;
	     dn = 9999; f(NULL, data, &sn, data, &dn, 1, &crc, &crc); TOOK)
	EACH(plain, qzDecompress, int, (ptr, const uint8_t *, u *, uint8_t *, u *), sn = (u)n; dn = 9999;
	     f(NULL, data, &sn, data, &dn); TOOK)
	EACH(plain, qzDecompressExt, int, (ptr, const uint8_t *, u *, uint8_t *, u *, uint64_t *), sn = (u)n; dn = 9999;
	     f(NULL, data, &sn, data, &dn, &crc); TOOK)
}

static void qpl_job(void *job, size_t n)
{
	((uint32_t *)job)[2] = (uint32_t)n;
	EACH(plain, qpl_submit_job, int, (ptr), f(job); c->in += ((uint32_t *)job)[2]; c->async++)
}

static void qpl(void)
{
	static uint32_t job[2][64];

	EACH(plain, qpl_execute_job, int, (ptr), job[0][2] = (uint32_t)n; f(job[0]); c->in += n)
	qpl_job(job[0], 700);
	qpl_job(job[1], 300);
	EACH(plain, qpl_wait_job, int, (ptr), f(job[0]))
	EACH(plain, qpl_check_job, int, (ptr), f(job[1]))
}

static void vaapi(void)
{
	u id;

	EACH(plain, vaCreateBuffer, int, (ptr, u, int, u, u, ptr, u *), f(NULL, 1, 5, (u)n, 6, data, &id);
	     c->in += 6 * n)
	EACH(plain, vaEndPicture, int, (ptr, u), f(NULL, 1); c->async++)
	EACH(plain, vaSyncSurface, int, (ptr, u), f(NULL, 9))
	EACH(plain, vaEndPicture, int, (ptr, u), f(NULL, 1); c->async++)
	EACH(plain, vaSyncSurface2, int, (ptr, u, uint64_t), f(NULL, 9, ~0ull))
	EACH(plain, vaEndPicture, int, (ptr, u), f(NULL, 1); c->async++)
	EACH(plain, vaSyncBuffer, int, (ptr, u, uint64_t), f(NULL, 9, ~0ull))
}

#define CIPHER (ptr, const uint8_t *, size_t, const uint8_t *, uint8_t *, size_t, int)
static void kcapi(void)
{
	EACH(plain, kcapi_cipher_encrypt, ssize_t, CIPHER, f(NULL, data, n, data, data, n, 0); c->in += n;
	     c->out += n - 1)
	EACH(plain, kcapi_cipher_decrypt, ssize_t, CIPHER, f(NULL, data, n, data, data, n, 0); c->in += n;
	     c->out += n - 1)
	EACH(plain, kcapi_aead_encrypt, ssize_t, CIPHER, f(NULL, data, n, data, data, n, 0); c->in += n;
	     c->out += n - 1)
	EACH(plain, kcapi_aead_decrypt, ssize_t, CIPHER, f(NULL, data, n, data, data, n, 0); c->in += n;
	     c->out += n - 1)
	EACH(plain, kcapi_md_digest, ssize_t, (ptr, const uint8_t *, size_t, uint8_t *, size_t),
	     f(NULL, data, n, data, 32);
	     c->in += n; c->out += n - 1)
	EACH(plain, kcapi_md_update, int, (ptr, const uint8_t *, size_t), f(NULL, data, n); c->in += n)
}

static const struct {
	const char *name, *file;
	void (*run)(void);
} apis[] = {
	{ "cuda", "libcuda.so.1", cuda },       { "cudart", "libcudart.so.12", cudart },
	{ "hip", "libamdhip64.so.5", hip_all }, { "level-zero", "libze_loader.so.1", level_zero },
	{ "zlib", "libz-ng.so.2", zng },        { "qatzip", "libqatzip.so.3", qatzip },
	{ "qpl", "libqpl.so.1", qpl },          { "vaapi", "libva.so.2", vaapi },
	{ "kcapi", "libkcapi.so.1", kcapi },
};

int main(int argc, char **argv)
{
	const char *comma = "";

	printf("{");
	for (int a = 1; a < argc; a++)
		for (size_t i = 0; i < sizeof(apis) / sizeof(*apis); i++) {
			if (strcmp(apis[i].name, argv[a]))
				continue;
			lib = dlopen(apis[i].file, RTLD_NOW | RTLD_LOCAL);
			if (!lib) {
				fprintf(stderr, "off_every: %s\n", dlerror());
				return 1;
			}
			memset(seen, 0, sizeof(seen));
			seen_cnt = 0;
			apis[i].run();
			for (unsigned k = 0; k < seen_cnt; k++, comma = ",")
				printf("%s\"%s %s\":{\"calls\":%lu,\"in\":%lu,\"out\":%lu,\"items\":%lu,\"async\":%lu}",
				       comma, argv[a], seen[k].name, seen[k].calls, seen[k].in, seen[k].out,
				       seen[k].items, seen[k].async);
		}
	printf("}\n");
	return 0;
}
