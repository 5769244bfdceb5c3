// SPDX-License-Identifier: GPL-2.0-or-later
/* What a watchpoint costs on this machine, measured on ourselves. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format.h"
#include "kmod-free/price.h"
#include "kmod-free/watch.h"

#define HITS 16 /* of a round */
#define TURNS 4 /* of work from one hit to the next */

struct trial {
	struct watch *watch;
	volatile uint64_t probe;
	int slot;
};

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool arm(void *ctx, int tid)
{
	struct trial *t = ctx;
	struct watch_request req = { .pid = getpid(), .addr = (uint64_t)(uintptr_t)&t->probe, .len = 1,
				     .time_limit_ns = 1000000000, .write_time_ns = 1 };

	t->slot = watch_arm(t->watch, &req, &tid, 1, clock_now(), NULL);
	return t->slot >= 0;
}

static bool arm_and_end(void *ctx, int tid)
{
	struct trial *t = ctx;

	if (!arm(ctx, tid))
		return false;
	watch_end(t->watch, t->slot, FMT_W_TIME, clock_now());
	return true;
}

static bool begin(void *ctx)
{
	return arm(ctx, (int)syscall(SYS_gettid));
}

static void hit(void *ctx)
{
	((struct trial *)ctx)->probe = 1; /* one access, as ++ on a volatile is not */
}

static double end(void *ctx)
{
	struct trial *t = ctx;

	watch_end(t->watch, t->slot, FMT_W_TIME, clock_now());
	return HITS;
}

static void ignore(void *ctx, const struct watch_window *win)
{
}

int watch_measure(struct watch_costs *out, struct err *e)
{
	struct watch_opts o = { .slots = 1, .hit_limit = WATCH_MAX_HITS, .switch_after = WATCH_MAX_HITS };
	struct trial t = { .watch = watch_new(&o, NULL, ignore, NULL, e) };
	struct price_own own = { .begin = begin, .event = hit, .end = end, .ctx = &t, .pieces = HITS, .turns = TURNS };

	out->hit_ns = out->arm_ns = NAN;
	if (!t.watch)
		return e ? e->code : -EOPNOTSUPP;
	out->hit_ns = price_own(&own);
	out->arm_ns = price_other(arm_and_end, &t);
	watch_free(t.watch);
	return 0;
}
