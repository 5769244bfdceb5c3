// SPDX-License-Identifier: GPL-2.0-or-later
/* Hits of our own, to see whether one sends a stray signal. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kmod-free/idle_cpu.h"
#include "kmod-free/stray_trap.h"
#include "kmod-free/stray_trap_cache.h"
#include "util/cachedir.h"
#include "util/clock.h"

#define PIECE 1000     /* hits; then it is looked at whether they came */
#define GLANCE 64      /* hits, a millisecond; then others may want the CPU; by hand */
#define MOST_THREADS 4 /* CPUs that try at once; by hand */
/* between two notes of the hits so far: an interrupted trial loses these five seconds; by hand */
#define KEEP_NS 5000000000ull
#define CPUS_EACH 2 /* of a thread: others want some, too */

struct stray_trial {
	pthread_t thread[MOST_THREADS];
	unsigned threads;
	bool idle, stop;
	int failed; /* errno of a thread; ENODATA: hits did not come */
	unsigned ended;
	uint64_t hits, signals_before; /* of this trial; of this process, before it */
	struct stray_known before;
	uint64_t kept, kept_at, signals_kept;
	int lock; /* the cache's folder; -1: there is none, and nothing to lock */
};

static __attribute__((noinline, noclone)) void stray_trap_trial_reached(void)
{
	__asm__ volatile("" ::: "memory");
}

static int arm(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)stray_trap_trial_reached,
		.bp_len = sizeof(long),
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool over(struct stray_trial *t)
{
	return __atomic_load_n(&t->stop, __ATOMIC_RELAXED) || stray_own() > t->signals_before ||
	       t->before.hits + __atomic_load_n(&t->hits, __ATOMIC_RELAXED) >= STRAY_ENOUGH;
}

/* Hits a PIECE; idle: where others want the CPU, goes on when one lies idle. */
static void hit_piece(struct stray_trial *t, struct idle_cpu *idle)
{
	for (unsigned i = 0; i < PIECE; i++) {
		while (idle && !(i % GLANCE) && !idle_cpu_still(idle))
			do
				if (over(t))
					return;
			while (!idle_cpu_wait(idle, &t->stop));
		stray_trap_trial_reached();
	}
}

static int hit_until_over(struct stray_trial *t, int fd, struct idle_cpu *idle)
{
	uint64_t seen = 0, now;

	while (idle && !over(t) && !idle_cpu_wait(idle, &t->stop))
		;
	while (!over(t)) {
		hit_piece(t, idle);
		if (read(fd, &now, sizeof(now)) != sizeof(now))
			return errno;
		__atomic_add_fetch(&t->hits, now - seen, __ATOMIC_RELAXED);
		if (now - seen < PIECE / 2 && !over(t))
			return ENODATA;
		seen = now;
	}
	return 0;
}

static void *try_out(void *ctx)
{
	struct stray_trial *t = ctx;
	struct sched_param none = { 0 };
	struct idle_cpu idle;
	int fd, failed;

	prctl(PR_SET_NAME, "accperf-trial");
	idle_cpu_init(&idle);
	if (t->idle)
		sched_setscheduler(0, SCHED_IDLE, &none);
	fd = arm();
	failed = fd < 0 ? errno : hit_until_over(t, fd, t->idle ? &idle : NULL);
	idle_cpu_release(&idle);
	if (failed)
		__atomic_store_n(&t->failed, failed, __ATOMIC_RELAXED);
	if (fd >= 0)
		close(fd);
	__atomic_add_fetch(&t->ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

unsigned stray_trial_threads(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) / CPUS_EACH;

	return cpus < 1 ? 1 : cpus > MOST_THREADS ? MOST_THREADS : (unsigned)cpus;
}

struct stray_trial *stray_trial_new(unsigned threads, bool idle, struct err *e)
{
	struct stray_trial *t = calloc(1, sizeof(*t));
	int rc = ENOMEM;

	if (!t) {
		err_set(e, -ENOMEM, "out of memory");
		return NULL;
	}
	t->idle = idle;
	t->lock = cachedir_open(STRAY_CACHE);
	if (t->lock >= 0 && flock(t->lock, LOCK_EX | LOCK_NB)) {
		err_set(e, -EBUSY, "another process is trying out hardware breakpoints");
		goto fail;
	}
	stray_guard();
	stray_read(&t->before);
	t->signals_before = stray_own();
	t->kept_at = clock_now();
	while (t->threads < threads && t->threads < MOST_THREADS &&
	       !(rc = pthread_create(&t->thread[t->threads], NULL, try_out, t)))
		t->threads++;
	if (t->threads)
		return t;
	err_set(e, -rc, "cannot try out hardware breakpoints: %s", strerror(rc));
fail:
	stray_trial_free(t);
	return NULL;
}

static void keep(struct stray_trial *t)
{
	uint64_t hits = __atomic_load_n(&t->hits, __ATOMIC_RELAXED), signals = stray_own() - t->signals_before;

	if (signals > t->signals_kept)
		stray_found(signals - t->signals_kept);
	if (hits > t->kept)
		stray_cache_put(STRAY_HITS, t->before.hits + hits);
	t->signals_kept = signals;
	t->kept = hits;
	t->kept_at = clock_now();
}

bool stray_trial_look(struct stray_trial *t, struct stray_known *now, struct err *e)
{
	bool ended = __atomic_load_n(&t->ended, __ATOMIC_ACQUIRE) == t->threads;
	int failed = __atomic_load_n(&t->failed, __ATOMIC_RELAXED);

	*now = t->before;
	now->hits += __atomic_load_n(&t->hits, __ATOMIC_RELAXED);
	now->signals += stray_own() - t->signals_before;
	if (ended || clock_now() - t->kept_at > KEEP_NS)
		keep(t);
	if (ended && failed)
		err_set(e, -failed, failed == ENODATA ? "hits do not come" : "%s", strerror(failed));
	return !ended;
}

void stray_trial_free(struct stray_trial *t)
{
	struct sched_param none = { 0 };

	if (!t)
		return;
	__atomic_store_n(&t->stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < t->threads; i++) {
		/* who is idle may not get to see that for long */
		pthread_setschedparam(t->thread[i], SCHED_OTHER, &none);
		pthread_join(t->thread[i], NULL);
	}
	if (t->threads)
		keep(t);
	if (t->lock >= 0)
		close(t->lock);
	free(t);
}
