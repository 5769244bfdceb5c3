// cflags: -O2 -DCL_TARGET_OPENCL_VERSION=120
// libs: -lOpenCL
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OpenCL: `off_opencl [BUFFERS] [KiB]`: for each buffer a blocking write, a kernel, and a read that
 * blocks for even buffers and is waited for by event for odd ones. Status 77: no device.
 */
#include <CL/cl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const source = "__kernel void twice(__global float *a) { size_t i = get_global_id(0); a[i] = a[i] * 2.0f; }";

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
	       buffers, (unsigned long)(bytes * buffers), buffers, (unsigned long)(bytes * buffers), buffers, (unsigned long)(items * buffers));
	return 0;
}
