// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every CUDA device, through the driver API alone: copy in, kernel, copy out. libcuda.so.1 comes with
 * the driver and is opened at run time; the kernels are PTX inside this program, which the driver
 * compiles. LOGCA.md says what of this was run on a real device.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/calib_gpu.h"

#define BLOCK 256 /* threads of a block: any device takes 1,024 */

struct calib_cuda_api {
	void *lib;
	int (*init)(unsigned);
	int (*count)(int *);
	int (*device)(int *, int);
	int (*name)(char *, int, int);
	int (*version)(int *);
	int (*create)(void **, unsigned, int);
	int (*destroy)(void *);
	int (*load)(void **, const void *);
	int (*function)(void **, void *, const char *);
	int (*alloc)(uint64_t *, size_t);
	int (*free)(uint64_t);
	int (*to_device)(uint64_t, const void *, size_t, void *);
	int (*to_host)(void *, uint64_t, size_t, void *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
		      void **);
	int (*synchronize)(void);
	int (*pin)(void **, size_t, unsigned);
	int (*unpin)(void *);
	int (*error)(int, const char **);
};

struct cuda {
	struct calib_cuda_api cu;
	struct gpu_host host;
	void *context, *module, *kernel, *staging; /* pinned: a pageable copy is never asynchronous */
	uint64_t in, out;
	size_t largest;
};

static const char *const names[] = { "libcuda.so.1", NULL };

static int find_cuda_functions(struct calib_cuda_api *a, char *why, size_t size)
{
	const struct {
		const char *name;
		void **at;
		bool optional;
	} need[] = {
		{ "cuInit", (void **)&a->init, false },
		{ "cuDeviceGetCount", (void **)&a->count, false },
		{ "cuDeviceGet", (void **)&a->device, false },
		{ "cuDeviceGetName", (void **)&a->name, true },
		{ "cuDriverGetVersion", (void **)&a->version, true },
		{ "cuCtxCreate_v2", (void **)&a->create, false },
		{ "cuCtxDestroy_v2", (void **)&a->destroy, false },
		{ "cuModuleLoadData", (void **)&a->load, false },
		{ "cuModuleGetFunction", (void **)&a->function, false },
		{ "cuMemAlloc_v2", (void **)&a->alloc, false },
		{ "cuMemFree_v2", (void **)&a->free, false },
		{ "cuMemcpyHtoDAsync_v2", (void **)&a->to_device, false },
		{ "cuMemcpyDtoHAsync_v2", (void **)&a->to_host, false },
		{ "cuLaunchKernel", (void **)&a->launch, false },
		{ "cuCtxSynchronize", (void **)&a->synchronize, false },
		{ "cuMemHostAlloc", (void **)&a->pin, false },
		{ "cuMemFreeHost", (void **)&a->unpin, false },
		{ "cuGetErrorName", (void **)&a->error, true },
	};
	char ignored[128];

	a->lib = calib_library(names, "", ignored, sizeof(ignored));
	if (!a->lib) {
		snprintf(why, size,
			 "libcuda.so.1 is not here: it comes with NVIDIA's driver, and without a GPU there is none");
		return -ENOTSUP;
	}
	for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
		*need[i].at = dlsym(a->lib, need[i].name);
		if (!*need[i].at && !need[i].optional) {
			snprintf(why, size, "libcuda.so.1 lacks %s: the driver is too old, or this is no whole libcuda",
				 need[i].name);
			return -ENOTSUP;
		}
	}
	return 0;
}

static const char *status_text(const struct calib_cuda_api *a, int rc)
{
	const char *text = NULL;

	return a->error && !a->error(rc, &text) && text ? text : "an unknown status";
}

static int cuda_list(struct calib_cases *out, struct err *e)
{
	struct calib_cuda_api a = { 0 };
	char why[256] = "";
	int n = 0, rc = find_cuda_functions(&a, why, sizeof(why)), version = 0;

	if (!rc && ((rc = a.init(0)) || (rc = a.count(&n))))
		snprintf(why, sizeof(why), "CUDA does not start: %s (status %d)", status_text(&a, rc), rc);
	if (!why[0] && !n)
		snprintf(why, sizeof(why), "the CUDA driver sees no GPU");
	if (!why[0] && a.version)
		a.version(&version);
	for (int i = 0; i < (n > 0 ? n : 1) && i < MAX_DEVICES; i++) {
		char device[100] = "none";
		int id = 0;

		if (!why[0] && !a.device(&id, i) && a.name)
			a.name(device, sizeof(device), id);
		for (int k = 0; k < GPU_KERNELS; k++) {
			char name[96];
			struct calib_case *c;

			if (i)
				snprintf(name, sizeof(name), "cuda%d-%s/host", i, gpu_kernel_name((enum gpu_kernel)k));
			else
				snprintf(name, sizeof(name), "cuda-%s/host", gpu_kernel_name((enum gpu_kernel)k));
			c = calib_add(out, &calib_cuda, name);
			if (!c)
				return err_set(e, -ENOMEM, "out of memory");
			c->variant = k;
			c->index = i;
			c->clock = CALIB_ELAPSED;
			c->switches_inside = true;
			c->runs |= 1u << RUN_ZERO | 1u << RUN_SUBMIT;
			c->max = gpu_max((enum gpu_kernel)k);
			snprintf(c->device, sizeof(c->device), "CUDA: %s", device);
			if (version)
				snprintf(c->driver, sizeof(c->driver), "CUDA driver API %d.%d", version / 1000,
					 version % 1000 / 10);
			snprintf(c->baseline, sizeof(c->baseline), "%s", gpu_kernel_host((enum gpu_kernel)k));
			snprintf(c->missing, sizeof(c->missing), "%s", why);
		}
	}
	return 0;
}

