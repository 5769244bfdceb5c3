// cflags: -O2 -rdynamic
// libs: -lz
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A service that others pace: crc32 of 1 KB, RATE times a second by the clock, asleep between. A call that is late is
 * made up for at once, so probes slow nothing down. Prints how many calls it made and in what time.
 *
 *     off_paced RATE SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zlib.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned char data[1024] = { 1 };

/* The same under a name of its own, for --offload-probe. */
__attribute__((noipa)) unsigned long checksum(unsigned long crc, unsigned long bytes)
{
	return crc32(crc, data, (unsigned)bytes);
}

int main(int argc, char **argv)
{
	uint64_t rate = argc > 1 ? (uint64_t)atol(argv[1]) : 20000, seconds = argc > 2 ? (uint64_t)atol(argv[2]) : 10;
	uint64_t from = now(), calls = 0, due;
	unsigned long crc = 0;

	while (calls < rate * seconds) {
		due = (now() - from) * rate / 1000000000u;
		for (; calls < due && calls < rate * seconds; calls++)
			crc = checksum(crc, sizeof(data));
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
	printf("{\"calls\":%lu,\"ns\":%lu,\"crc\":%lu}\n", (unsigned long)calls, (unsigned long)(now() - from), crc);
	return 0;
}
