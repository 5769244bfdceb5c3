// SPDX-License-Identifier: GPL-2.0-or-later
#include "kmod-free/sideband_kept.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "kmod-free/queue.h"
#include "util/clock.h"
#include "util/map.h"

/* 10 ms: a ring of 256 KB takes 25 MB a second then; a CPU that starts programs as fast as it can writes 2, and where
 * CPUs are short a thread is called late. By hand. */
#define LOOK_NS 10000000
#define KEPT_MOST 4194304  /* bytes; beyond them the rings overflow and tell of it. By hand: some 20,000 records */
#define STACK (256u << 10) /* bytes: a stack counts in a recorder's limit of memory */

struct kept {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool ends, filtered;
	kept_empty_fn empty;
	void *rings;
	struct queue *raw, *wanted;
	struct map followed;
	int err;
};

static int keep_wanted(void *ctx, const struct sample *m)
{
	struct kept *k = ctx;

	if (!k->filtered)
		return queue_push(k->wanted, m);
	if (m->kind == SAMPLE_FORK && map_get(&k->followed, m->ppid) && !map_put(&k->followed, m->pid, NULL))
		return -ENOMEM;
	return map_get(&k->followed, m->pid) ? queue_push(k->wanted, m) : 0;
}

static void sideband_kept_look(struct kept *k)
{
	uint64_t now = clock_now();

	if (k->err < 0 || queue_bytes(k->wanted) > KEPT_MOST)
		return;
	k->err = k->empty(k->rings, queue_push, k->raw);
	if (k->err >= 0)
		k->err = queue_flush(k->raw, now - SETTLE_NS, keep_wanted, k);
}

static void *sideband_kept_look_in_turns(void *arg)
{
	struct kept *k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->ends) {
		uint64_t next = clock_now() + LOOK_NS;
		struct timespec at = { .tv_sec = (time_t)(next / 1000000000), .tv_nsec = (long)(next % 1000000000) };

		pthread_cond_timedwait(&k->over, &k->lock, &at);
		sideband_kept_look(k);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static void sideband_kept_release(struct kept *k)
{
	queue_free(k->raw);
	queue_free(k->wanted);
	map_release(&k->followed);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->over);
	free(k);
}

/* Signals are for the thread that has handlers for them in mind. */
static int start(struct kept *k)
{
	pthread_attr_t small;
	sigset_t all, before;
	int err;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&k->thread, &small, sideband_kept_look_in_turns, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&small);
	return err;
}

struct kept *kept_begin(kept_empty_fn empty, void *rings)
{
	struct kept *k = calloc(1, sizeof(*k));
	pthread_condattr_t attr;

	if (!k)
		return NULL;
	k->empty = empty;
	k->rings = rings;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->over, &attr);
	pthread_condattr_destroy(&attr);
	k->raw = queue_new();
	k->wanted = queue_new();
	if (!k->raw || !k->wanted || start(k)) {
		sideband_kept_release(k);
		return NULL;
	}
	return k;
}

int kept_follow(struct kept *k, uint32_t pid)
{
	int err = 0;

	pthread_mutex_lock(&k->lock);
	k->filtered = true;
	if (!map_put(&k->followed, pid, NULL))
		err = -ENOMEM;
	pthread_mutex_unlock(&k->lock);
	return err;
}

int kept_end(struct kept *k, sample_fn fn, void *ctx)
{
	int err;

	pthread_mutex_lock(&k->lock);
	k->ends = true;
	pthread_cond_signal(&k->over);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	err = k->err < 0 ? k->err : 0;
	if (fn && !err)
		err = queue_flush(k->wanted, UINT64_MAX, fn, ctx);
	/* whose the last moment's are is not known yet: a fork may still be in a ring that was emptied before it */
	if (fn && err >= 0)
		err = queue_flush(k->raw, UINT64_MAX, fn, ctx);
	sideband_kept_release(k);
	return err < 0 ? err : 0;
}