static int cuda_open(struct calib_session *s, struct err *e)
{
	struct cuda *p = calloc(1, sizeof(*p));
	char why[256] = "";
	const char *step = "initialising";
	int id = 0, rc, err;

	s->priv = p;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	if (find_cuda_functions(&p->cu, why, sizeof(why)))
		return err_set(e, -ENOTSUP, "%s", why);
	p->largest = s->c->max && s->c->max < s->opts->max ? s->c->max : s->opts->max;
	err = gpu_host_init(&p->host, (enum gpu_kernel)s->c->variant, p->largest, e);
	if (err)
		return err;
	rc = p->cu.init(0);
	if (!rc)
		rc = p->cu.device(&id, s->c->index);
	if (!rc) {
		step = "creating a context";
		rc = p->cu.create(&p->context, 0, id);
	}
	if (!rc) {
		step = "allocating device memory";
		rc = p->cu.alloc(&p->in, p->largest + 64);
	}
	if (!rc)
		rc = p->cu.alloc(&p->out, p->largest + 64);
	if (!rc) {
		step = "pinning host memory";
		rc = p->cu.pin(&p->staging, p->largest + 64, 0);
	}
	if (!rc && gpu_kernel_symbol(p->host.kernel)) {
		step = "compiling the kernels";
		rc = p->cu.load(&p->module, calib_kernels_ptx);
		if (!rc)
			rc = p->cu.function(&p->kernel, p->module, gpu_kernel_symbol(p->host.kernel));
	}
	return rc ? err_set(e, -EIO, "%s: %s failed: %s (status %d)", s->c->name, step, status_text(&p->cu, rc), rc)
		  : 0;
}

static int start_kernel(struct cuda *p, size_t nx, size_t ny, size_t in_size)
{
	uint64_t second = p->in + in_size / 2;
	unsigned n = (unsigned)nx;
	void *plain[] = { &p->in, &p->out, &n }, *two[] = { &p->in, &second, &p->out, &n };

	if (p->host.kernel == GPU_SGEMM)
		return p->cu.launch(p->kernel, (n + 15) / 16, ((unsigned)ny + 15) / 16, 1, 16, 16, 1, 0, NULL, two,
				    NULL);
	return p->cu.launch(p->kernel, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, plain, NULL);
}

static int cuda_settle(struct calib_session *s)
{
	struct cuda *p = s->priv;

	return p->cu.synchronize() ? -EIO : 0;
}

static int cuda_call(struct calib_session *s, enum run_kind k, const uint8_t *bytes, size_t g)
{
	struct cuda *p = s->priv;
	size_t in_size, out_size, nx, ny;
	int rc;

	if (k == RUN_HOST) {
		gpu_host_run(&p->host, bytes, g);
		return 0;
	}
	gpu_shape(p->host.kernel, g, &in_size, &out_size, &nx, &ny);
	/* what a program whose data are in ordinary memory pays: into pinned memory, over, and back */
	memcpy(p->staging, gpu_input(&p->host, bytes), in_size);
	rc = p->cu.to_device(p->in, p->staging, in_size, NULL);
	if (!rc && k != RUN_ZERO && p->kernel)
		rc = start_kernel(p, nx, ny, in_size);
	if (!rc)
		rc = p->cu.to_host(p->host.back, p->kernel ? p->out : p->in, out_size, NULL);
	if (rc)
		return -EIO;
	return k == RUN_SUBMIT ? 0 : cuda_settle(s);
}

static int cuda_check(struct calib_session *s, const uint8_t *in, size_t g, struct err *e)
{
	struct cuda *p = s->priv;

	gpu_host_run(&p->host, in, g);
	if (cuda_call(s, RUN_ACCEL, in, g))
		return err_set(e, -EIO, "%s: the device does not run the kernel", s->c->name);
	return gpu_same(&p->host, s->c->name, g, e);
}

static void cuda_close(struct calib_session *s)
{
	struct cuda *p = s->priv;

	if (!p)
		return;
	if (p->staging)
		p->cu.unpin(p->staging);
	if (p->in)
		p->cu.free(p->in);
	if (p->out)
		p->cu.free(p->out);
	if (p->context)
		p->cu.destroy(p->context);
	gpu_host_release(&p->host);
	free(p);
}

const struct calib_family calib_cuda = {
	.name = "cuda",
	.summary = "vector, SGEMM, cipher rounds and copies on every CUDA device",
	.list = cuda_list,
	.open = cuda_open,
	.round = gpu_round,
	.call = cuda_call,
	.settle = cuda_settle,
	.check = cuda_check,
	.close = cuda_close,
};
