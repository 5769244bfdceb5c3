// cflags: -O2 -rdynamic
// libs: -lz -lpthread
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An accelerator in use for calls of every size, which does not pay for most: `off_switch WAIT [SECONDS]`. The CRC of
 * the host goes by a table of bytes, the device's is zlib's in another thread, which is handed the buffer and answers
 * late. WAIT: `sleep` until it is done (a blocked call) or `spin`. One call in four runs on the host, as where a device
 * is busy. Prints what either takes at each size by the program's own clock, and from which size on the device is
 * quicker, as all larger ones are.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define SIZES 10 /* 512 B to 256 KB by octaves */
#define LARGEST (512u << 9)
#define ANSWERS_NS 40000 /* what a device behind a bus takes before it begins */
#define PAUSE_NS 1500000 /* between two calls: some 600 a second */
#define KEPT 256         /* times of each size, of which the median is taken */

static uint32_t table[256];
static unsigned char data[LARGEST];

static struct {
	sem_t posted, done;
	const void *buf;
	size_t bytes;
	uint32_t crc;
	bool spins;
	int begun, finished;
} mail;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *device(void *arg)
{
	(void)arg;
	for (;;) {
		double at;

		sem_wait(&mail.posted);
		at = now_ns();
		while (now_ns() < at + ANSWERS_NS)
			;
		mail.crc = (uint32_t)crc32(0, mail.buf, (uInt)mail.bytes);
		if (mail.spins)
			__atomic_store_n(&mail.finished, mail.begun, __ATOMIC_RELEASE);
		else
			sem_post(&mail.done);
	}
	return NULL;
}

__attribute__((noipa)) uint32_t crc_host(const unsigned char *buf, size_t bytes);
__attribute__((noipa)) uint32_t crc_host(const unsigned char *buf, size_t bytes)
{
	uint32_t c = ~0u;

	for (size_t i = 0; i < bytes; i++)
		c = c >> 8 ^ table[(c ^ buf[i]) & 255];
	return ~c;
}

__attribute__((noipa)) uint32_t crc_device(const unsigned char *buf, size_t bytes);
__attribute__((noipa)) uint32_t crc_device(const unsigned char *buf, size_t bytes)
{
	mail.buf = buf;
	mail.bytes = bytes;
	mail.begun++;
	sem_post(&mail.posted);
	if (!mail.spins)
		sem_wait(&mail.done);
	while (mail.spins && __atomic_load_n(&mail.finished, __ATOMIC_ACQUIRE) != mail.begun)
		;
	return mail.crc;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double kept[2][SIZES][KEPT], median[2][SIZES];
	unsigned count[2][SIZES] = { { 0 } };
	double seconds = argc > 2 ? atof(argv[2]) : 5, end = now_ns() + seconds * 1e9;
	uint64_t seed = 1, calls = 0, from = 0;
	pthread_t thread;

	mail.spins = argc > 1 && !strcmp(argv[1], "spin");
	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int k = 0; k < 8; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < LARGEST; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	if (sem_init(&mail.posted, 0, 0) || sem_init(&mail.done, 0, 0) || pthread_create(&thread, NULL, device, NULL))
		return 1;
	while (now_ns() < end) {
		unsigned size, where;
		double at;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		/* as services have them: fewer of larger sizes */
		size = (unsigned)((seed >> 20) % SIZES < (seed >> 40) % SIZES ? (seed >> 20) % SIZES
									      : (seed >> 40) % SIZES);
		where = (seed >> 60) % 4 != 0;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
		at = now_ns();
		(where ? crc_device : crc_host)(data, 512u << size);
		kept[where][size][count[where][size]++ % KEPT] = now_ns() - at;
		calls++;
	}
	printf("{\"calls\":%lu,\"sizes\":[", (unsigned long)calls);
	for (unsigned k = 0; k < SIZES; k++) {
		for (int w = 0; w < 2; w++) {
			unsigned n = count[w][k] < KEPT ? count[w][k] : KEPT;

			qsort(kept[w][k], n, sizeof(double), by_value);
			median[w][k] = n ? kept[w][k][n / 2] : 0;
		}
		if (!(median[1][k] < median[0][k]))
			from = 512u << (k + 1);
		printf("%s{\"bytes\":%u,\"host_ns\":%.0f,\"device_ns\":%.0f}", k ? "," : "", 512u << k, median[0][k],
		       median[1][k]);
	}
	printf("],\"from\":%lu}\n", (unsigned long)from);
	return 0;
}
