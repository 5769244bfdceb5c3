// SPDX-License-Identifier: GPL-2.0-or-later
/* Every OpenCL device: copy in, kernel, copy out. The few types needed are declared here. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "offload/calib_gpu.h"

#define CL_DEVICE_TYPE_ALL 0xffffffffu /* CL/cl.h, as the three below */
#define CL_DEVICE_NAME 0x102b          /* CL/cl.h */
#define CL_DRIVER_VERSION 0x102d       /* CL/cl.h */
#define CL_MEM_READ_WRITE 1            /* CL/cl.h */

struct calib_opencl_api {
	void *lib;
	int (*platforms)(unsigned, void **, unsigned *);
	int (*devices)(void *, uint64_t, unsigned, void **, unsigned *);
	int (*device_info)(void *, unsigned, size_t, void *, size_t *);
	void *(*context)(const intptr_t *, unsigned, void *const *, void *, void *, int *);
	void *(*queue)(void *, void *, uint64_t, int *);
	void *(*buffer)(void *, uint64_t, size_t, void *, int *);
	void *(*program)(void *, unsigned, const char **, const size_t *, int *);
	int (*build)(void *, unsigned, void *const *, const char *, void *, void *);
	void *(*kernel)(void *, const char *, int *);
	int (*arg)(void *, unsigned, size_t, const void *);
	int (*write)(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *);
	int (*read)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
	int (*run)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *);
	int (*flush)(void *), (*finish)(void *);
	int (*free_buffer)(void *), (*free_kernel)(void *), (*free_program)(void *), (*free_queue)(void *),
		(*free_context)(void *);
};

struct opencl {
	struct calib_opencl_api cl;
	struct gpu_host host;
	void *context, *queue, *in, *second, *out, *program, *kernel; /* second: of SGEMM */
};

static const char *const names[] = { "libOpenCL.so.1", NULL };

static int find_opencl_functions(struct calib_opencl_api *a, char *why, size_t size)
{
	const struct {
		const char *name;
		void **at;
	} need[] = {
		{ "clGetPlatformIDs", (void **)&a->platforms },
		{ "clGetDeviceIDs", (void **)&a->devices },
		{ "clGetDeviceInfo", (void **)&a->device_info },
		{ "clCreateContext", (void **)&a->context },
		{ "clCreateCommandQueue", (void **)&a->queue },
		{ "clCreateBuffer", (void **)&a->buffer },
		{ "clCreateProgramWithSource", (void **)&a->program },
		{ "clBuildProgram", (void **)&a->build },
		{ "clCreateKernel", (void **)&a->kernel },
		{ "clSetKernelArg", (void **)&a->arg },
		{ "clEnqueueWriteBuffer", (void **)&a->write },
		{ "clEnqueueReadBuffer", (void **)&a->read },
		{ "clEnqueueNDRangeKernel", (void **)&a->run },
		{ "clFlush", (void **)&a->flush },
		{ "clFinish", (void **)&a->finish },
		{ "clReleaseMemObject", (void **)&a->free_buffer },
		{ "clReleaseKernel", (void **)&a->free_kernel },
		{ "clReleaseProgram", (void **)&a->free_program },
		{ "clReleaseCommandQueue", (void **)&a->free_queue },
		{ "clReleaseContext", (void **)&a->free_context },
	};

	a->lib = calib_library(names, "ocl-icd-libopencl1", why, size);
	if (!a->lib)
		return -ENOTSUP;
	for (size_t i = 0; i < sizeof(need) / sizeof(need[0]); i++) {
		*need[i].at = dlsym(a->lib, need[i].name);
		if (!*need[i].at) {
			snprintf(why, size, "libOpenCL lacks %s", need[i].name);
			return -ENOTSUP;
		}
	}
	return 0;
}

static unsigned find_devices(const struct calib_opencl_api *a, void *dev[MAX_DEVICES])
{
	void *platform[8];
	unsigned platforms = 0, n = 0;

	if (a->platforms(8, platform, &platforms))
		return 0;
	for (unsigned i = 0; i < platforms && i < 8; i++) {
		unsigned here = 0;

		if (!a->devices(platform[i], CL_DEVICE_TYPE_ALL, MAX_DEVICES - n, dev + n, &here))
			n += here < MAX_DEVICES - n ? here : MAX_DEVICES - n;
		if (n == MAX_DEVICES)
			break;
	}
	return n;
}

