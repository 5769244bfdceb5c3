// SPDX-License-Identifier: GPL-2.0-or-later
// cflags: -O2 -fno-omit-frame-pointer
/* A JIT that never stops: maps and unmaps N executable pages, each at another address, and then computes for SECONDS.
 * usage: mapchurn N SECONDS */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define BATCH 250 /* between two pauses of 5 ms: no ring of a recorder holds all of them */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static unsigned long afterwards(double seconds)
{
	unsigned long x = 1;

	for (double end = now() + seconds; now() < end;)
		for (int i = 0; i < 100000; i++)
			x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 140000;
	char *base = mmap(NULL, 2 * n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED || munmap(base, 2 * n * PAGE))
		return perror("mapchurn"), 1;
	for (unsigned long i = 0; i < n; i++) {
		char *at = mmap(base + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (at == MAP_FAILED || munmap(at, PAGE))
			return perror("mapchurn"), 1;
		if (i % BATCH == 0)
			usleep(5000);
	}
	printf("%lu\n", afterwards(argc > 2 ? atof(argv[2]) : 1));
	return 0;
}
