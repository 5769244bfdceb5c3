// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/fault_price.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/clock.h"

#define ROUNDS 9  /* of which the middle one counts; by hand */
#define PAGES 256 /* a round's: a quarter of a millisecond, beside which reading the clock is nothing */

double fault_price(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	double ns[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		volatile char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t began;

		if (p == MAP_FAILED)
			return 0;
		madvise((void *)(uintptr_t)p, PAGES * page, MADV_NOHUGEPAGE);
		began = clock_cpu();
		for (size_t at = 0; at < PAGES * page; at += page)
			p[at] = 1;
		ns[i] = (double)(clock_cpu() - began) / PAGES;
		munmap((void *)(uintptr_t)p, PAGES * page);
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_double);
	return ns[ROUNDS / 2];
}
