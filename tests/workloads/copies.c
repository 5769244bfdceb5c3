// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nothing but copies: string instructions nearly all the time (4 KiB to 64 KiB by `rep movsb`, as
 * large memcpy does), the worst that can happen under an armed watchpoint. SIZE: copies of each length.
 * Planted: copy_blocks writes what check_blocks reads.
 */
#include "work.h"

static unsigned char from[65536], to[65536];

STEP static void copy_blocks(size_t n)
{
	const void *s = from;
	void *d = to;

	__asm__ volatile("rep movsb" : "+S"(s), "+D"(d), "+c"(n) : : "memory");
}

STEP static uint64_t check_blocks(size_t n)
{
	uint64_t h = 0;

	for (size_t i = 0; i < n; i += 64)
		h = h * 31 + to[i];
	return h;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 100);
	uint64_t digest;

	do {
		uint64_t seed = 7;

		digest = 0;
		for (size_t i = 0; i < sizeof(from); i++)
			from[i] = (unsigned char)(work_random(&seed) >> 32);
		for (unsigned long i = 0; i < w.size; i++) {
			for (size_t n = 4096; n <= sizeof(to); n *= 2) {
				copy_blocks(n);
				digest = digest * 33 + check_blocks(n);
			}
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}
