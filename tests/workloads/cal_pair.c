// cflags: -O2 -rdynamic
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job and its offloaded twin, which take a known time (host: 200 ns and 2 ns a byte; accelerated: 20 us and
 * 0.2 ns a byte; or as given), called with sizes of no grid. Prints the calls as `accperf logca` reads them.
 *
 *     cal_pair [CALLS [HOST_NS HOST_NS_PER_BYTE ACCELERATED_NS ACCELERATED_NS_PER_BYTE]]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static double cost[4] = { 200, 2, 20000, .2 };

static void spin(double ns)
{
	uint64_t from = now();

	while ((double)(now() - from) < ns)
		;
}

__attribute__((noipa)) int job_host(const void *in, size_t bytes)
{
	spin(cost[0] + cost[1] * (double)bytes);
	return in != NULL;
}

__attribute__((noipa)) int job_accelerated(const void *in, size_t bytes)
{
	spin(cost[2] + cost[3] * (double)bytes);
	return in != NULL;
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 1500;
	static char buffer[1];
	unsigned seed = 1;

	for (int i = 0; i < 4 && i + 2 < argc; i++)
		cost[i] = atof(argv[i + 2]);

	printf("bytes,run,time\n");
	for (int i = 0; i < calls; i++) {
		size_t g = (size_t)(64 << (rand_r(&seed) % 12)) + (size_t)(rand_r(&seed) % 64);
		uint64_t t0 = now(), t1;

		job_host(buffer, g);
		t1 = now();
		printf("%zu,host,%llu\n", g, (unsigned long long)(t1 - t0));
		t0 = now();
		job_accelerated(buffer, g);
		t1 = now();
		printf("%zu,accelerated,%llu\n", g, (unsigned long long)(t1 - t0));
	}
	return 0;
}
