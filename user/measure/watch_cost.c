// SPDX-License-Identifier: GPL-2.0-or-later
/* What a watchpoint costs on this machine, measured on ourselves. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format.h"
#include "measure/price.h"
#include "measure/price_table.h"
#include "kmod-free/watch.h"
#include "util/clock.h"

#define HITS 16       /* of a round */
#define WAKING_HITS 8 /* of a window that wakes the recorder; by hand */
#define TURNS 4       /* of work from one hit to the next */

struct watch_cost_tried {
	struct watch *watch;
	volatile uint64_t probe;
	int slot;
};

static bool open_watch_window(void *ctx, int tid)
{
	struct watch_cost_tried *t = ctx;
	struct watch_request req = { .pid = getpid(),
				     .addr = (uint64_t)(uintptr_t)&t->probe,
				     .len = 1,
				     .time_limit_ns = 1000000000,
				     .write_time_ns = 1 };

	t->slot = watch_arm(t->watch, &req, &tid, 1, clock_now(), NULL);
	return t->slot >= 0;
}

static void hit_watch(void *ctx)
{
	((struct watch_cost_tried *)ctx)->probe = 1; /* one access, as ++ on a volatile is not */
}

static double end_window_after(struct watch_cost_tried *t, unsigned hits)
{
	watch_end(t->watch, t->slot, FMT_W_TIME, clock_now());
	return hits;
}

static double end_watch_window(void *ctx, uint64_t *at, unsigned max)
{
	return end_window_after(ctx, HITS);
}

static double end_waking(void *ctx, uint64_t *at, unsigned max)
{
	return end_window_after(ctx, WAKING_HITS);
}

static const struct trial hits = { .begin = open_watch_window,
				   .event = hit_watch,
				   .end = end_watch_window,
				   .pieces = HITS,
				   .turns = TURNS },
			  waking_hits = { .begin = open_watch_window,
					  .event = hit_watch,
					  .end = end_waking,
					  .pieces = WAKING_HITS,
					  .turns = TURNS };

static void ignore(void *ctx, const struct watch_window *win)
{
}

/* Sleeps as a recorder does until a hit wakes it, on another CPU. */
struct sleeper {
	int epoll, end;
	bool over;
};

static void *sleep_until_woken(void *ctx)
{
	struct sleeper *s = ctx;
	struct epoll_event ev;

	while (!__atomic_load_n(&s->over, __ATOMIC_ACQUIRE))
		if (epoll_wait(s->epoll, &ev, 1, -1) < 0 && errno != EINTR)
			break;
	return NULL;
}

/* Only edges: nobody takes what is there from the ring meanwhile. */
static bool add_edge_triggered(struct sleeper *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	return fd >= 0 && !epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* What a hit costs that wakes a sleeper; NAN: there is no CPU besides ours for that. */
static double waking_hit(struct watch_cost_tried *t)
{
	struct sleeper s = { .epoll = epoll_create1(EPOLL_CLOEXEC), .end = eventfd(0, EFD_CLOEXEC) };
	cpu_set_t allowed, here, there;
	uint64_t one = 1;
	double cost = NAN;
	pthread_t thread;
	int cpu = sched_getcpu();

	if (s.epoll < 0 || !add_edge_triggered(&s, s.end) || !add_edge_triggered(&s, watch_fd(t->watch)) || cpu < 0 ||
	    cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		goto out;
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	there = allowed;
	CPU_CLR(cpu, &there);
	/* the thread inherits it */
	if (!sched_setaffinity(0, sizeof(there), &there) && !pthread_create(&thread, NULL, sleep_until_woken, &s)) {
		sched_setaffinity(0, sizeof(here), &here);
		watch_wake_each(t->watch, true);
		cost = price_own(&waking_hits, t);
		watch_wake_each(t->watch, false);
		__atomic_store_n(&s.over, true, __ATOMIC_RELEASE);
		if (write(s.end, &one, sizeof(one)) == sizeof(one))
			pthread_join(thread, NULL);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
out:
	if (s.end >= 0)
		close(s.end);
	if (s.epoll >= 0)
		close(s.epoll);
	return cost;
}

void measure_watch(void *none, double *ns)
{
	struct watch_opts o = { .slots = 1, .hit_limit = WATCH_MAX_HITS, .switch_after = WATCH_MAX_HITS };
	struct watch_cost_tried t = { .watch = watch_new(&o, NULL, ignore, NULL, NULL) };

	ns[0] = ns[1] = ns[2] = NAN;
	if (!t.watch)
		return;
	ns[0] = price_own(&hits, &t);
	ns[1] = price_other(&hits, &t);
	ns[2] = waking_hit(&t) - ns[0];
	watch_free(t.watch);
}
