// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Four threads, each in a function of its own, worker_1 to worker_4, whose work is 1 : 2 : 3 : 4 (of
 * their shares of the time, 10, 20, 30 and 40 % on machines with a core for each or without).
 * SIZE = thousand iterations of worker_1.
 */
#include <pthread.h>

#include "work.h"

static unsigned long unit;
static uint64_t result[4][8]; /* a cache line each */

#define WORKER(k)                                                                                                      \
	STEP static void *worker_##k(void *arg)                                                                        \
	{                                                                                                              \
		uint64_t x = k;                                                                                        \
                                                                                                                       \
		for (unsigned long i = 0; i < unit * 1000 * k; i++)                                                    \
			x = work_mix(x, i);                                                                            \
		result[k - 1][0] = x;                                                                                  \
		return arg;                                                                                            \
	}
WORKER(1)
WORKER(2)
WORKER(3)
WORKER(4)

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 1000);
	void *(*const worker[4])(void *) = { worker_1, worker_2, worker_3, worker_4 };
	uint64_t digest;

	unit = w.size;
	do {
		pthread_t thread[4];

		for (int i = 0; i < 4; i++)
			if (pthread_create(&thread[i], NULL, worker[i], NULL))
				work_die(&w, "cannot make a thread");
		digest = 0;
		for (int i = 0; i < 4; i++) {
			pthread_join(thread[i], NULL);
			digest = work_mix(digest, result[i][0]);
		}
	} while (work_more(&w, digest));
	return work_done(&w);
}
