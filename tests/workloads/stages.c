// cflags: -O2
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pipeline of three stages over blocks of 16 KiB, each read from the stage before and handed to the next, and a
 * device that is a clock: `stages WHERE BLOCKS [O L A]`. WHERE: host, or what is handed over: unpack, mend, pack (one
 * stage alone), chain (all three at once). Handing over takes O ns, L ns for each byte of the first stage's block, and
 * the stages' own time on the host over A, and no time at all where A is 0; the results are those that the host found
 * before. Prints CPU time in ns: of a block, and of each stage on the host, taken apart.
 */
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "work.h"

#define WORDS 4096u /* 16 KiB: the four blocks of an item lie in the second-level cache with those of its neighbours */
#define ITEMS 8u
#define TRIAL 400 /* calls that a stage's own time is the mean of */

static uint32_t raw[ITEMS][WORDS], plain[ITEMS][WORDS], mended[ITEMS][WORDS], packed[ITEMS][WORDS];

/* Eight turns a word: some 10 us a block, so that a stage is no short call. */
static inline uint32_t stir(uint32_t x, uint32_t k)
{
	for (int i = 0; i < 8; i++)
		x = (x ^ x >> 15) * 2246822519u + k;
	return x;
}

STEP static void unpack(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < WORDS; i++)
		out[i] = stir(in[i], 1);
}

STEP static void mend(const uint32_t *in, uint32_t *out)
{
	uint32_t before = 0;

	for (size_t i = 0; i < WORDS; i++) {
		uint32_t word = in[i];

		out[i] = stir(word, 2) ^ before;
		before = word;
	}
}

STEP static void pack(const uint32_t *in, uint32_t *out)
{
	for (size_t i = 0; i < WORDS; i++)
		out[i] = stir(in[WORDS - 1 - i], 3);
}

/* Blocks come from a file and go to one: no stage wrote what the first one reads. */
STEP static bool receive(int file, uint32_t *block, uint32_t number)
{
	return pread(file, block, sizeof(raw[0]), (off_t)(number * sizeof(raw[0]))) == (ssize_t)sizeof(raw[0]);
}

STEP static bool hand_on(int file, const uint32_t *block, uint32_t number)
{
	return pwrite(file, block, sizeof(raw[0]), (off_t)((ITEMS + number) * sizeof(raw[0]))) ==
	       (ssize_t)sizeof(raw[0]);
}

static const struct stage {
	const char *name;
	void (*run)(const uint32_t *in, uint32_t *out);
	uint32_t (*in)[WORDS], (*out)[WORDS];
} stages[] = { { "unpack", unpack, raw, plain }, { "mend", mend, plain, mended }, { "pack", pack, mended, packed } };
#define STAGES (sizeof(stages) / sizeof(*stages))

static double now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* By the clock, as reading CPU time takes part of a microsecond; what a reading takes itself is part of the wait. */
static void device_takes(double ns)
{
	static double reading;
	double began;

	if (!(ns > 0))
		return;
	began = now_ns(CLOCK_MONOTONIC);
	if (!(reading > 0)) {
		for (int i = 0; i < 1000; i++)
			reading = now_ns(CLOCK_MONOTONIC);
		reading = (reading - began) / 1000;
		began = now_ns(CLOCK_MONOTONIC);
	}
	while (now_ns(CLOCK_MONOTONIC) + 2 * reading < began + ns)
		;
}

int main(int argc, char **argv)
{
	long blocks = argc > 2 ? atol(argv[2]) : 0;
	double o = argc > 3 ? atof(argv[3]) : 0, L = argc > 4 ? atof(argv[4]) : 0, A = argc > 5 ? atof(argv[5]) : 1;
	bool all = argc > 1 && !strcmp(argv[1], "chain"), there[STAGES];
	double host[STAGES], began;
	int file = memfd_create("blocks", 0);
	bool well = file >= 0;

	if (blocks < 1 || !(A >= 0))
		return 2;
	A = A > 0 ? A : INFINITY;
	for (uint32_t n = 0; n < ITEMS * WORDS; n++)
		raw[n / WORDS][n % WORDS] = n * 2654435769u;
	well = well && pwrite(file, raw, sizeof(raw), 0) == (ssize_t)sizeof(raw);
	for (size_t s = 0; s < STAGES; s++) {
		there[s] = all || !strcmp(argv[1], stages[s].name);
		for (uint32_t n = 0; n < ITEMS; n++)
			stages[s].run(stages[s].in[n], stages[s].out[n]);
		began = now_ns(CLOCK_THREAD_CPUTIME_ID);
		for (uint32_t i = 0; i < TRIAL; i++)
			stages[s].run(stages[s].in[i % ITEMS], stages[s].out[i % ITEMS]);
		host[s] = (now_ns(CLOCK_THREAD_CPUTIME_ID) - began) / TRIAL;
	}
	began = now_ns(CLOCK_THREAD_CPUTIME_ID);
	for (long b = 0; b < blocks && well; b++) {
		uint32_t n = (uint32_t)b % ITEMS;

		well = well && receive(file, raw[n], n);
		for (size_t s = 0; s < STAGES; s++)
			if (!there[s])
				stages[s].run(stages[s].in[n], stages[s].out[n]);
			else if (!all)
				device_takes(o + L * sizeof(raw[n]) + host[s] / A);
		if (all)
			device_takes(o + L * sizeof(raw[n]) + (host[0] + host[1] + host[2]) / A);
		well = well && hand_on(file, packed[n], n);
	}
	printf("%.1f %.1f %.1f %.1f\n", (now_ns(CLOCK_THREAD_CPUTIME_ID) - began) / (double)blocks, host[0], host[1],
	       host[2]);
	return well ? 0 : 1;
}
