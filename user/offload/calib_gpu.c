// SPDX-License-Identifier: GPL-2.0-or-later
#include "offload/calib_gpu.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Both are part of the program: the OpenCL driver compiles the one, the CUDA driver the other. */
__asm__(".section .rodata\n"
	".globl calib_kernels_cl\n"
	"calib_kernels_cl:\n"
	".incbin \"user/offload/kernels.cl\"\n"
	".byte 0\n"
	".globl calib_kernels_ptx\n"
	"calib_kernels_ptx:\n"
	".incbin \"user/offload/kernels.ptx\"\n"
	".byte 0\n"
	".previous\n");

static const struct {
	const char *name, *symbol, *host;
	size_t max;
} kernels[GPU_KERNELS] = {
	[GPU_VECTOR] = { "vector", "accperf_vector", "one core: element by element, a few steps each", 0 },
	/* the host's time grows with the third power of the side */
	[GPU_SGEMM] = { "sgemm", "accperf_sgemm", "one core: three loops over floats", 4u << 20 },
	[GPU_CIPHER] = { "cipher", "accperf_cipher", "one core: ten rounds over 16-byte blocks", 0 },
	[GPU_COPY] = { "copy", NULL, "memcpy", 0 },
};

const char *gpu_kernel_name(enum gpu_kernel k)
{
	return kernels[k].name;
}

const char *gpu_kernel_symbol(enum gpu_kernel k)
{
	return kernels[k].symbol;
}

const char *gpu_kernel_host(enum gpu_kernel k)
{
	return kernels[k].host;
}

size_t gpu_max(enum gpu_kernel k)
{
	return kernels[k].max;
}

static size_t side(size_t g)
{
	return (size_t)sqrt((double)g / 12);
}

size_t gpu_round(const struct calib_session *s, size_t g)
{
	return (enum gpu_kernel)s->c->variant == GPU_SGEMM ? 12 * side(g) * side(g) : g / 16 * 16;
}

void gpu_shape(enum gpu_kernel k, size_t g, size_t *in, size_t *out, size_t *nx, size_t *ny)
{
	size_t n = (size_t)lround(sqrt((double)g / 12));

	*in = *out = g;
	*nx = g / 4;
	*ny = 1;
	if (k == GPU_CIPHER)
		*nx = g / 16;
	if (k == GPU_SGEMM) {
		*in = 8 * n * n;
		*out = 4 * n * n;
		*nx = *ny = n;
	}
}

int gpu_host_init(struct gpu_host *h, enum gpu_kernel k, size_t max, struct err *e)
{
	*h = (struct gpu_host){ .kernel = k, .size = max + 64 };
	h->out = calloc(1, h->size);
	h->back = calloc(1, h->size);
	h->floats = k == GPU_SGEMM ? malloc(h->size) : NULL;
	if (!h->out || !h->back || (k == GPU_SGEMM && !h->floats))
		return err_set(e, -ENOMEM, "not enough memory for buffers of %zu MB; lower --max", max >> 20);
	memset(h->out, 1, h->size);
	memset(h->back, 2, h->size);
	for (size_t i = 0; h->floats && i < h->size / sizeof(float); i++)
		h->floats[i] = (float)(i * 2654435761u % 97) / 97.f;
	return 0;
}

void gpu_host_release(struct gpu_host *h)
{
	free(h->out);
	free(h->back);
	free(h->floats);
}

const uint8_t *gpu_input(const struct gpu_host *h, const uint8_t *in)
{
	return h->kernel == GPU_SGEMM ? (const uint8_t *)h->floats : in;
}

void gpu_host_run(struct gpu_host *h, const uint8_t *bytes, size_t g)
{
	const void *in = gpu_input(h, bytes);
	void *out = h->out;
	size_t a, b, n, ny;

	gpu_shape(h->kernel, g, &a, &b, &n, &ny);
	switch (h->kernel) {
	case GPU_VECTOR: calib_host_vector(in, out, n); break;
	case GPU_SGEMM: calib_host_sgemm(in, (const float *)in + n * n, out, n); break;
	case GPU_CIPHER: calib_host_cipher(in, out, n); break;
	default: memcpy(out, in, g);
	}
	__asm__ volatile("" : : "r"(out) : "memory");
}

int gpu_same(const struct gpu_host *h, const char *name, size_t g, struct err *e)
{
	size_t in, out, nx, ny;

	gpu_shape(h->kernel, g, &in, &out, &nx, &ny);
	if (h->kernel != GPU_SGEMM) {
		if (!memcmp(h->out, h->back, out))
			return 0;
		return err_set(e, -EIO, "%s: host and device give different results", name);
	}
	for (size_t i = 0; i < out / 4; i++) {
		float a = ((const float *)(const void *)h->out)[i], b = ((const float *)(const void *)h->back)[i];

		if (!(fabsf(a - b) <= 1e-4f * fabsf(a) + 1e-6f))
			return err_set(e, -EIO, "%s: element %zu is %g on the host, %g on the device", name, i,
				       (double)a, (double)b);
	}
	return 0;
}
