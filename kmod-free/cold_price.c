// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/cold_price.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/clock.h"

#define ROUNDS 9            /* of which the middle one counts; by hand */
#define WAITS 512           /* a round's, 50 us: beside which reading the clock is nothing; by hand */
#define FAR (8u << 20)      /* bytes: more than a second-level cache holds */
#define NEAR (16u * 1024)   /* bytes: a first-level cache holds them */
#define STREAMED (1u << 20) /* bytes: a second-level cache holds them, and no first-level one */
#define PIECE (16u * 1024)  /* bytes of one copy: a first-level cache holds both sides */

static volatile uint32_t kept;

/* One line after another, each known when the last one has come. */
static double wait_ns(const uint8_t *p, uint32_t size, uint32_t *at)
{
	uint64_t began = clock_cpu();
	uint32_t x = *at;

	for (int i = 0; i < WAITS; i++)
		x = x * 1664525u + 1013904223u + p[(x >> 8) % size];
	*at = kept = x;
	return (double)(clock_cpu() - began) / WAITS;
}

/* Copies one piece after another, each `step` bytes behind the last one. */
static double stream_ns(uint8_t *to, const uint8_t *from, size_t step)
{
	uint64_t began = clock_cpu();

	for (size_t i = 0; i < STREAMED / PIECE; i++) {
		memcpy(to + i * step, from + i * step, PIECE);
		__asm__ volatile("" ::"r"(to) : "memory");
	}
	return (double)(clock_cpu() - began) / STREAMED;
}

/* Copies pieces of one half to the other, at drawn places. */
static double scattered_ns(uint8_t *p, size_t half, uint32_t *at)
{
	uint64_t began = clock_cpu();
	uint32_t x = *at;

	for (size_t i = 0; i < STREAMED / PIECE; i++) {
		size_t place;

		x = x * 1664525u + 1013904223u;
		place = (x >> 8) % (half - PIECE);
		memcpy(p + half + place, p + place, PIECE);
		__asm__ volatile("" ::"r"(p) : "memory");
	}
	*at = x;
	return (double)(clock_cpu() - began) / STREAMED;
}

static double middle(double ns[ROUNDS])
{
	qsort(ns, ROUNDS, sizeof(*ns), by_double);
	return ns[ROUNDS / 2];
}

struct cold_price cold_price(void)
{
	uint8_t *p = mmap(NULL, FAR, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double far[ROUNDS], near[ROUNDS], streamed[ROUNDS], again[ROUNDS], scattered[ROUNDS];
	struct cold_price c = { 0, 0, 0 };
	uint32_t at = 1;

	if (p != MAP_FAILED) {
		memset(p, 1, FAR);
		for (size_t i = 0; i < ROUNDS; i++) {
			near[i] = wait_ns(p, NEAR, &at);
			far[i] = wait_ns(p, FAR, &at);
			again[i] = stream_ns(p + STREAMED, p, 0);
			stream_ns(p + STREAMED, p, PIECE);
			streamed[i] = stream_ns(p + STREAMED, p, PIECE);
			scattered[i] = scattered_ns(p, FAR / 2, &at);
		}
		munmap(p, FAR);
		c.line_ns = fmax(middle(far) - middle(near), 0);
		c.byte_ns = fmax(middle(streamed) - middle(again), 0);
		c.far_byte_ns = fmax(middle(scattered) - middle(again), 0);
	}
	return c;
}
