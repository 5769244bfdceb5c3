// SPDX-License-Identifier: GPL-2.0-or-later
// libs: -lz
/*
 * The demo's example service: two workers take log records, parse them, count them by key, compress
 * and checksum the batch. Runs for argv[1] seconds (default: until it is stopped). What each step
 * reads from which other step is plain from the code, so a profile of it can be judged by eye.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#define BATCH 65536
#define KEYS 4096
#define WORKERS 2

static atomic_bool stop;

struct worker {
	pthread_t thread;
	uint64_t seed, batches, bytes_out;
	uint32_t crc;
	char text[BATCH + 128];
	size_t text_len;
	uint32_t fields[BATCH / 8];
	size_t field_count;
	uint64_t counts[KEYS];
	uint8_t packed[BATCH + BATCH / 8];
	size_t packed_len;
	uint32_t crc_table[256];
};

static uint32_t random_u32(struct worker *w)
{
	w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(w->seed >> 33);
}

__attribute__((noinline)) static void receive_batch(struct worker *w)
{
	static const char *const verbs[] = { "GET", "PUT", "POST", "DELETE" };
	size_t n = 0;

	while (n < BATCH - 64) {
		uint32_t r = random_u32(w);
		const char *verb = verbs[r & 3];

		while (*verb)
			w->text[n++] = *verb++;
		w->text[n++] = ' ';
		for (uint32_t v = r >> 2, i = 0; i < 6; i++, v >>= 4)
			w->text[n++] = "0123456789abcdef"[v & 15];
		w->text[n++] = '\n';
	}
	w->text_len = n;
}

__attribute__((noinline)) static void parse_records(struct worker *w)
{
	uint32_t value = 0;

	w->field_count = 0;
	for (size_t i = 0; i < w->text_len; i++) {
		unsigned char c = (unsigned char)w->text[i];

		if (c == '\n') {
			w->fields[w->field_count++] = value;
			value = 0;
		} else {
			value = value * 31 + c;
		}
	}
}

__attribute__((noinline)) static void count_keys(struct worker *w)
{
	for (size_t i = 0; i < w->field_count; i++)
		w->counts[w->fields[i] % KEYS]++;
}

__attribute__((noinline)) static void compress_batch(struct worker *w)
{
	uLongf n = sizeof(w->packed);

	if (compress2(w->packed, &n, (const Bytef *)w->text, w->text_len, 1) != Z_OK)
		abort();
	w->packed_len = n;
}

__attribute__((noinline)) static void checksum_batch(struct worker *w)
{
	uint32_t c = ~0u;

	for (size_t i = 0; i < w->packed_len; i++)
		c = w->crc_table[(c ^ w->packed[i]) & 255] ^ (c >> 8);
	w->crc ^= ~c;
	w->bytes_out += w->packed_len;
}

static void *serve(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
		w->crc_table[i] = c;
	}
	while (!stop) {
		receive_batch(w);
		parse_records(w);
		count_keys(w);
		compress_batch(w);
		checksum_batch(w);
		w->batches++;
	}
	return NULL;
}

static void on_signal(int sig)
{
	stop = true;
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS];
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	struct timespec nap = { .tv_nsec = 20000000 };
	uint64_t batches = 0;

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	for (int i = 0; i < WORKERS; i++) {
		workers[i].seed = (uint64_t)i + 1;
		if (pthread_create(&workers[i].thread, NULL, serve, &workers[i]))
			return 1;
	}
	for (double t = 0; !stop && (seconds <= 0 || t < seconds); t += 0.02)
		nanosleep(&nap, NULL);
	stop = true;
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		batches += workers[i].batches;
	}
	printf("%llu batches\n", (unsigned long long)batches);
	return 0;
}
