// cflags: -O2 -rdynamic
// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Own functions to probe: `off_own MODE [CALLS]`.
 *   plain    CALLS calls of encode(ctx, buf, bytes), bytes 100, 200, ... 1000 and round again
 *   exit     the last call ends the process inside
 *   threads  CALLS threads, each ends inside its call
 *   jump     every second call leaves by longjmp
 *   stay     the last call makes the file "inside" and returns when there is a file "leave"
 *   recurse  each call calls itself twice more
 *   marker   CALLS begin/end pairs of accperf_probe.h, host and accelerated in turn
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accperf_probe.h"

static jmp_buf back;
static volatile unsigned sink;

static void stay(void)
{
	close(creat("inside", 0600));
	for (int tenths = 0; access("leave", F_OK) && tenths < 1200; tenths++)
		usleep(100000);
}

__attribute__((noipa)) int encode(int how, const unsigned char *buf, unsigned long bytes);
__attribute__((noipa)) int encode(int how, const unsigned char *buf, unsigned long bytes)
{
	for (unsigned long i = 0; i < bytes; i++)
		sink += buf[i];
	switch (how) {
	case 'e': _exit(0);
	case 't': pthread_exit(NULL);
	case 'y': stay(); break;
	case 'j': longjmp(back, 1);
	case 'r': return encode('s', buf, bytes) + 1;
	case 's': return encode('p', buf, bytes) + 1;
	}
	return 0;
}

static unsigned char data[2000];

static void *thread(void *arg)
{
	encode('t', data, 100);
	return arg;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
	unsigned long bytes = 0;

	for (unsigned i = 0; i < calls; i++) {
		unsigned long n = 100 * (i % 10 + 1);

		if (!strcmp(mode, "plain")) {
			encode('p', data, n);
		} else if (!strcmp(mode, "exit")) {
			if (i + 1 == calls) {
				printf("{\"calls\":%u,\"in\":%lu,\"open\":1}\n", i, bytes);
				fflush(stdout);
			}
			encode(i + 1 == calls ? 'e' : 'p', data, n);
		} else if (!strcmp(mode, "stay")) {
			encode(i + 1 == calls ? 'y' : 'p', data, n);
		} else if (!strcmp(mode, "threads")) {
			pthread_t t;

			pthread_create(&t, NULL, thread, NULL);
			pthread_join(t, NULL);
			continue;
		} else if (!strcmp(mode, "jump")) {
			if (!setjmp(back))
				encode(i % 2 ? 'j' : 'p', data, n);
			if (i % 2)
				continue;
		} else if (!strcmp(mode, "recurse")) {
			encode('r', data, n);
		} else if (!strcmp(mode, "marker")) {
			if (i % 2) {
				ACCPERF_BEGIN_HOST(pack, n);
				encode('p', data, n);
				ACCPERF_END(pack, n / 2);
			} else {
				ACCPERF_BEGIN_ACCELERATED(pack, n);
				encode('p', data, n);
				ACCPERF_END(pack, n / 2);
			}
		} else {
			return 2;
		}
		bytes += n;
	}
	if (!strcmp(mode, "threads"))
		printf("{\"calls\":0,\"in\":0,\"open\":%u}\n", calls);
	else
		printf("{\"calls\":%u,\"in\":%lu,\"open\":0}\n", !strcmp(mode, "jump") ? (calls + 1) / 2 : calls,
		       bytes);
	return 0;
}