struct found_device {
	int index; /* among those of this machine */
	char name[100], driver[100];
};

/* why: it cannot run here; empty: it can. */
static int add_cases_of(struct calib_cases *out, enum gpu_kernel k, const struct found_device *d, const char *why,
			struct err *e)
{
	char name[96];
	struct calib_case *c;

	if (d->index)
		snprintf(name, sizeof(name), "opencl%d-%s/host", d->index, gpu_kernel_name(k));
	else
		snprintf(name, sizeof(name), "opencl-%s/host", gpu_kernel_name(k));
	c = calib_add(out, &calib_opencl, name);
	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	c->variant = (int)k;
	c->index = d->index;
	c->clock = CALIB_ELAPSED;
	c->switches_inside = true; /* the host sleeps until the device is done */
	c->runs |= 1u << RUN_ZERO | 1u << RUN_SUBMIT;
	c->max = gpu_max(k);
	snprintf(c->device, sizeof(c->device), "OpenCL: %s", d->name);
	snprintf(c->driver, sizeof(c->driver), "%s", d->driver);
	snprintf(c->baseline, sizeof(c->baseline), "%s", gpu_kernel_host(k));
	snprintf(c->missing, sizeof(c->missing), "%s", why);
	return 0;
}

static int opencl_list(struct calib_cases *out, struct err *e)
{
	static const enum gpu_kernel which[] = { GPU_VECTOR, GPU_SGEMM };
	struct calib_opencl_api a = { 0 };
	void *dev[MAX_DEVICES];
	char why[256] = "";
	unsigned n = find_opencl_functions(&a, why, sizeof(why)) ? 0 : find_devices(&a, dev);
	int err = 0;

	if (!n && !why[0])
		snprintf(why, sizeof(why), "no OpenCL device; pocl-opencl-icd makes one of the CPU");
	for (unsigned i = 0; i < (n ? n : 1) && !err; i++) {
		struct found_device d = { .index = (int)i, .name = "none" };

		if (n) {
			a.device_info(dev[i], CL_DEVICE_NAME, sizeof(d.name) - 1, d.name, NULL);
			a.device_info(dev[i], CL_DRIVER_VERSION, sizeof(d.driver) - 1, d.driver, NULL);
		}
		for (size_t k = 0; k < sizeof(which) / sizeof(which[0]) && !err; k++)
			err = add_cases_of(out, which[k], &d, why, e);
	}
	return err; /* the library stays loaded: drivers start threads that outlive dlclose() badly */
}

static int opencl_open(struct calib_session *s, struct err *e)
{
	struct opencl *p = calloc(1, sizeof(*p));
	size_t largest = s->c->max && s->c->max < s->opts->max ? s->c->max : s->opts->max;
	const char *source = calib_kernels_cl;
	void *dev[MAX_DEVICES];
	char why[256] = "";
	int err, rc = 0;

	s->priv = p;
	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	if (find_opencl_functions(&p->cl, why, sizeof(why)))
		return err_set(e, -ENOTSUP, "%s", why);
	if (find_devices(&p->cl, dev) <= (unsigned)s->c->index)
		return err_set(e, -ENODEV, "%s: the device is gone", s->c->name);
	err = gpu_host_init(&p->host, (enum gpu_kernel)s->c->variant, largest, e);
	if (err)
		return err;
	p->context = p->cl.context(NULL, 1, &dev[s->c->index], NULL, NULL, &rc);
	p->queue = p->context ? p->cl.queue(p->context, dev[s->c->index], 0, &rc) : NULL;
	p->in = p->queue ? p->cl.buffer(p->context, CL_MEM_READ_WRITE, largest + 64, NULL, &rc) : NULL;
	p->second = p->in && p->host.kernel == GPU_SGEMM
			    ? p->cl.buffer(p->context, CL_MEM_READ_WRITE, largest + 64, NULL, &rc)
			    : NULL;
	p->out = p->in ? p->cl.buffer(p->context, CL_MEM_READ_WRITE, largest + 64, NULL, &rc) : NULL;
	if (!p->out || (p->host.kernel == GPU_SGEMM && !p->second))
		return err_set(e, -EIO, "%s: setting the device up failed with OpenCL status %d", s->c->name, rc);
	p->program = p->cl.program(p->context, 1, &source, NULL, &rc);
	if (!p->program || (rc = p->cl.build(p->program, 1, &dev[s->c->index], "", NULL, NULL)))
		return err_set(e, -EIO, "%s: the driver does not compile the kernels (OpenCL status %d)", s->c->name,
			       rc);
	p->kernel = p->cl.kernel(p->program, gpu_kernel_symbol(p->host.kernel), &rc);
	return p->kernel ? 0 : err_set(e, -EIO, "%s: no kernel (OpenCL status %d)", s->c->name, rc);
}

