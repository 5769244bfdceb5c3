// SPDX-License-Identifier: GPL-2.0-or-later
/* What a perf event on a thread takes from it at each context switch, measured on ourselves: two threads that pass a
 * token to and fro on one CPU, with and without. */

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure/price.h"
#include "measure/price_table.h"
#include "util/clock.h"

#define ROUNDS 15          /* odd, for a median */
#define ATTACHED_ROUNDS 31 /* the difference is small: with work between, it drowns */
/* With work between switches. Of sixteen threads on one CPU: 0.26 us, where this told 0.15. */
#define AT_WORK 1.5
#define TURNS 60           /* of two switches each; a round is short, so that few are disturbed */
#define MOST_NS 50000.0    /* of one switch: more was disturbed */
#define SOON_NS 500000     /* before the scheduler's next tick, mostly */
#define LATE_NS 1000000000 /* a period that no switch meets: the event is there, and does not fire */

struct partner {
	int here, there; /* eventfds: the token comes, goes */
	int tid;
	unsigned work; /* turns of it between switches: without, all that a switch touches is in the caches */
};

static bool pass_token(int fd)
{
	uint64_t one = 1;

	return write(fd, &one, sizeof(one)) == sizeof(one);
}

static bool await(int fd)
{
	uint64_t v;

	return read(fd, &v, sizeof(v)) == sizeof(v);
}

/* Until the other end passes two tokens at once. */
static void *be_partner(void *arg)
{
	struct partner *p = arg;
	uint64_t v;

	p->tid = (int)syscall(SYS_gettid);
	do {
		price_work(p->work);
		pass_token(p->there);
	} while (read(p->here, &v, sizeof(v)) == sizeof(v) && v == 1);
	return NULL;
}

static double switches_round_ns(struct partner *p)
{
	/* of both threads, and of nobody else */
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < TURNS; i++) {
		if (!pass_token(p->here) || !await(p->there))
			return NAN;
		price_work(p->work);
	}
	return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began);
}

static double rounds(struct partner *p, struct perf_event_attr *attr)
{
	int tids[2] = { (int)syscall(SYS_gettid), p->tid };
	double cost[ROUNDS];
	unsigned n = 0;

	attr->size = sizeof(*attr);
	for (unsigned i = 0; i < ROUNDS; i++) {
		double without = switches_round_ns(p), with = NAN;
		int fd[2];

		for (unsigned k = 0; k < 2; k++)
			fd[k] = (int)syscall(SYS_perf_event_open, attr, tids[k], -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd[0] >= 0 && fd[1] >= 0)
			with = switches_round_ns(p);
		for (unsigned k = 0; k < 2; k++)
			if (fd[k] >= 0)
				close(fd[k]);
		if (isfinite(with - without))
			cost[n++] = (with - without) / (2 * TURNS);
	}
	if (n < ROUNDS / 2)
		return NAN;
	qsort(cost, n, sizeof(cost[0]), by_double);
	return cost[n / 2] > 0 && cost[n / 2] < MOST_NS ? cost[n / 2] : NAN;
}

/* The thread runs where the caller may. */
static bool start_partner(struct partner *p, pthread_t *thread)
{
	p->here = eventfd(0, EFD_CLOEXEC);
	p->there = eventfd(0, EFD_CLOEXEC);
	return p->here >= 0 && p->there >= 0 && !pthread_create(thread, NULL, be_partner, p) && await(p->there);
}

static void stop_partner(struct partner *p, pthread_t thread, bool started)
{
	uint64_t two = 2;

	if (started && write(p->here, &two, sizeof(two)) == sizeof(two))
		pthread_join(thread, NULL);
	if (p->here >= 0)
		close(p->here);
	if (p->there >= 0)
		close(p->there);
}

/* One CPU for us and for the threads we make, so that passing the token is switching. */
static bool pin_to_one(cpu_set_t *allowed)
{
	int cpu = sched_getcpu();
	cpu_set_t here;

	CPU_ZERO(&here);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*allowed), allowed))
		return false;
	CPU_SET(cpu, &here);
	return !sched_setaffinity(0, sizeof(here), &here);
}

static double measure_with_event(struct perf_event_attr *attr, unsigned work)
{
	struct partner p = { .work = work };
	double cost = NAN;
	cpu_set_t allowed;
	pthread_t thread;
	bool started;

	if (!pin_to_one(&allowed))
		return NAN;
	started = start_partner(&p, &thread);
	if (started)
		cost = rounds(&p, attr);
	stop_partner(&p, thread, started);
	sched_setaffinity(0, sizeof(allowed), &allowed);
	return cost;
}

static int open_dummy(int tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof(attr), .exclude_kernel = 1
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A thread that once had an event against one that never had, by turns. */
static double rounds_attached(struct partner *never, struct partner *once)
{
	double cost[ATTACHED_ROUNDS];
	unsigned n = 0;

	switches_round_ns(never);
	switches_round_ns(once);
	for (unsigned i = 0; i < ATTACHED_ROUNDS; i++) {
		double without = switches_round_ns(never), with = switches_round_ns(once);

		/* one of the two threads of a turn is of interest: it is switched to once, and away once */
		if (isfinite(with - without))
			cost[n++] = (with - without) / TURNS;
	}
	if (n < ATTACHED_ROUNDS / 2)
		return NAN;
	qsort(cost, n, sizeof(cost[0]), by_double);
	return cost[n / 2] < MOST_NS ? fmax(cost[n / 2] * AT_WORK, 0) : NAN;
}

static double of_breakpoint(void)
{
	static volatile uint64_t untouched;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.sample_period = 1,
		.exclude_hv = 1,
		.exclude_kernel = 1,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)(uintptr_t)&untouched,
		.bp_len = 1,
	};

	return measure_with_event(&attr, 1);
}

static double of_timer(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SOON_NS,
		.exclude_kernel = 1,
	};
	/* with work it would expire */
	double soon = measure_with_event(&attr, 0);

	attr.sample_period = LATE_NS;
	return (soon + measure_with_event(&attr, 0)) / 2;
}

static double of_attached(void)
{
	int tid = (int)syscall(SYS_gettid), attached = open_dummy(tid), fd;
	struct partner never = { 0 }, once = { 0 };
	pthread_t threads[2];
	double cost = NAN;
	cpu_set_t allowed;

	if (attached >= 0 && pin_to_one(&allowed)) {
		bool started[2];

		started[0] = start_partner(&never, &threads[0]);
		started[1] = start_partner(&once, &threads[1]);
		fd = started[0] && started[1] ? open_dummy(once.tid) : -1;
		if (fd >= 0) {
			close(fd);
			cost = rounds_attached(&never, &once);
		}
		stop_partner(&never, threads[0], started[0]);
		stop_partner(&once, threads[1], started[1]);
		sched_setaffinity(0, sizeof(allowed), &allowed);
	}
	if (attached >= 0)
		close(attached);
	return cost;
}

void measure_switch_breakpoint(void *none, double *ns)
{
	*ns = of_breakpoint();
}

void measure_switch_timer(void *none, double *ns)
{
	*ns = of_timer();
}

void measure_switch_attached(void *none, double *ns)
{
	*ns = of_attached();
}
