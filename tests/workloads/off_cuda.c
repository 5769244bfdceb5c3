// libs: -ldl
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CUDA driver API against off_libcuda (as libcuda.so.1 in the loader's path), loaded late:
 * `off_cuda [DELAY_MS]`. Known pattern: 10 synchronous copies each way; on 3 streams 10 rounds of
 * copy, kernel, copy back, then 2 ms of own work (overlap), then synchronisation by stream, event or
 * query; at the end one launch that nobody waits for.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NEED(name, ret, ...)                                                                                           \
	ret (*name)(__VA_ARGS__) = (ret(*)(__VA_ARGS__))dlsym(h, #name);                                               \
	if (!name)                                                                                                     \
		return 1;

static void own_work_ms(long ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000000000l + b.tv_nsec - a.tv_nsec < ms * 1000000l);
}

int main(int argc, char **argv)
{
	unsigned long h2d = 0, d2h = 0, h2d_async = 0, d2h_async = 0, launches = 0;
	void *h, *dev, *host = calloc(1, 1 << 20), *stream[3], *event;

	usleep(argc > 1 ? (unsigned)atoi(argv[1]) * 1000 : 0);
	h = dlopen("libcuda.so.1", RTLD_NOW);
	if (!h) {
		fprintf(stderr, "off_cuda: %s\n", dlerror());
		return 77;
	}
	NEED(cuInit, int, unsigned);
	NEED(cuStreamCreate, int, void **, unsigned);
	NEED(cuMemAlloc_v2, int, void **, size_t);
	NEED(cuMemcpyHtoD_v2, int, void *, const void *, size_t);
	NEED(cuMemcpyHtoD_v2_ptds, int, void *, const void *, size_t);
	NEED(cuMemcpyDtoH_v2, int, void *, const void *, size_t);
	NEED(cuMemcpyHtoDAsync_v2, int, void *, const void *, size_t, void *);
	NEED(cuMemcpyDtoHAsync_v2, int, void *, const void *, size_t, void *);
	NEED(cuLaunchKernel, int, void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
	     void **, void **);
	NEED(cuStreamSynchronize, int, void *);
	NEED(cuStreamQuery, int, void *);
	NEED(cuEventCreate, int, void **, unsigned);
	NEED(cuEventRecord, int, void *, void *);
	NEED(cuEventSynchronize, int, void *);
	NEED(cuCtxSynchronize, int, void);
	cuInit(0);
	cuMemAlloc_v2(&dev, 1 << 20);
	cuEventCreate(&event, 0);
	for (int i = 0; i < 3; i++)
		cuStreamCreate(&stream[i], 0);
	for (unsigned i = 0; i < 10; i++) {
		size_t n = 1000 * (i + 1);

		/* Twins are one function to the reader. */
		(i % 2 ? cuMemcpyHtoD_v2 : cuMemcpyHtoD_v2_ptds)(dev, host, n);
		cuMemcpyDtoH_v2(host, dev, 2 * n);
		h2d += n;
		d2h += 2 * n;
	}
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < 3; i++) {
			size_t n = 4096u << (round % 6);

			cuMemcpyHtoDAsync_v2(dev, host, n, stream[i]);
			cuLaunchKernel(NULL, 4, 2, 1, 32, 2, 1, 0, stream[i], NULL, NULL);
			cuMemcpyDtoHAsync_v2(host, dev, n / 2, stream[i]);
			h2d_async += n;
			d2h_async += n / 2;
			launches++;
		}
		cuEventRecord(event, stream[1]);
		own_work_ms(2);
		cuStreamSynchronize(stream[0]);
		cuEventSynchronize(event);
		while (cuStreamQuery(stream[2]))
			own_work_ms(1);
	}
	cuCtxSynchronize();
	cuLaunchKernel(NULL, 4, 2, 1, 32, 2, 1, 0, stream[0], NULL, NULL);
	launches++;
	printf("{\"cuMemcpyHtoD\":{\"calls\":10,\"in\":%lu},\"cuMemcpyDtoH\":{\"calls\":10,\"out\":%lu},"
	       "\"cuMemcpyHtoDAsync\":{\"calls\":30,\"in\":%lu},\"cuMemcpyDtoHAsync\":{\"calls\":30,\"out\":%lu},"
	       "\"cuLaunchKernel\":{\"calls\":%lu,\"items\":%lu}}\n",
	       h2d, d2h, h2d_async, d2h_async, launches, launches * 512);
	return 0;
}
