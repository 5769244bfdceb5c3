// SPDX-License-Identifier: GPL-2.0-or-later
/* What events cost a program that switches threads: two threads hand a byte to and fro, pinned to one CPU, with some
 * work between. For scripts/bench-switches. Prints CPU time in ns, switches, and nothing else.
 * 	switches EVENTS SWITCHES
 * EVENTS: none, thread (a timer on each thread), inherited (opened before the second thread was), dummy (one on each
 * thread), cpu (a timer per CPU); and behind it "+closed" (a breakpoint opened and closed on each thread), "+1" or
 * "+4" (so many breakpoints armed on each thread, on data that is never touched). */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HZ 199
#define WORK 90000 /* additions: some 30 us, so that switches are 30,000 a second */
#define MOST_BREAKPOINTS 4

static long switches;
static int to[2][2];
static uint64_t untouched[MOST_BREAKPOINTS];
static volatile uint64_t sink;
static const char *events;
static pthread_barrier_t ready;

/* cpu -1: of this thread; else of all on that CPU. */
static int open_event(uint32_t type, uint64_t config, uint64_t freq, int cpu, bool inherit, void *at)
{
	struct perf_event_attr a = { .type = type, .size = sizeof(a), .config = config, .inherit = inherit };
	int fd;

	a.freq = freq > 0;
	a.sample_freq = freq;
	if (at) {
		a.bp_type = HW_BREAKPOINT_W;
		a.bp_addr = (uint64_t)at;
		a.bp_len = HW_BREAKPOINT_LEN_8;
		a.sample_period = 1;
	}
	fd = (int)syscall(SYS_perf_event_open, &a, cpu < 0 ? 0 : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		perror("perf_event_open");
		exit(1);
	}
	return fd;
}

static void open_of_thread(void)
{
	const char *more = strchr(events, '+');
	int breakpoints = more ? !strcmp(more, "+closed") ? 1 : atoi(more + 1) : 0;

	if (!strncmp(events, "thread", 6))
		open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, HZ, -1, false, NULL);
	if (!strncmp(events, "dummy", 5))
		open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0, -1, false, NULL);
	for (int i = 0; i < breakpoints && i < MOST_BREAKPOINTS; i++) {
		int fd = open_event(PERF_TYPE_BREAKPOINT, 0, 0, -1, false, &untouched[i]);

		if (!strcmp(more, "+closed"))
			close(fd);
	}
}

static void *hand_over(void *arg)
{
	int me = arg != NULL;
	char c = 0;

	open_of_thread();
	pthread_barrier_wait(&ready);
	for (long i = 0; i < switches / 2; i++) {
		if ((me || i) && read(to[me][0], &c, 1) != 1)
			exit(1);
		for (int k = 0; k < WORK; k++)
			sink += (uint64_t)k;
		if (write(to[!me][1], &c, 1) != 1)
			exit(1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	pthread_t other;
	struct rusage u;

	if (argc != 3)
		return 2;
	events = argv[1];
	switches = atol(argv[2]);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(to[0]) || pipe(to[1]))
		return 1;
	if (!strncmp(events, "inherited", 9))
		open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, HZ, -1, true, NULL);
	for (int cpu = 0; !strncmp(events, "cpu", 3) && cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, HZ, cpu, false, NULL);
	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&other, NULL, hand_over, to))
		return 1;
	hand_over(NULL);
	pthread_join(other, NULL);
	if (getrusage(RUSAGE_SELF, &u))
		return 1;
	printf("%.0f %ld\n",
	       1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
	       u.ru_nvcsw + u.ru_nivcsw);
	return 0;
}
