// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks cleared and copied by string instructions, which take hardly any time for all that they move, beside loops
 * that take all of it. SIZE: blocks. Planted: copy_block reads what fill_block wrote, sum_block what both it and
 * clear_block did.
 */
#include "work.h"

#define BLOCK 4096
#define CLEARED 1024

static uint8_t cleared[CLEARED], filled[BLOCK], copied[BLOCK];

STEP static void clear_block(void *to, size_t n)
{
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
}

STEP static void copy_block(void *to, const void *from, size_t n)
{
	n /= 8;
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

STEP static void fill_block(uint8_t *to, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i += sizeof(x)) {
		x += (uint32_t)i * 3;
		memcpy(to + i, &x, sizeof(x));
	}
}

STEP static uint32_t sum_block(const uint8_t *from, size_t n)
{
	uint32_t s = 0, v;

	for (size_t i = 0; i < n; i += sizeof(v)) {
		memcpy(&v, from + i, sizeof(v));
		s += v ^ s >> 3;
	}
	return s;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 300);
	uint32_t s;

	do {
		s = 0;
		for (unsigned long i = 0; i < w.size; i++) {
			clear_block(cleared, CLEARED);
			fill_block(filled, BLOCK, s);
			copy_block(copied, filled, BLOCK);
			s += sum_block(copied, BLOCK) + sum_block(cleared, CLEARED);
		}
	} while (work_more(&w, s));
	return work_done(&w);
}
