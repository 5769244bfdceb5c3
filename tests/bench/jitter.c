// SPDX-License-Identifier: GPL-2.0-or-later
/* What interrupts a program, and for how long: some 5 us of work at a time, each timed, for so many seconds.
 * For scripts/bench-jitter, which says what to make of it. Prints the median of a piece in ns, and what
 * pieces took beyond the median of those around them, in parts of all time, by how much they did.
 * With "syscalls" the work is system calls, with "mallocs" blocks of mixed sizes made and freed. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WORDS 16384
#define STRIDE 4096
#define AROUND 500 /* pieces: the speed of a shared machine drifts */
#define MOST 100000000
#define CLASSES 12
#define SLOTS 4096

static const unsigned class_end_us[CLASSES - 1] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096 };
static uint32_t a[WORDS], b[WORDS];
static volatile uint32_t sink;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static __attribute__((noinline)) void produce(uint32_t k)
{
	for (uint32_t i = 0; i < STRIDE; i++)
		a[(i + k) % WORDS] = i * k;
}

static __attribute__((noinline)) void consume(uint32_t k)
{
	uint32_t s = 0;

	for (uint32_t i = 0; i < STRIDE; i++)
		b[i] = s = s * 31 + a[(i + k) % WORDS];
	sink = s;
}

static __attribute__((noinline)) void call(void)
{
	for (int i = 0; i < 30; i++)
		syscall(SYS_getppid);
}

static __attribute__((noinline)) void churn(uint32_t k)
{
	static unsigned char *slot[SLOTS];
	static uint64_t seed = 88172645463325252u;

	for (int i = 0; i < 300; i++) {
		unsigned char **s;

		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		s = &slot[seed % SLOTS];
		if (*s) {
			sink = **s;
			free(*s);
			*s = NULL;
		} else if ((*s = malloc(16 + (seed >> 20) % 464))) {
			**s = (unsigned char)k;
		}
	}
}

static int by_value(const void *p, const void *q)
{
	uint32_t x = *(const uint32_t *)p, y = *(const uint32_t *)q;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	bool calls = argc > 2 && !strcmp(argv[2], "syscalls"), blocks = argc > 2 && !strcmp(argv[2], "mallocs");
	uint64_t until, last, sum[CLASSES] = { 0 }, number[CLASSES] = { 0 }, base = 0;
	uint32_t *took, *sorted;
	size_t n = 0;

	if (argc < 2 || atof(argv[1]) <= 0)
		return fprintf(stderr, "usage: jitter SECONDS [syscalls|mallocs]\n"), 2;
	took = malloc(MOST * sizeof(*took));
	sorted = malloc(MOST * sizeof(*sorted));
	if (!took || !sorted)
		return fprintf(stderr, "jitter: out of memory\n"), 1;
	until = now_ns() + (uint64_t)(atof(argv[1]) * 1e9);
	for (last = now_ns(); last < until && n < MOST; n++) {
		uint64_t now;

		if (calls)
			call();
		else if (blocks)
			churn((uint32_t)n);
		else
			produce((uint32_t)n), consume((uint32_t)n);
		now = now_ns();
		took[n] = now - last < UINT32_MAX ? (uint32_t)(now - last) : UINT32_MAX;
		last = now;
	}
	for (size_t i = 0; i < n; i += AROUND) {
		size_t m = n - i < AROUND ? n - i : AROUND;
		uint32_t median;

		memcpy(sorted, took + i, m * sizeof(*took));
		qsort(sorted, m, sizeof(*took), by_value);
		median = sorted[m / 2];
		base += (uint64_t)median * m;
		for (size_t k = i; k < i + m; k++) {
			uint64_t more = took[k] > median ? took[k] - median : 0;
			unsigned c = 0;

			while (c < CLASSES - 1 && more >= class_end_us[c] * 1000u)
				c++;
			sum[c] += more;
			number[c]++;
		}
	}
	qsort(took, n, sizeof(*took), by_value);
	printf("{\"pieces\":%zu,\"piece_ns\":%u,\"classes\":[", n, n ? took[n / 2] : 0);
	for (unsigned c = 0; c < CLASSES; c++) {
		printf("%s{\"below_us\":", c ? "," : "");
		c < CLASSES - 1 ? printf("%u", class_end_us[c]) : printf("null");
		printf(",\"number\":%llu,\"share\":%.6f}", (unsigned long long)number[c],
		       base ? (double)sum[c] / (double)base : 0);
	}
	printf("]}\n");
	return 0;
}
