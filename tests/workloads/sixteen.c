// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sixteen threads that live as long as the program: in each step every one of them reads the block its
 * neighbour wrote in the step before (mix_block) and writes its own (fill_block), with a barrier between
 * steps. SIZE = steps per round.
 *
 * Planted (`quad`, non-stack, 4 bytes per word): fill_block -> mix_block, 4096 bytes per thread and step.
 */
#include <pthread.h>

#include "work.h"

#define THREADS 16
#define WORDS 1024
#define PASSES 16 /* over a block in registers: computation without memory */

static pthread_barrier_t barrier;
static uint32_t block[2][THREADS][WORDS];
static uint64_t result[THREADS][8]; /* a cache line each */
static unsigned long steps;
static bool over;

STEP static uint64_t mix_block(const uint32_t *from)
{
	uint64_t x = 1;

	for (unsigned i = 0; i < WORDS; i++)
		x = work_mix(x, from[i]);
	for (unsigned i = 0; i < PASSES * WORDS; i++)
		x = work_mix(x, i);
	return x;
}

STEP static void fill_block(uint32_t *to, uint64_t x)
{
	for (unsigned i = 0; i < WORDS; i++)
		to[i] = (uint32_t)(x >> 32) + i;
}

static void *member(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;

	for (;;) {
		pthread_barrier_wait(&barrier);
		if (over)
			return NULL;
		fill_block(block[0][me], me);
		for (unsigned long s = 0; s < steps; s++) {
			uint64_t x;

			pthread_barrier_wait(&barrier);
			x = mix_block(block[s & 1][(me + 1) % THREADS]);
			fill_block(block[~s & 1][me], x);
			result[me][0] = x;
		}
		pthread_barrier_wait(&barrier);
	}
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 20);
	pthread_t thread[THREADS];
	uint64_t digest;

	steps = w.size;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, member, (void *)i))
			work_die(&w, "cannot make a thread");
	do {
		pthread_barrier_wait(&barrier);
		for (unsigned long s = 0; s < steps; s++)
			pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		digest = 0;
		for (int i = 0; i < THREADS; i++)
			digest = work_mix(digest, result[i][0]);
	} while (work_more(&w, digest));
	over = true;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return work_done(&w);
}
