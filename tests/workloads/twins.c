// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two children, one after the other begun and both at work, that use what they inherited: SIZE megabytes of heap,
 * which put_block writes here and there and look_up reads, and a variable that count_up counts with. Planted: to
 * a person that is one block and one variable.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#define TURNS 200000 /* of each loop in a round */

uint64_t turns_counted;

STEP static uint64_t look_up(const uint64_t *block, size_t words)
{
	uint64_t x = 1, sum = 0;

	for (int i = 0; i < TURNS; i++)
		sum += block[work_random(&x) % words];
	return sum;
}

STEP static void put_block(uint64_t *block, size_t words)
{
	uint64_t x = 7;

	for (int i = 0; i < TURNS; i++)
		block[work_random(&x) % words] = x;
}

STEP static void count_up(void)
{
	for (int i = 0; i < TURNS; i++) {
		turns_counted += (uint64_t)i;
		__asm__ volatile("" ::: "memory");
	}
}

static int child(struct work *w, uint64_t *block, size_t words)
{
	uint64_t digest;

	do {
		put_block(block, words);
		count_up();
		digest = look_up(block, words);
	} while (work_more(w, digest));
	return (int)(digest & 63);
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 8);
	size_t words = w.size << 17;
	uint64_t *block = malloc(words * sizeof(*block)), digest = 0;
	pid_t pids[2];

	if (!block || !words || w.size > 1 << 12)
		work_die(&w, "out of memory");
	memset(block, 1, words * sizeof(*block));
	for (int i = 0; i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(child(&w, block, words));
	}
	for (int i = 0; i < 2; i++) {
		int status;

		if (pids[i] < 0 || waitpid(pids[i], &status, 0) != pids[i] || !WIFEXITED(status))
			work_die(&w, "a child was lost");
		digest = work_mix(digest, (uint64_t)WEXITSTATUS(status));
	}
	free(block);
	w.timed = false;
	w.digest = digest;
	return work_done(&w);
}
