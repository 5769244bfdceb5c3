// SPDX-License-Identifier: GPL-2.0-or-later
/* Offload APIs: graphics processors, and their codecs. */
#include "offload/api_rows.h"

static const struct offload_row cuda_rows[] = {
	/* CUDA driver. A synchronous copy also ends what was launched on the default stream. */
	CALL("cuMemcpyHtoD", Z, .in = ARG(2), .out = NO_BYTES),
	CALL("cuMemcpyDtoH", Z, .in = NO_BYTES, .out = ARG(2), .completes = 1),
	CALL("cuMemcpy", Z, .in = ARG(2), .either = 1, .completes = 1),
	CALL("cuMemcpy2D", Z, .in = PAIR(0, 112), .either = 1, .completes = 1),
	CALL("cuMemcpy2DUnaligned", Z, .in = PAIR(0, 112), .either = 1, .completes = 1),
	SUBMIT("cuMemcpyHtoDAsync", Z, .in = ARG(2), .out = NO_BYTES, QUEUE(3)),
	SUBMIT("cuMemcpyDtoHAsync", Z, .in = NO_BYTES, .out = ARG(2), QUEUE(3)),
	SUBMIT("cuMemcpyDtoDAsync", Z, .in = NO_BYTES, .out = NO_BYTES, QUEUE(3)),
	SUBMIT("cuMemcpyAsync", Z, .in = ARG(2), .either = 1, QUEUE(3)),
	SUBMIT("cuMemcpy2DAsync", Z, .in = PAIR(0, 112), .either = 1, QUEUE(1)),
	/* The second version dropped an argument before the stream. */
	SUBMIT("cuMemcpyBatchAsync_v2", Z, .in = SUM(2, 3), .either = 1, QUEUE(7)),
	SUBMIT("cuMemcpyBatchAsync", Z, .in = SUM(2, 3), .either = 1, QUEUE(8)),
	SUBMIT("cuLaunchKernel", Z, .items = GRID(1), QUEUE(8)),
	SUBMIT("cuLaunchCooperativeKernel", Z, .items = GRID(1), QUEUE(8)),
	SUBMIT("cuLaunchKernelEx", Z, QUEUE_AT(0, 32)),
	SUBMIT("cuGraphLaunch", Z, QUEUE(1)),
	WAIT("cuStreamSynchronize", Z, QUEUE(0)),
	WAIT("cuStreamQuery", Z, QUEUE(0)),
	WAIT("cuCtxSynchronize", Z, .scope = PS_ALL),
	WAIT("cuEventSynchronize", Z, .scope = PS_EVENT, EVENT(0)),
	WAIT("cuEventQuery", Z, .scope = PS_EVENT, EVENT(0)),
	MARK("cuEventRecord", Z, EVENT(0), QUEUE(1)),
	MARK("cuEventRecordWithFlags", Z, EVENT(0), QUEUE(1)),
};

const struct offload_api offload_cuda = {
	.name = "cuda",
	.label = "CUDA driver",
	.family = "cuda",
	.libs = "libcuda.so*",
	.suffixes = "_v2|_v3|_ptds|_ptsz|_v2_ptds|_v2_ptsz",
	.device = true,
	ROWS(cuda_rows),
};

static const struct offload_row cudart_rows[] = {
	/* CUDA runtime: the same family, so that the driver calls inside count once. */
	CALL("cudaMemcpy", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), .completes = 1),
	CALL("cudaMemcpy2D", Z, .in = TO_DEVICE_2D(4, 5, 6), .out = FROM_DEVICE_2D(4, 5, 6), .completes = 1),
	SUBMIT("cudaMemcpyAsync", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), QUEUE(4)),
	SUBMIT("cudaMemcpy2DAsync", Z, .in = TO_DEVICE_2D(4, 5, 6), .out = FROM_DEVICE_2D(4, 5, 6), QUEUE(7)),
	SUBMIT("cudaLaunchKernel", Z, .items = DIM3(1), QUEUE(7)),
	SUBMIT("cudaLaunchKernelExC", Z, QUEUE_AT(0, 32)),
	SUBMIT("cudaGraphLaunch", Z, QUEUE(1)),
	WAIT("cudaStreamSynchronize", Z, QUEUE(0)),
	WAIT("cudaStreamQuery", Z, QUEUE(0)),
	WAIT("cudaDeviceSynchronize", Z, .scope = PS_ALL),
	WAIT("cudaEventSynchronize", Z, .scope = PS_EVENT, EVENT(0)),
	WAIT("cudaEventQuery", Z, .scope = PS_EVENT, EVENT(0)),
	MARK("cudaEventRecord", Z, EVENT(0), QUEUE(1)),
	MARK("cudaEventRecordWithFlags", Z, EVENT(0), QUEUE(1)),
};

