// cflags: -O2 -DCL_TARGET_OPENCL_VERSION=200 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS
// libs: -lOpenCL
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenCL: `off_opencl [BUFFERS] [KiB]`: for each buffer a blocking write, a kernel, and a read that
 * blocks for even buffers and is waited for by event for odd ones; `off_opencl rows`: every other function
 * that is probed. Status 77: no device.
 */
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const source =
	"__kernel void twice(__global float *a) { size_t i = get_global_id(0); a[i] = a[i] * 2.0f; }";

/* A blocking one, then one that does not block, to be waited for. */
#define TWICE(...)                                                                                                     \
	for (cl_bool block = CL_FALSE; block <= CL_TRUE; block++) {                                                    \
		cl_event e = NULL;                                                                                     \
		err |= __VA_ARGS__;                                                                                    \
		err |= clWaitForEvents(1, &e);                                                                         \
	}

static cl_int other_rows(cl_context ctx, cl_device_id device, cl_command_queue q)
{
	size_t none[3] = { 0, 0, 0 }, box[3] = { 40, 5, 2 }, picture[3] = { 16, 8, 1 };
	static unsigned char host[1 << 16];
	const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
	const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 16, .image_height = 8 };
	cl_int err, why = 0;
	cl_mem a = clCreateBuffer(ctx, CL_MEM_READ_WRITE, sizeof(host), NULL, &err);
	cl_mem b = clCreateBuffer(ctx, CL_MEM_READ_WRITE, sizeof(host), NULL, &err);
	cl_mem image = clCreateImage(ctx, CL_MEM_READ_WRITE, &format, &desc, NULL, &why);
	cl_device_svm_capabilities svm = 0;
	cl_event e;

	TWICE(clEnqueueWriteBufferRect(q, a, block, none, none, box, 64, 640, 64, 640, host, 0, NULL, &e))
	TWICE(clEnqueueReadBufferRect(q, a, block, none, none, box, 64, 640, 64, 640, host, 0, NULL, &e))
	printf("{\"opencl clEnqueueWriteBufferRect\":{\"calls\":2,\"in\":800,\"out\":0,\"items\":0,\"async\":1},"
	       "\"opencl clEnqueueReadBufferRect\":{\"calls\":2,\"in\":0,\"out\":800,\"items\":0,\"async\":1},");
	err |= clEnqueueCopyBuffer(q, a, b, 0, 0, 1000, 0, NULL, &e);
	err |= clWaitForEvents(1, &e);
	err |= clEnqueueFillBuffer(q, a, "x", 1, 0, 2000, 0, NULL, &e);
	err |= clWaitForEvents(1, &e);
	printf("\"opencl clEnqueueCopyBuffer\":{\"calls\":1,\"in\":0,\"out\":0,\"items\":0,\"async\":1},"
	       "\"opencl clEnqueueFillBuffer\":{\"calls\":1,\"in\":0,\"out\":0,\"items\":0,\"async\":1},");
	for (cl_bool block = CL_FALSE; block <= CL_TRUE; block++) {
		void *at = clEnqueueMapBuffer(q, a, block, CL_MAP_READ, 0, 3000, 0, NULL, &e, &err);

		err |= clWaitForEvents(1, &e);
		err |= clEnqueueUnmapMemObject(q, a, at, 0, NULL, &e);
		err |= clWaitForEvents(1, &e);
	}
	printf("\"opencl clEnqueueMapBuffer\":{\"calls\":2,\"in\":6000,\"out\":0,\"items\":0,\"async\":1},"
	       "\"opencl clEnqueueUnmapMemObject\":{\"calls\":2,\"in\":0,\"out\":0,\"items\":0,\"async\":2}");
	if (!why) {
		TWICE(clEnqueueWriteImage(q, image, block, none, picture, 0, 0, host, 0, NULL, &e))
		TWICE(clEnqueueReadImage(q, image, block, none, picture, 0, 0, host, 0, NULL, &e))
		printf(",\"opencl clEnqueueWriteImage\":{\"calls\":2,\"in\":0,\"out\":0,\"items\":256,\"async\":1},"
		       "\"opencl clEnqueueReadImage\":{\"calls\":2,\"in\":0,\"out\":0,\"items\":256,\"async\":1}");
	}
	clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
	if (svm) {
		void *x = clSVMAlloc(ctx, CL_MEM_READ_WRITE, 5000, 0), *y = clSVMAlloc(ctx, CL_MEM_READ_WRITE, 5000, 0);

		TWICE(clEnqueueSVMMemcpy(q, block, x, y, 5000, 0, NULL, &e))
		printf(",\"opencl clEnqueueSVMMemcpy\":{\"calls\":2,\"in\":10000,\"out\":0,\"items\":0,\"async\":1}");
	}
	printf("}\n");
	return err;
}

int main(int argc, char **argv)
{
	unsigned buffers = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	size_t bytes = (argc > 2 ? (size_t)atoi(argv[2]) : 256) * 1024, items = bytes / sizeof(float);
	cl_platform_id platform;
	cl_device_id device;
	cl_context ctx;
	cl_command_queue q;
	cl_program p;
	cl_kernel k;
	cl_int err;
	float *host = malloc(bytes);

	if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
		fprintf(stderr, "off_opencl: no OpenCL device\n");
		return 77;
	}
	ctx = clCreateContext(NULL, 1, &device, NULL, NULL, &err);
	q = clCreateCommandQueue(ctx, device, 0, &err);
	if (argc > 1 && !strcmp(argv[1], "rows"))
		return other_rows(ctx, device, q) ? 1 : 0;
	p = clCreateProgramWithSource(ctx, 1, (const char **)&source, NULL, &err);
	if (!host || err || clBuildProgram(p, 1, &device, "", NULL, NULL))
		return 77;
	k = clCreateKernel(p, "twice", &err);
	for (unsigned i = 0; i < buffers; i++) {
		cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_WRITE, bytes, NULL, &err);
		cl_event done;

		for (size_t j = 0; j < items; j++)
			host[j] = (float)(i + j % 7);
		err |= clEnqueueWriteBuffer(q, m, CL_TRUE, 0, bytes, host, 0, NULL, NULL);
		err |= clSetKernelArg(k, 0, sizeof(m), &m);
		err |= clEnqueueNDRangeKernel(q, k, 1, NULL, &items, NULL, 0, NULL, NULL);
		if (i % 2) {
			err |= clEnqueueReadBuffer(q, m, CL_FALSE, 0, bytes, host, 0, NULL, &done);
			err |= clWaitForEvents(1, &done);
			clReleaseEvent(done);
		} else {
			err |= clEnqueueReadBuffer(q, m, CL_TRUE, 0, bytes, host, 0, NULL, NULL);
		}
		if (err || host[5] != (float)(i + 5) * 2)
			return 1;
		clReleaseMemObject(m);
	}
	clFinish(q);
	printf("{\"clEnqueueWriteBuffer\":{\"calls\":%u,\"in\":%lu},\"clEnqueueReadBuffer\":{\"calls\":%u,\"out\":%lu},"
	       "\"clEnqueueNDRangeKernel\":{\"calls\":%u,\"items\":%lu}}\n",
	       buffers, (unsigned long)(bytes * buffers), buffers, (unsigned long)(bytes * buffers), buffers,
	       (unsigned long)(items * buffers));
	return 0;
}
