// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads and five lines: `side_by_side` is shared falsely (each thread writes a counter of its
 * own in it), `reader_writer` too (one writes what the other never reads), `apart` is not shared,
 * `both_write` is shared truly, `in_turn` is used by one thread after the other. And a relay: `send`
 * in the first thread writes `letter`, `receive` in the second reads it all. SIZE = thousand
 * accesses of each kind.
 */
#include <pthread.h>

#include "work.h"

#define LINE __attribute__((aligned(64)))
#define LETTER 2048

static volatile LINE uint64_t side_by_side[8];
static volatile LINE uint64_t reader_writer[8];
static volatile LINE uint64_t apart[16];
static volatile LINE uint64_t both_write[8];
static volatile LINE uint64_t in_turn[8];
static volatile LINE uint64_t letter[LETTER];
static unsigned long n;
static pthread_barrier_t meet;
static uint64_t got;

STEP static void first_counts(void)
{
	for (unsigned long i = 0; i < n; i++) {
		side_by_side[0] = i;
		apart[0] = i;
		reader_writer[1] = i;
		both_write[3] = i;
	}
}

STEP static uint64_t second_counts(void)
{
	uint64_t x = 0;

	for (unsigned long i = 0; i < n; i++) {
		side_by_side[5] = i;
		apart[8] = i;
		x += reader_writer[6];
		both_write[3] = i;
	}
	return x;
}

STEP static void use_in_turn(unsigned word)
{
	for (unsigned long i = 0; i < n; i++)
		in_turn[word] = i;
}

STEP static void send(unsigned long round)
{
	for (unsigned long i = 0; i < LETTER; i++)
		letter[i] = work_mix(i, round);
}

STEP static uint64_t receive(uint64_t x)
{
	for (unsigned long i = 0; i < LETTER; i++)
		x = work_mix(x, letter[i]);
	return x;
}

static void *second(void *arg)
{
	uint64_t x;

	pthread_barrier_wait(&meet);
	x = second_counts();
	pthread_barrier_wait(&meet);
	pthread_barrier_wait(&meet);
	use_in_turn(4);
	for (unsigned long r = 0; r < n / LETTER + 1; r++) {
		pthread_barrier_wait(&meet);
		x = receive(x);
		pthread_barrier_wait(&meet);
	}
	got = x;
	return arg;
}

int main(int argc, char **argv)
{
	struct work w = work_parse(argc, argv, NULL, 200);

	n = w.size * 1000;
	pthread_barrier_init(&meet, NULL, 2);
	do {
		pthread_t t;

		if (pthread_create(&t, NULL, second, NULL))
			work_die(&w, "cannot make a thread");
		pthread_barrier_wait(&meet);
		first_counts();
		pthread_barrier_wait(&meet);
		use_in_turn(0);
		pthread_barrier_wait(&meet);
		for (unsigned long r = 0; r < n / LETTER + 1; r++) {
			send(r);
			pthread_barrier_wait(&meet);
			pthread_barrier_wait(&meet);
		}
		pthread_join(t, NULL);
	} while (work_more(&w, got));
	return work_done(&w);
}
