// SPDX-License-Identifier: GPL-2.0-or-later
/* Heap blocks of mixed sizes, made and freed in random order: the allocator dominates. */
#include "work.h"

#define SLOTS 4096

static unsigned char *slot[SLOTS];
static uint32_t slot_size[SLOTS];

STEP static void make_block(unsigned int i, uint32_t size)
{
	slot[i] = malloc(size);
	if (!slot[i])
		abort();
	slot_size[i] = size;
	slot[i][0] = (unsigned char)size;
	slot[i][size - 1] = (unsigned char)i;
}

STEP static uint64_t drop_block(unsigned int i)
{
	uint64_t sum = slot[i][0] + slot[i][slot_size[i] - 1];

	free(slot[i]);
	slot[i] = NULL;
	return sum;
}

STEP static uint64_t churn(unsigned long operations)
{
	uint64_t seed = 88172645463325252ull, digest = 0;

	for (unsigned long n = 0; n < operations; n++) {
		uint64_t r = work_random(&seed);
		unsigned int i = r % SLOTS;

		if (slot[i])
			digest = work_mix(digest, drop_block(i));
		else
			make_block(i, 16 + (uint32_t)(r >> 20) % ((r >> 60) ? 480 : 16384));
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		if (slot[i])
			digest = work_mix(digest, drop_block(i));
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 200000);
	uint64_t digest;

	do {
		digest = churn(w.size);
	} while (work_more(&w, digest));
	return work_done(&w);
}
