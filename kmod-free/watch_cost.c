// SPDX-License-Identifier: GPL-2.0-or-later
/* What a watchpoint costs on this machine, measured on ourselves: the hit by storing to a watched
 * variable, arming and disarming by how long they keep another running thread from its work. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format.h"
#include "kmod-free/watch.h"

#define HIT_ROUNDS 5
#define HITS 64
#define ARM_ROUNDS 25
#define ENOUGH_ROUNDS 7
#define GAP_NS 400 /* reading the clock takes some 30 to 60 */
#define GIVE_UP_NS 50000000ull

static uint64_t clock_of(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t clock_now(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* What else runs on the machine can only add to a measurement: the lower quartile, not the median. */
static double lower_quartile(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 4];
}

static double measure_hit(struct watch *w)
{
	volatile uint64_t probe = 0;
	struct watch_request req = { .pid = getpid(), .addr = (uint64_t)(uintptr_t)&probe, .len = 1,
				     .time_limit_ns = 1000000000, .write_time_ns = 1 };
	int tid = (int)syscall(SYS_gettid);
	double cost[HIT_ROUNDS];
	unsigned n = 0;

	for (unsigned i = 0; i < HIT_ROUNDS; i++) {
		uint64_t t = clock_now();
		int slot = watch_arm(w, &req, &tid, 1, t, NULL);

		if (slot < 0)
			break;
		t = clock_of(CLOCK_THREAD_CPUTIME_ID);
		for (unsigned k = 0; k < HITS; k++)
			probe = k;
		cost[n++] = (double)(clock_of(CLOCK_THREAD_CPUTIME_ID) - t) / HITS;
		watch_end(w, slot, FMT_W_TIME, clock_now());
	}
	return n == HIT_ROUNDS ? lower_quartile(cost, n) : NAN;
}

/* A thread that does nothing but notice when it was kept from doing so. */
struct victim {
	int tid; /* 0: not running yet */
	bool stop;
	uint64_t turns, lost_ns;
};

static void *be_victim(void *arg)
{
	struct victim *v = arg;
	uint64_t last = clock_now();

	__atomic_store_n(&v->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&v->stop, __ATOMIC_RELAXED)) {
		uint64_t now = clock_now();

		if (now - last > GAP_NS)
			__atomic_store_n(&v->lost_ns, v->lost_ns + now - last, __ATOMIC_RELAXED);
		__atomic_store_n(&v->turns, v->turns + 1, __ATOMIC_RELEASE);
		last = now;
	}
	return NULL;
}

/* Until it went on after what we did to it; false: it does not run while we do. */
static bool wait_turn(struct victim *v, uint64_t until)
{
	uint64_t turns = __atomic_load_n(&v->turns, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&v->turns, __ATOMIC_ACQUIRE) < turns + 3)
		if (clock_now() > until)
			return false;
	return true;
}

static double measure_arm(struct watch *w)
{
	static volatile uint64_t untouched;
	struct watch_request req = { .pid = getpid(), .addr = (uint64_t)(uintptr_t)&untouched, .len = 1,
				     .time_limit_ns = 1000000000, .write_time_ns = 1 };
	uint64_t until = clock_now() + GIVE_UP_NS;
	struct victim v = { 0 };
	double cost[ARM_ROUNDS];
	cpu_set_t allowed, here, there;
	pthread_t thread;
	unsigned n = 0;
	int cpu = sched_getcpu();

	/* the two must not share a CPU */
	if (sched_getaffinity(0, sizeof(allowed), &allowed) || cpu < 0 || cpu >= CPU_SETSIZE || CPU_COUNT(&allowed) < 2)
		return NAN;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	there = allowed;
	CPU_CLR(cpu, &there);
	if (sched_setaffinity(0, sizeof(there), &there) || pthread_create(&thread, NULL, be_victim, &v)) {
		sched_setaffinity(0, sizeof(allowed), &allowed);
		return NAN;
	}
	sched_setaffinity(0, sizeof(here), &here);
	while (!__atomic_load_n(&v.tid, __ATOMIC_ACQUIRE) && clock_now() < until)
		sched_yield();
	for (int i = 0; v.tid && i < ARM_ROUNDS; i++) {
		uint64_t lost, t;
		int slot;

		/* a short wait each: both run at once, or the round says nothing */
		t = clock_now();
		if (t > until)
			break;
		if (!wait_turn(&v, t + 20000)) {
			usleep(200);
			i--;
			continue;
		}
		lost = __atomic_load_n(&v.lost_ns, __ATOMIC_RELAXED);
		slot = watch_arm(w, &req, &v.tid, 1, t, NULL);
		if (slot < 0)
			break;
		watch_end(w, slot, FMT_W_TIME, clock_now());
		if (!wait_turn(&v, clock_now() + 20000))
			continue;
		cost[n++] = (double)(__atomic_load_n(&v.lost_ns, __ATOMIC_RELAXED) - lost);
	}
	__atomic_store_n(&v.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof(allowed), &allowed);
	return n >= ENOUGH_ROUNDS ? lower_quartile(cost, n) : NAN;
}

static void ignore(void *ctx, const struct watch_window *win)
{
}

int watch_measure(struct watch_costs *out, struct err *e)
{
	struct watch_opts o = { .slots = 1, .hit_limit = WATCH_MAX_HITS, .switch_after = WATCH_MAX_HITS };
	struct watch *w = watch_new(&o, NULL, ignore, NULL, e);

	out->hit_ns = out->arm_ns = NAN;
	if (!w)
		return e ? e->code : -EOPNOTSUPP;
	out->hit_ns = measure_hit(w);
	out->arm_ns = measure_arm(w);
	watch_free(w);
	return 0;
}