const struct offload_api offload_cudart = {
	.name = "cudart",
	.label = "CUDA runtime",
	.family = "cuda",
	.libs = "libcudart.so*",
	.suffixes = "_ptds|_ptsz|_v2",
	.device = true,
	ROWS(cudart_rows),
};

static const struct offload_row hip_rows[] = {
	CALL("hipMemcpy", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), .completes = 1),
	CALL("hipMemcpyHtoD", Z, .in = ARG(2), .out = NO_BYTES),
	CALL("hipMemcpyDtoH", Z, .in = NO_BYTES, .out = ARG(2), .completes = 1),
	CALL("hipMemcpyWithStream", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), QUEUE(4), .completes = 1),
	SUBMIT("hipMemcpyAsync", Z, .in = TO_DEVICE(2, 3), .out = FROM_DEVICE(2, 3), QUEUE(4)),
	SUBMIT("hipMemcpyHtoDAsync", Z, .in = ARG(2), .out = NO_BYTES, QUEUE(3)),
	SUBMIT("hipMemcpyDtoHAsync", Z, .in = NO_BYTES, .out = ARG(2), QUEUE(3)),
	SUBMIT("hipModuleLaunchKernel", Z, .items = GRID(1), QUEUE(8)),
	SUBMIT("hipLaunchKernel", Z, .items = DIM3(1), QUEUE(7)),
	SUBMIT("hipGraphLaunch", Z, QUEUE(1)),
	WAIT("hipStreamSynchronize", Z, QUEUE(0)),
	WAIT("hipStreamQuery", Z, QUEUE(0)),
	WAIT("hipDeviceSynchronize", Z, .scope = PS_ALL),
	WAIT("hipEventSynchronize", Z, .scope = PS_EVENT, EVENT(0)),
	WAIT("hipEventQuery", Z, .scope = PS_EVENT, EVENT(0)),
	MARK("hipEventRecord", Z, EVENT(0), QUEUE(1)),
};

const struct offload_api offload_hip = {
	.name = "hip",
	.label = "HIP",
	.family = "hip",
	.libs = "libamdhip64.so*",
	.suffixes = "_spt",
	.device = true,
	ROWS(hip_rows),
};

static const struct offload_row level_zero_rows[] = {
	/* Level Zero: copies are put on a list, the list on a queue; which list went to which queue
	 * is not followed, so a synchronisation ends all. */
	SUBMIT("zeCommandListAppendMemoryCopy", Z, .in = ARG(3), .either = 1, QUEUE(0)),
	SUBMIT("zeCommandListAppendLaunchKernel", Z, QUEUE(0)),
	SUBMIT("zeCommandQueueExecuteCommandLists", Z, QUEUE(0)),
	WAIT("zeCommandQueueSynchronize", Z, .scope = PS_ALL),
	WAIT("zeCommandListHostSynchronize", Z, .scope = PS_ALL),
	WAIT("zeEventHostSynchronize", Z, .scope = PS_ALL),
	WAIT("zeFenceHostSynchronize", Z, .scope = PS_ALL),
};

const struct offload_api offload_level_zero = {
	.name = "level-zero",
	.label = "Level Zero",
	.family = "level-zero",
	.libs = "libze_loader.so*",
	.device = true,
	ROWS(level_zero_rows),
};

