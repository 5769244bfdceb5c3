/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code and memory that an emulator's run sees, where a test makes both up: some bytes at CODE, and zeros wherever it
 * looks. Included by such tests (u-emu-access, u-emu-late, u-burst-flow), which hand in a struct fake_code for ctx.
 */
#ifndef TESTS_FAKE_CODE_H
#define TESTS_FAKE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "emu/emu.h"

#define CODE 0x400000ull
#define DATA 0x10000ull
#define SP 0x20800ull

struct fake_code {
	const uint8_t *bytes;
	size_t size;
};

static inline size_t fake_code(void *ctx, uint64_t addr, void *buf, size_t len)
{
	const struct fake_code *c = ctx;
	size_t off = (size_t)(addr - CODE), n;

	if (addr < CODE || off >= c->size)
		return 0;
	n = c->size - off < len ? c->size - off : len;
	memcpy(buf, c->bytes + off, n);
	return n;
}

static inline bool fake_page(void *ctx, uint64_t addr, uint8_t *buf)
{
	memset(buf, 0, EMU_PAGE);
	return true;
}

#endif
