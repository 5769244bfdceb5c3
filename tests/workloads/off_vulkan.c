// libs: -lvulkan
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Vulkan compute: `off_vulkan [ROUNDS]`: in each round every function that is probed submits or waits once: a fill of
 * 64 KiB and a dispatch. Prints its own account. Status 77: no device that computes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#define OK(call)                                                                                                       \
	do {                                                                                                           \
		VkResult got = call;                                                                                   \
		if (got) {                                                                                             \
			fprintf(stderr, "%s: %d\n", #call, got);                                                       \
			return 77;                                                                                     \
		}                                                                                                      \
	} while (0)

/* void main() {} */
static const uint32_t code[] = { 0x07230203,
				 0x00010000,
				 0,
				 5,
				 0,
				 2 << 16 | 17,
				 1,
				 3 << 16 | 14,
				 0,
				 1,
				 5 << 16 | 15,
				 5,
				 3,
				 0x6e69616d,
				 0,
				 6 << 16 | 16,
				 3,
				 17,
				 1,
				 1,
				 1,
				 2 << 16 | 19,
				 1,
				 3 << 16 | 33,
				 2,
				 1,
				 5 << 16 | 54,
				 1,
				 3,
				 0,
				 2,
				 2 << 16 | 248,
				 4,
				 1 << 16 | 253,
				 1 << 16 | 56 };

static VkDevice device;
static VkQueue queue;
static VkCommandBuffer commands;

static int record_commands(VkBuffer buffer)
{
	VkShaderModule shader;
	VkPipelineLayout layout;
	VkPipeline pipeline;
	VkCommandPool pool;

	OK(vkCreateShaderModule(device,
				&(VkShaderModuleCreateInfo){ .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
							     .codeSize = sizeof(code),
							     .pCode = code },
				NULL, &shader));
	OK(vkCreatePipelineLayout(device,
				  &(VkPipelineLayoutCreateInfo){
					  .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO },
				  NULL, &layout));
	OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1,
				    &(VkComputePipelineCreateInfo){
					    .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
					    .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
						       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
						       .module = shader,
						       .pName = "main" },
					    .layout = layout },
				    NULL, &pipeline));
	OK(vkCreateCommandPool(device,
			       &(VkCommandPoolCreateInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO }, NULL,
			       &pool));
	OK(vkAllocateCommandBuffers(device,
				    &(VkCommandBufferAllocateInfo){
					    .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
					    .commandPool = pool,
					    .commandBufferCount = 1 },
				    &commands));
	OK(vkBeginCommandBuffer(commands,
				&(VkCommandBufferBeginInfo){ .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
							     .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT }));
	vkCmdFillBuffer(commands, buffer, 0, 65536, 7);
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdDispatch(commands, 16, 1, 1);
	OK(vkEndCommandBuffer(commands));
	return 0;
}

static int open_device(void)
{
	const float priority = 1;
	uint32_t count = 1;
	VkPhysicalDevice physical;
	VkInstance instance;
	VkBuffer buffer;
	VkDeviceMemory memory;
	VkPhysicalDeviceSynchronization2Features sync2 = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, .synchronization2 = VK_TRUE
	};

	OK(vkCreateInstance(&(VkInstanceCreateInfo){ .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
						     .pApplicationInfo =
							     &(VkApplicationInfo){
								     .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
								     .apiVersion = VK_API_VERSION_1_3 } },
			    NULL, &instance));
	if (vkEnumeratePhysicalDevices(instance, &count, &physical) < 0 || !count)
		return 77;
	OK(vkCreateDevice(physical,
			  &(VkDeviceCreateInfo){ .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
						 .pNext = &sync2,
						 .queueCreateInfoCount = 1,
						 .pQueueCreateInfos =
							 &(VkDeviceQueueCreateInfo){
								 .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
								 .queueCount = 1,
								 .pQueuePriorities = &priority } },
			  NULL, &device));
	vkGetDeviceQueue(device, 0, 0, &queue);
	OK(vkCreateBuffer(device,
			  &(VkBufferCreateInfo){ .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
						 .size = 65536,
						 .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT },
			  NULL, &buffer));
	OK(vkAllocateMemory(device,
			    &(VkMemoryAllocateInfo){ .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
						     .allocationSize = 65536 },
			    NULL, &memory));
	OK(vkBindBufferMemory(device, buffer, memory, 0));
	return record_commands(buffer);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, status = open_device();
	VkFence fence;

	if (status)
		return status;
	OK(vkCreateFence(device, &(VkFenceCreateInfo){ .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO }, NULL, &fence));
	for (int i = 0; i < rounds; i++) {
		const VkSubmitInfo one = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
					   .commandBufferCount = 1,
					   .pCommandBuffers = &commands };
		const VkCommandBufferSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
							 .commandBuffer = commands };
		const VkSubmitInfo2 two = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
					    .commandBufferInfoCount = 1,
					    .pCommandBufferInfos = &info };

		OK(vkQueueSubmit(queue, 1, &one, fence));
		OK(vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX));
		OK(vkResetFences(device, 1, &fence));
		OK(vkQueueSubmit(queue, 1, &one, VK_NULL_HANDLE));
		OK(vkQueueWaitIdle(queue));
		OK(vkQueueSubmit2(queue, 1, &two, fence));
		while (vkGetFenceStatus(device, fence) == VK_NOT_READY)
			;
		OK(vkResetFences(device, 1, &fence));
		OK(vkQueueSubmit2(queue, 1, &two, VK_NULL_HANDLE));
		OK(vkDeviceWaitIdle(device));
	}
	printf("{\"vulkan vkQueueSubmit\":{\"calls\":%d,\"in\":0,\"out\":0,\"items\":0,\"async\":%d},"
	       "\"vulkan vkQueueSubmit2\":{\"calls\":%d,\"in\":0,\"out\":0,\"items\":0,\"async\":%d}}\n",
	       2 * rounds, 2 * rounds, 2 * rounds, 2 * rounds);
	return 0;
}
