// cflags: -O2
// libs: -lpthread
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two functions that share data: `make` writes a block, `use` reads it, `placed WHERE BLOCKS`. WHERE: host, both on one
 * core; there, `make` on another, whose caches hold the block then as a device's memory does; copy, `use` is left out
 * and the block is only copied from there. Prints CPU time in ns of a block: of make, where it is the host's, and of
 * what comes after it (use, or copy). Waiting for the other core is no part of either.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "work.h"

#define WORDS (16u * 1024) /* 64 KiB: more than a first-level cache holds, and less than a second-level one */

static uint32_t block[WORDS], own[WORDS];
static atomic_long wanted, done;

STEP static void make(uint32_t *to, uint32_t number)
{
	uint32_t x = number;

	for (size_t i = 0; i < WORDS; i++) {
		x = (x ^ x >> 15) * 2246822519u + 1;
		x = (x ^ x >> 13) * 3266489917u + 2;
		to[i] = x;
	}
}

STEP static uint32_t use(const uint32_t *from)
{
	uint32_t a = 0, b = 0;

	for (size_t i = 0; i < WORDS; i++) {
		a += from[i];
		b += a ^ b >> 3;
	}
	return a ^ b;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *elsewhere(void *none)
{
	pin(1);
	for (long n = 1;; n++) {
		while (atomic_load_explicit(&wanted, memory_order_acquire) < n)
			;
		make(block, (uint32_t)n);
		atomic_store_explicit(&done, n, memory_order_release);
	}
	return none;
}

int main(int argc, char **argv)
{
	long blocks = argc > 2 ? atol(argv[2]) : 0;
	bool host = argc > 1 && !strcmp(argv[1], "host"), copied = argc > 1 && !strcmp(argv[1], "copy");
	double making = 0, after = 0, began, made;
	volatile uint32_t sum = 0;
	pthread_t thread;

	if (blocks < 1)
		return 2;
	if (!host) {
		if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
			return 77;
		pin(0);
		if (pthread_create(&thread, NULL, elsewhere, NULL))
			return 1;
	}
	for (long n = 1; n <= blocks; n++) {
		began = cpu_ns();
		if (host) {
			make(block, (uint32_t)n);
		} else {
			atomic_store_explicit(&wanted, n, memory_order_release);
			while (atomic_load_explicit(&done, memory_order_acquire) < n)
				;
		}
		made = cpu_ns();
		if (copied) {
			memcpy(own, block, sizeof(own));
			__asm__ volatile("" ::"r"(own) : "memory");
		} else {
			sum += use(block);
		}
		after += cpu_ns() - made;
		making += made - began;
	}
	printf("%.1f %.1f\n", host ? making / (double)blocks : 0, after / (double)blocks);
	return 0;
}
