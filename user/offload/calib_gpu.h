/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the families that run kernels.cl have in common: which kernels there are, their sizes, inputs
 * and the host's side. Included by user/offload/calib_{gpu,opencl,cuda}.c.
 * To add a kernel: enum gpu_kernel and its row in calib_gpu.c, the kernel in kernels.cl (then
 * scripts/make-ptx), the same arithmetic in calib_host.c.
 */
#ifndef ACCPERF_OFFLOAD_CALIB_GPU_H
#define ACCPERF_OFFLOAD_CALIB_GPU_H

#include "offload/calib.h"

#define MAX_DEVICES 8 /* of one machine; by hand */

enum gpu_kernel { GPU_VECTOR, GPU_SGEMM, GPU_CIPHER, GPU_COPY, GPU_KERNELS };

struct gpu_host {
	enum gpu_kernel kernel;
	float *floats;       /* SGEMM's inputs: small numbers, bytes of text are none */
	uint8_t *out, *back; /* the host's result, the device's */
	size_t size;
};

const char *gpu_kernel_name(enum gpu_kernel k);   /* vector */
const char *gpu_kernel_symbol(enum gpu_kernel k); /* accperf_vector; NULL: no kernel */
const char *gpu_kernel_host(enum gpu_kernel k);   /* what the host runs */
size_t gpu_max(enum gpu_kernel k);
size_t gpu_round(const struct calib_session *s, size_t g);
/* Of g bytes: what goes in, what comes back, work items in x and y. */
void gpu_shape(enum gpu_kernel k, size_t g, size_t *in, size_t *out, size_t *nx, size_t *ny);
int gpu_host_init(struct gpu_host *h, enum gpu_kernel k, size_t max, struct err *e);
void gpu_host_release(struct gpu_host *h);
const uint8_t *gpu_input(const struct gpu_host *h, const uint8_t *in);
void gpu_host_run(struct gpu_host *h, const uint8_t *in, size_t g);
/* h->out against h->back. */
int gpu_same(const struct gpu_host *h, const char *name, size_t g, struct err *e);

#endif
