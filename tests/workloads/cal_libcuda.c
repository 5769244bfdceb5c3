// cflags: -O2 -shared -fPIC -fvisibility=hidden
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A libcuda.so.1 without a GPU that computes: just enough of the driver API for `accperf calibrate
 * cuda`, with a known cost (every synchronisation 50 us, 0.2 ns a byte copied). It reads the launch's
 * arguments as the driver does, so wrong ones give wrong results. CAL_CUDA=refuse: cuInit fails;
 * CAL_CUDA=wrong: a wrong result; CAL_CUDA=noptx: the kernels do not compile. Tests link it to libcuda.so.1.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))

static double owed_ns;

static int mode(const char *s)
{
	const char *m = getenv("CAL_CUDA");

	return m && !strcmp(m, s);
}

static void spend(double ns)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec) < ns);
}

API int cuInit(unsigned f)
{
	return mode("refuse") ? 100 : 0;
}
API int cuDeviceGetCount(int *n)
{
	*n = 1;
	return 0;
}
API int cuDeviceGet(int *d, int i)
{
	*d = i;
	return 0;
}
API int cuDeviceGetName(char *s, int n, int d)
{
	strncpy(s, "no GPU at all", (size_t)n);
	return 0;
}
API int cuDriverGetVersion(int *v)
{
	*v = 12040;
	return 0;
}
API int cuCtxCreate_v2(void **c, unsigned f, int d)
{
	*c = malloc(1);
	return 0;
}
API int cuCtxDestroy_v2(void *c)
{
	free(c);
	return 0;
}
API int cuMemAlloc_v2(uint64_t *p, size_t n)
{
	*p = (uint64_t)(uintptr_t)malloc(n);
	return 0;
}
API int cuMemFree_v2(uint64_t p)
{
	free((void *)(uintptr_t)p);
	return 0;
}
API int cuMemHostAlloc(void **p, size_t n, unsigned f)
{
	*p = malloc(n);
	return 0;
}
API int cuMemFreeHost(void *p)
{
	free(p);
	return 0;
}
API int cuGetErrorName(int rc, const char **s)
{
	*s = rc == 100 ? "CUDA_ERROR_NO_DEVICE" : rc == 218 ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_UNKNOWN";
	return 0;
}

API int cuModuleLoadData(void **m, const void *image)
{
	*m = (void *)(uintptr_t)image;
	return mode("noptx") || !strstr(image, ".visible .entry accperf_vector(") ? 218 : 0;
}

API int cuModuleGetFunction(void **f, void *m, const char *name)
{
	static const char *const known[] = { "accperf_vector", "accperf_sgemm", "accperf_cipher" };

	for (uintptr_t i = 0; i < 3; i++)
		if (!strcmp(name, known[i])) {
			*f = (void *)(i + 1);
			return 0;
		}
	return 500;
}

API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *s)
{
	memcpy((void *)(uintptr_t)to, from, n);
	owed_ns += .1 * (double)n;
	return 0;
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *s)
{
	memcpy(to, (void *)(uintptr_t)from, n);
	owed_ns += .1 * (double)n;
	return 0;
}

API int cuCtxSynchronize(void)
{
	spend(50000 + owed_ns);
	owed_ns = 0;
	return 0;
}

static uint32_t mix(uint32_t x)
{
	x ^= x << 8 | x >> 24;
	x *= 0x9e3779b1u;
	return x ^ x >> 15;
}

static void item(uintptr_t f, uint32_t x, uint32_t y, void **arg)
{
	const uint32_t *in = *(const uint32_t **)arg[0];
	const float *a = *(const float **)arg[0], *b = *(const float **)arg[1];

	if (f == 1 && x < *(uint32_t *)arg[2]) {
		uint32_t v = in[x], k = 0;

		do {
			v = v * 1664525u + 1013904223u;
			k++;
		} while ((v >> 29) && k < 64);
		(*(uint32_t **)arg[1])[x] = mode("wrong") ? v : v ^ k;
	} else if (f == 2 && x < *(uint32_t *)arg[3] && y < *(uint32_t *)arg[3]) {
		uint32_t n = *(uint32_t *)arg[3];
		float sum = 0;

		for (uint32_t k = 0; k < n; k++)
			sum += a[y * n + k] * b[k * n + x];
		(*(float **)arg[2])[y * n + x] = sum;
	} else if (f == 3 && x < *(uint32_t *)arg[2]) {
		uint32_t s[4], *out = *(uint32_t **)arg[1];

		memcpy(s, in + 4 * x, 16);
		for (uint32_t r = 0; r < 10; r++) {
			uint32_t t0 = mix(s[0] ^ (s[1] + r)), t1 = mix(s[1] ^ (s[2] + r)), t2 = mix(s[2] ^ (s[3] + r));

			s[3] = mix(s[3] ^ (s[0] + r));
			s[0] = t0;
			s[1] = t1;
			s[2] = t2;
		}
		memcpy(out + 4 * x, s, 16);
	}
}

/* shape: the driver's interface. */
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
		       unsigned shared, void *s, void **args, void **extra)
{
	for (uint32_t y = 0; y < gy * by; y++)
		for (uint32_t x = 0; x < gx * bx; x++)
			item((uintptr_t)f, x, y, args);
	return 0;
}