static int opencl_call(struct calib_session *s, enum run_kind k, const uint8_t *bytes, size_t g)
{
	struct opencl *p = s->priv;
	const uint8_t *in = gpu_input(&p->host, bytes);
	size_t in_size, out_size, items[2];
	bool two = p->host.kernel == GPU_SGEMM;
	unsigned n, arg = 0;
	int rc;

	if (k == RUN_HOST) {
		gpu_host_run(&p->host, bytes, g);
		return 0;
	}
	gpu_shape(p->host.kernel, g, &in_size, &out_size, &items[0], &items[1]);
	n = (unsigned)items[0];
	if (two)
		in_size /= 2;
	rc = p->cl.write(p->queue, p->in, 0, 0, in_size, in, 0, NULL, NULL);
	if (!rc && two)
		rc = p->cl.write(p->queue, p->second, 0, 0, in_size, in + in_size, 0, NULL, NULL);
	if (!rc && k != RUN_ZERO) {
		rc = p->cl.arg(p->kernel, arg++, sizeof(void *), &p->in);
		if (!rc && two)
			rc = p->cl.arg(p->kernel, arg++, sizeof(void *), &p->second);
		if (!rc)
			rc = p->cl.arg(p->kernel, arg++, sizeof(void *), &p->out);
		if (!rc)
			rc = p->cl.arg(p->kernel, arg, sizeof(n), &n);
		if (!rc)
			rc = p->cl.run(p->queue, p->kernel, two ? 2 : 1, NULL, items, NULL, 0, NULL, NULL);
	}
	if (!rc)
		rc = p->cl.read(p->queue, p->out, k != RUN_SUBMIT, 0, out_size, p->host.back, 0, NULL, NULL);
	if (!rc && k == RUN_SUBMIT)
		rc = p->cl.flush(p->queue);
	return rc ? -EIO : 0;
}

static int opencl_settle(struct calib_session *s)
{
	struct opencl *p = s->priv;

	return p->cl.finish(p->queue) ? -EIO : 0;
}

static int opencl_check(struct calib_session *s, const uint8_t *in, size_t g, struct err *e)
{
	struct opencl *p = s->priv;

	gpu_host_run(&p->host, in, g);
	if (opencl_call(s, RUN_ACCEL, in, g))
		return err_set(e, -EIO, "%s: the device does not run the kernel", s->c->name);
	return gpu_same(&p->host, s->c->name, g, e);
}

static void opencl_close(struct calib_session *s)
{
	struct opencl *p = s->priv;

	if (!p)
		return;
	if (p->kernel)
		p->cl.free_kernel(p->kernel);
	if (p->program)
		p->cl.free_program(p->program);
	if (p->in)
		p->cl.free_buffer(p->in);
	if (p->second)
		p->cl.free_buffer(p->second);
	if (p->out)
		p->cl.free_buffer(p->out);
	if (p->queue)
		p->cl.free_queue(p->queue);
	if (p->context)
		p->cl.free_context(p->context);
	gpu_host_release(&p->host);
	free(p);
}

const struct calib_family calib_opencl = {
	.name = "opencl",
	.summary = "a vector kernel and SGEMM on every OpenCL device",
	.list = opencl_list,
	.open = opencl_open,
	.round = gpu_round,
	.call = opencl_call,
	.settle = opencl_settle,
	.check = opencl_check,
	.close = opencl_close,
};
