// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Thirty allocation sites with planted traffic: site k makes, reads and writes blocks of its own size, and of all
 * passes over blocks a part that falls with k. A block of every third site lives for four passes over it, others
 * for sixteen. Mode `truth` prints the share of each site's accesses instead of working. SIZE: passes of one round.
 */
#include "work.h"

#define SITES 30
#define BLOCKS 64              /* of a site */
#define WORDS(k) (4 + 5 * (k)) /* of 8 bytes, in a block of site k */

struct block {
	uint64_t word[1];
};

typedef struct block *make_fn(void);

#define SITE(k)                                                                                                        \
	STEP static struct block *make_##k(void)                                                                       \
	{                                                                                                              \
		struct block *b = malloc(WORDS(k) * 8);                                                                \
                                                                                                                       \
		if (!b)                                                                                                \
			abort();                                                                                       \
		b->word[0] = k;                                                                                        \
		return b;                                                                                              \
	}
#define ALL(X)                                                                                                         \
	X(0)                                                                                                           \
	X(1)                                                                                                           \
	X(2)                                                                                                           \
	X(3)                                                                                                           \
	X(4)                                                                                                           \
	X(5)                                                                                                           \
	X(6)                                                                                                           \
	X(7)                                                                                                           \
	X(8)                                                                                                           \
	X(9)                                                                                                           \
	X(10)                                                                                                          \
	X(11)                                                                                                          \
	X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29)

ALL(SITE)
#define NAME(k) make_##k,
static make_fn *const make[SITES] = { ALL(NAME) };
static struct block *block[SITES][BLOCKS];
static unsigned int chance[1024]; /* a site, as often as it is to be used */

/* Of 1024 passes: 1 / (k + 2), scaled. */
static void plan(void)
{
	double sum = 0, at = 0;

	for (int k = 0; k < SITES; k++)
		sum += 1.0 / (k + 2);
	for (int k = 0, i = 0; k < SITES; k++) {
		at += 1024.0 / (k + 2) / sum;
		for (; i < 1024 && i < at; i++)
			chance[i] = (unsigned int)k;
		if (k == SITES - 1)
			for (; i < 1024; i++)
				chance[i] = (unsigned int)k;
	}
}

/* 16 reads of other words of a block and 4 writes, whatever its size. */
STEP static uint64_t use_block(struct block *b, unsigned int words, uint64_t r)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 16; i++)
		sum += b->word[(r + i) % words];
	for (unsigned int i = 0; i < 4; i++)
		b->word[1 + (r + i) % (words - 1)] = sum + i;
	return sum;
}

STEP static uint64_t pass(unsigned long passes)
{
	uint64_t seed = 88172645463325252ull, digest = 0;

	for (int k = 0; k < SITES; k++)
		for (int i = 0; i < BLOCKS; i++)
			memset(block[k][i], 0, WORDS(k) * 8);
	for (unsigned long n = 0; n < passes; n++) {
		uint64_t r = work_random(&seed);
		unsigned int k = chance[r & 1023], i = (unsigned int)(r >> 20) % BLOCKS;

		/* one in 16 is replaced, of every third site one in 4 */
		if (!((r >> 40) & (k % 3 == 2 ? 3 : 15))) {
			free(block[k][i]);
			block[k][i] = make[k]();
			memset(block[k][i], 0, WORDS(k) * 8);
		}
		digest = work_mix(digest, use_block(block[k][i], WORDS(k), r >> 32));
	}
	return digest;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, "work|truth", 100000);
	unsigned int uses[SITES] = { 0 };

	plan();
	if (!strcmp(w.mode, "truth")) {
		for (int i = 0; i < 1024; i++)
			uses[chance[i]]++;
		for (int k = 0; k < SITES; k++)
			printf("make_%d %.6f\n", k, uses[k] / 1024.0);
		return 0;
	}
	for (int k = 0; k < SITES; k++)
		for (int i = 0; i < BLOCKS; i++)
			block[k][i] = make[k]();
	do {
		w.digest = pass(w.size);
	} while (work_more(&w, w.digest));
	return work_done(&w);
}