static const struct offload_row opencl_rows[] = {
	SUBMIT("clEnqueueWriteBuffer", Z, .in = ARG(4), .out = NO_BYTES, BLOCKS_IF(2), QUEUE(0), EVENT_OUT(8),
	       .completes = 1),
	SUBMIT("clEnqueueReadBuffer", Z, .in = NO_BYTES, .out = ARG(4), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(8),
	       .completes = 1),
	SUBMIT("clEnqueueWriteBufferRect", Z, .in = PRODUCT3(5), .out = NO_BYTES, BLOCKS_IF(2), QUEUE(0), EVENT_OUT(13),
	       .completes = 1),
	SUBMIT("clEnqueueReadBufferRect", Z, .in = NO_BYTES, .out = PRODUCT3(5), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(13),
	       .completes = 1),
	SUBMIT("clEnqueueWriteImage", Z, .items = PRODUCT3(4), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(10), .completes = 1),
	SUBMIT("clEnqueueReadImage", Z, .items = PRODUCT3(4), BLOCKS_IF(2), QUEUE(0), EVENT_OUT(10), .completes = 1),
	SUBMIT("clEnqueueCopyBuffer", Z, .in = NO_BYTES, .out = NO_BYTES, QUEUE(0), EVENT_OUT(8)),
	SUBMIT("clEnqueueFillBuffer", Z, .in = NO_BYTES, .out = NO_BYTES, QUEUE(0), EVENT_OUT(8)),
	SUBMIT("clEnqueueMapBuffer", .ok = PR_NONZERO, .in = ARG(5), .either = 1, BLOCKS_IF(2), QUEUE(0), EVENT_OUT(8),
	       .completes = 1),
	SUBMIT("clEnqueueUnmapMemObject", Z, QUEUE(0), EVENT_OUT(5)),
	SUBMIT("clEnqueueSVMMemcpy", Z, .in = ARG(4), .either = 1, BLOCKS_IF(1), QUEUE(0), EVENT_OUT(7),
	       .completes = 1),
	SUBMIT("clEnqueueNDRangeKernel", Z, .items = PRODUCT(4, 2), QUEUE(0), EVENT_OUT(8)),
	WAIT("clFinish", Z, QUEUE(0)),
	WAIT("clWaitForEvents", Z, .scope = PS_EVENT, EVENTS(0, 1)),
};

const struct offload_api offload_opencl = {
	.name = "opencl",
	.label = "OpenCL",
	.family = "opencl",
	.libs = "libOpenCL.so*",
	.device = true,
	ROWS(opencl_rows),
};

static const struct offload_row vulkan_rows[] = {
	/* What a command buffer holds is not followed: a submission is one call. A fence stands for all before it. */
	SUBMIT("vkQueueSubmit", Z, QUEUE(0), EVENT(3)),
	SUBMIT("vkQueueSubmit2", Z, QUEUE(0), EVENT(3)),
	WAIT("vkQueueWaitIdle", Z, QUEUE(0)),
	WAIT("vkDeviceWaitIdle", Z, .scope = PS_ALL),
	WAIT("vkWaitForFences", Z, .scope = PS_EVENT, EVENTS(1, 2)),
	WAIT("vkGetFenceStatus", Z, .scope = PS_EVENT, EVENT(1)),
};

const struct offload_api offload_vulkan = {
	.name = "vulkan",
	.label = "Vulkan",
	.family = "vulkan",
	.libs = "libvulkan.so*",
	.suffixes = "KHR",
	.device = true,
	ROWS(vulkan_rows),
};

static const struct offload_row vaapi_rows[] = {
	CALL("vaCreateBuffer", Z, .in = MUL32(3, 4)), SUBMIT("vaEndPicture", Z, QUEUE(1)),
	WAIT("vaSyncSurface", Z, .scope = PS_ALL),    WAIT("vaSyncSurface2", Z, .scope = PS_ALL),
	WAIT("vaSyncBuffer", Z, .scope = PS_ALL),
};

const struct offload_api offload_vaapi = {
	.name = "vaapi",
	.label = "VA-API",
	.family = "vaapi",
	.libs = "libva.so*",
	.device = true,
	ROWS(vaapi_rows),
};
