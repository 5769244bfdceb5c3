// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A service with a known share of waiting: one function works for 1 ms of CPU time and sleeps for 4 ms, another works
 * only. At the end it prints what part of each one's elapsed time was off the CPU, as its own clocks saw it.
 */
#include <unistd.h>

#include "work.h"

#define MS 1000000u

struct spent {
	double elapsed, ran;
} much, never;

static double clock_read(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

STEP static uint64_t busy(double ns)
{
	double until = clock_read(CLOCK_THREAD_CPUTIME_ID) + ns;
	uint64_t x = 1;

	while (clock_read(CLOCK_THREAD_CPUTIME_ID) < until)
		for (int i = 0; i < 2000; i++)
			x = work_mix(x, (uint64_t)i);
	return x;
}

STEP static uint64_t waits_much(void)
{
	double began = clock_read(CLOCK_MONOTONIC), ran = clock_read(CLOCK_THREAD_CPUTIME_ID);
	uint64_t x = busy(MS);

	usleep(4000);
	much.elapsed += clock_read(CLOCK_MONOTONIC) - began;
	much.ran += clock_read(CLOCK_THREAD_CPUTIME_ID) - ran;
	return x;
}

STEP static uint64_t waits_never(void)
{
	double began = clock_read(CLOCK_MONOTONIC), ran = clock_read(CLOCK_THREAD_CPUTIME_ID);
	uint64_t x = busy(3 * MS);

	never.elapsed += clock_read(CLOCK_MONOTONIC) - began;
	never.ran += clock_read(CLOCK_THREAD_CPUTIME_ID) - ran;
	return x;
}

int main(int argc, char **argv)
{
	double until = clock_read(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 3) * 1e9;
	uint64_t x = 0;

	while (clock_read(CLOCK_MONOTONIC) < until)
		x += waits_much() + waits_never();
	printf("waits_much %.4f\nwaits_never %.4f\n", 1 - much.ran / much.elapsed, 1 - never.ran / never.elapsed);
	return !x;
}
