// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary bytes as the code, registers and memory of a thread that is carried out by the emulator: pages that are
 * not there, code that is cut off or changes between two runs, a stack that is partly known, pages that came with the
 * sample.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "emu/emu.h"
#include "emu/emu_pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER 24 /* two bytes of choice, one a register, what is left over */
#define BASE 0x401000ull
#define DATA 0x7f0000000000ull
#define STACK 0x7ffffffde000ull
#define INSNS 100      /* at least */
#define PAGES_MOST 600 /* more than the emulator takes */

struct input {
	const uint8_t *data, *code;
	size_t size, code_size;
	uint8_t holes;
	unsigned pages;
};

static size_t read_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct input *in = ctx;

	if (addr < BASE || addr - BASE >= in->code_size)
		return 0;
	if (len > in->code_size - (addr - BASE))
		len = in->code_size - (addr - BASE);
	memcpy(buf, in->code + (addr - BASE), len);
	return len;
}

static bool read_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	struct input *in = ctx;
	uint64_t hash = (addr / EMU_PAGE + 1) * 0x9e3779b97f4a7c15ull;

	if (addr % EMU_PAGE || in->pages++ > 4 * PAGES_MOST)
		abort();
	if (addr != (STACK & ~(uint64_t)(EMU_PAGE - 1)) && in->holes >> (hash >> 61) & 1)
		return false;
	for (size_t i = 0; i < EMU_PAGE; i++)
		buf[i] = in->data[(i + (hash & 31)) % in->size];
	return true;
}

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct input *in = ctx;

	if (in->holes & 1 || addr < BASE || addr - BASE >= in->code_size)
		return false;
	*start = BASE + in->holes / 16;
	*end = BASE + in->code_size + (in->holes & 8);
	return true;
}

static bool never_written(void *ctx, uint64_t addr, size_t len)
{
	(void)ctx;
	return (addr + len) & EMU_PAGE;
}

static uint64_t value_of(uint8_t choice)
{
	switch (choice >> 5) {
	case 0: return choice & 31;
	case 1: return BASE + (choice & 31) * 3u;
	case 2:
	case 3: return DATA + (choice & 63) * 200u;
	case 4: return STACK + (choice & 31) * 8u;
	case 5: return ~(uint64_t)(choice & 31);
	case 6: return DATA + EMU_PAGE - (choice & 31);
	default: return 1ull << (choice & 31) << (choice & 31);
	}
}

static void ask(const struct emu *e, struct emu_pages *likely, const struct sample_page *given, uint64_t insns)
{
	struct emu_count count[64];
	struct emu_touched page;
	uint64_t addr[16], sum = 0;
	size_t n = emu_counts(e, count, 64), calls, cuts;

	for (size_t i = 0; i < n && i < 64; i++) {
		if (emu_runs_of(e, count[i].ip) != count[i].runs)
			abort();
		sum += count[i].runs;
	}
	emu_calls(e, &calls);
	emu_cuts(e, &cuts);
	if (sum > insns)
		abort();
	for (uint32_t i = 0; emu_touched(e, i, &page); i++)
		sum += page.given;
	emu_pages_run(likely, e, given, 1);
	emu_pages_likely(likely, EMU_PAGES_LEAST, addr, 16);
	emu_pages_slots(likely, addr, 16);
}

static void told(void *ctx, const struct emu_access *a)
{
	if (ctx || !a->size || a->size > EMU_PAGE || (a->store && a->writer) ||
	    (a->writer ? !a->age && a->writer != a->ip : a->age))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .data = data, .size = size };
	struct emu_env env = {
		.code = read_code, .page = read_page, .function = bounds, .fixed = never_written, .ctx = &in
	};
	static uint8_t page[EMU_PAGE];
	struct sample_page given = { .byte = page };
	struct emu_start start = { 0 };
	struct emu_pages *likely;
	struct emu_result out;
	uint64_t regs[WREG_MAX] = { 0 };
	struct emu *e;

	if (size <= HEADER || size > 4096)
		return 0;
	in.holes = data[0];
	in.code = data + HEADER;
	in.code_size = size - HEADER;
	for (unsigned i = 0; i < WREG_IP; i++)
		regs[i] = value_of(data[2 + i]);
	regs[WREG_SP] = STACK - (data[18] & 15) * 8u;
	regs[WREG_IP] = BASE + data[19] % in.code_size;
	regs[WREG_FLAGS] = data[20] | (data[1] & 32 ? 0x400u : 0u);
	regs[WREG_FSBASE] = value_of(data[21]);
	start.insns = INSNS + data[23] * 12u;
	start.regs = regs;
	start.stack = data[1] & 1 ? data : NULL;
	start.stack_bytes = (uint32_t)(data[1] & 2 ? size : 8);
	memset(page, 0, sizeof(page));
	memcpy(page, data, size);
	given.addr = DATA + (data[22] & 3) * EMU_PAGE;
	start.page = data[1] & 4 ? &given : NULL;
	start.pages = 1;
	start.access = data[1] & 64 ? told : NULL;
	e = emu_new(&env);
	likely = emu_pages_new();
	if (!e || !likely)
		abort();
	for (unsigned run = 0; run < 3; run++) {
		in.pages = 0;
		if (!emu_run(e, &start, &out)) {
			if (out.insns > start.insns || out.end >= EMU_ENDS || !emu_end_str(out.end))
				abort();
			ask(e, likely, &given, start.insns);
			emu_written(e, told, NULL);
		}
		/* other code at the same place, of which some is still known */
		if (data[1] & 8)
			in.code_size = in.code_size / 2 + 1;
		if (data[1] & 16)
			emu_forget(e);
		regs[WREG_IP] = BASE + (run + data[19]) % in.code_size;
	}
	emu_pages_free(likely);
	emu_free(e);
	return 0;
}
