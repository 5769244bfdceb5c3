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
 *   storm    two threads with CALLS calls each, in a storm of signals whose handler calls it, too
 *   marker   CALLS begin/end pairs of accperf_probe.h, host and accelerated in turn
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

#define STORM_NS 100000

static timer_t timer;
static unsigned made; /* calls of both threads and of the handler */

/* The next signal is asked for when this one has been dealt with: on a slow machine, too, the program gets on. */
static void on_alarm(int signal)
{
	struct itimerspec next = { .it_value = { .tv_nsec = STORM_NS } };

	(void)signal;
	encode('p', data, 100);
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	timer_settime(timer, 0, &next, NULL);
}

static void *in_storm(void *calls)
{
	for (unsigned i = 0; i < *(const unsigned *)calls; i++) {
		encode('p', data, 100 * (i % 10 + 1));
		__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static int storm(unsigned calls)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerspec next = { .it_value = { .tv_nsec = STORM_NS } };
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	pthread_t other;

	if (sigaction(SIGALRM, &sa, NULL) || timer_create(CLOCK_MONOTONIC, &e, &timer) ||
	    timer_settime(timer, 0, &next, NULL) || pthread_create(&other, NULL, in_storm, &calls))
		return 1;
	in_storm(&calls);
	pthread_join(other, NULL);
	signal(SIGALRM, SIG_IGN);
	printf("{\"calls\":%u}\n", made);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
	unsigned long bytes = 0;

	if (!strcmp(mode, "storm"))
		return storm(calls);
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
