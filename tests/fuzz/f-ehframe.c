// SPDX-License-Identifier: GPL-2.0-or-later
/* Call frame information from a hostile file: index, bounds, rows, expressions. First byte: which
 * kind of section, and the size of its addresses. */
#include <stdlib.h>
#include <string.h>

#include "proc/ehframe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool memory(void *ctx, uint64_t addr, uint64_t *value)
{
	*value = addr * 0x9e3779b97f4a7c15ull;
	return addr & 8;
}

static bool pointer(void *ctx, uint64_t vaddr, uint64_t *value)
{
	*value = vaddr ^ 0x1000;
	return vaddr & 1;
}

static void probe(const struct ehframe *f, uint64_t addr)
{
	uint64_t regs[CFI_REGS], start, end, value;
	struct cfi_machine m = { regs, 0x1ffff, 17, memory, NULL };
	struct cfi_row row;

	for (unsigned i = 0; i < CFI_REGS; i++)
		regs[i] = addr * (i + 1);
	if (ehframe_function(f, addr, &start, &end) && (start > addr || end <= addr))
		abort();
	if (!ehframe_row(f, addr, &row))
		return;
	if (row.start > addr || row.end <= addr || row.ra_reg >= CFI_REGS)
		abort();
	if (row.cfa_is_expr)
		ehframe_expr(f, row.cfa_offset, &m, false, 0, &value);
	for (unsigned i = 0; i < CFI_REGS; i++)
		if (row.reg[i].how == CFI_AT_EXPR || row.reg[i].how == CFI_EXPR)
			ehframe_expr(f, row.reg[i].value, &m, true, addr, &value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ehframe_input in = { .vaddr = 0x2000, .text_vaddr = 0x1000, .data_vaddr = 0x3000 };
	struct ehframe *f;
	uint64_t start = 0x1000, end;

	if (!size)
		return 0;
	in.debug_frame = data[0] & 1;
	in.address_size = data[0] & 2 ? 4 : 8;
	in.read_pointer = data[0] & 4 ? pointer : NULL;
	in.size = size - 1;
	in.data = malloc(size);
	if (!in.data)
		return 0;
	memcpy(in.data, data + 1, size - 1);
	f = ehframe_parse(&in);
	if (!f)
		return 0;
	/* functions lie anywhere: try around the section, and wherever the index says */
	for (uint64_t addr = 0; addr < 0x4000; addr += 61)
		probe(f, addr);
	for (size_t i = 0; i < ehframe_count(f) && i < 64; i++) {
		uint64_t at = ehframe_start(f, i);

		if (ehframe_function(f, at, &start, &end)) {
			probe(f, start);
			probe(f, start + (end - start) / 2);
			probe(f, end - 1);
			probe(f, end);
		}
	}
	ehframe_free(f);
	return 0;
}
