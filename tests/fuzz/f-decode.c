// SPDX-License-Identifier: GPL-2.0-or-later
/* Arbitrary bytes as a function of a target: starts, blocks, evaluation, the instruction before. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi.h"
#include "code/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x401000ull

struct bytes {
	const uint8_t *data;
	size_t size;
};

static size_t read_bytes(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct bytes *b = ctx;

	if (addr < BASE || addr - BASE >= b->size)
		return 0;
	if (len > b->size - (addr - BASE))
		len = b->size - (addr - BASE);
	memcpy(buf, b->data + (addr - BASE), len);
	return len;
}

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct bytes *b = ctx;

	*start = BASE;
	*end = BASE + b->size;
	return addr >= *start && addr < *end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct block_result res;
	struct bytes b = { data, size };
	struct block_code code = { .id = 1, .read = read_bytes, .bounds = bounds, .ctx = &b };
	uint64_t regs[WREG_MAX], at;
	struct block_cache *c;
	struct dec_insn d;

	if (size < 4 || size > 4096)
		return 0;
	c = block_cache_new(0);
	for (size_t off = data[0] % 16; c && off < size; off += 1 + data[off] % 32) {
		struct block_state s = { .regs = regs,
					 .code_ip = BASE + off,
					 .stack = data,
					 .stack_bytes = (uint32_t)size,
					 .stack_end = 0x7fff0000 };

		for (unsigned i = 0; i < WREG_MAX; i++)
			regs[i] = 0x7ffe0000 + i * 64;
		regs[WREG_IP] = BASE + off;
		code.volatile_bytes = data[off] & 1;
		block_sample(c, &code, &s, 24, &res);
		block_previous(c, &code, BASE + off, &d, &at);
	}
	block_cache_free(c);
	return 0;
}
