// SPDX-License-Identifier: GPL-2.0-or-later
/* Process life that came while nobody read its rings: none of a followed process is lost, others' is not kept. */
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>

#include "kmod-free/sideband_kept.h"
#include "unit/unit.h"
#include "util/clock.h"

#define ROOM 8 /* records that a ring holds */
#define RINGS 2
#define SOON_NS 10000000000 /* 10 s, on a busy machine, for what takes 20 ms */

/* As the kernel's: what comes while it is full is lost. */
struct rings {
	pthread_mutex_t lock;
	struct sample held[RINGS][ROOM];
	unsigned count[RINGS], lost;
	uint64_t time;
};

static int empty_all(void *arg, sample_fn fn, void *ctx)
{
	struct rings *r = arg;
	int err = 0;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < RINGS; i++) {
		for (unsigned k = 0; k < r->count[i] && err >= 0; k++)
			err = fn(ctx, &r->held[i][k]);
		r->count[i] = 0;
	}
	pthread_mutex_unlock(&r->lock);
	return err;
}

static void put(struct rings *r, unsigned ring, enum sample_kind kind, uint32_t pid, uint32_t ppid)
{
	pthread_mutex_lock(&r->lock);
	if (r->count[ring] < ROOM)
		r->held[ring][r->count[ring]++] =
			(struct sample){ .kind = kind, .pid = pid, .tid = pid, .ppid = ppid, .time = r->time++ };
	else
		r->lost++;
	pthread_mutex_unlock(&r->lock);
}

static bool is_empty(struct rings *r)
{
	bool is;

	pthread_mutex_lock(&r->lock);
	is = !r->count[0] && !r->count[1];
	pthread_mutex_unlock(&r->lock);
	return is;
}

static void emptied(struct rings *r)
{
	uint64_t began = clock_now();

	while (!is_empty(r)) {
		assert_true(clock_now() - began < SOON_NS);
		usleep(1000);
	}
	/* what has just come is kept once it is older than what other rings may still hold */
	usleep(5000);
}

struct seen {
	unsigned of[32], all;
	uint64_t last;
	bool stops;
};

static int see(void *ctx, const struct sample *m)
{
	struct seen *s = ctx;

	assert_true(!s->all || m->time > s->last);
	s->last = m->time;
	s->all++;
	s->of[m->pid]++;
	return s->stops ? -5 : 0;
}

TEST(followed)
{
	struct rings r = { .lock = PTHREAD_MUTEX_INITIALIZER, .time = 100 };
	struct seen seen = { 0 };
	struct kept *k = kept_begin(empty_all, &r);

	assert_non_null(k);
	assert_int_equal(kept_follow(k, 10), 0);
	for (unsigned turn = 0; turn < 10; turn++) {
		put(&r, 0, SAMPLE_MMAP, 20, 0);
		put(&r, 1, SAMPLE_MMAP, 10, 0);
		put(&r, 0, SAMPLE_FORK, 21, 20); /* another's child */
		put(&r, 1, SAMPLE_EXIT, 21, 20);
		put(&r, 1, SAMPLE_COMM, 10, 0);
		emptied(&r);
	}
	/* its child, from another CPU, which is emptied first */
	put(&r, 1, SAMPLE_FORK, 11, 10);
	put(&r, 0, SAMPLE_MMAP, 11, 10);
	put(&r, 0, SAMPLE_FORK, 12, 11);
	put(&r, 1, SAMPLE_EXIT, 12, 11);
	emptied(&r);
	/* found later by another way, and followed from then on */
	put(&r, 0, SAMPLE_MMAP, 30, 1);
	emptied(&r);
	assert_int_equal(kept_follow(k, 30), 0);
	put(&r, 0, SAMPLE_MMAP, 30, 1);
	put(&r, 0, SAMPLE_MMAP, 20, 1);
	emptied(&r);
	put(&r, 0, SAMPLE_MMAP, 20, 1);
	emptied(&r);
	assert_int_equal(kept_end(k, see, &seen), 0);
	assert_int_equal(r.lost, 0);
	assert_int_equal(seen.of[10], 20);
	assert_int_equal(seen.of[11], 2);
	assert_int_equal(seen.of[12], 2);
	assert_int_equal(seen.of[30], 1);
	/* of the last moment it is not known whose it is */
	assert_in_range(seen.of[20] + seen.of[21], 0, 2);
}

TEST(all_of_it)
{
	struct rings r = { .lock = PTHREAD_MUTEX_INITIALIZER, .time = 100 };
	struct seen seen = { 0 }, stops = { .stops = true };
	struct kept *k = kept_begin(empty_all, &r);

	for (uint32_t pid = 1; pid <= 30; pid++) {
		put(&r, pid & 1, SAMPLE_MMAP, pid, 0);
		if (pid % 4 == 0)
			emptied(&r);
	}
	assert_int_equal(kept_end(k, see, &seen), 0);
	assert_int_equal(r.lost, 0);
	assert_int_equal(seen.all + r.count[0] + r.count[1], 30);
	/* a reader's error ends it, and nobody's reading is no error */
	k = kept_begin(empty_all, &r);
	put(&r, 0, SAMPLE_MMAP, 1, 0);
	emptied(&r);
	assert_int_equal(kept_end(k, see, &stops), -5);
	k = kept_begin(empty_all, &r);
	put(&r, 0, SAMPLE_MMAP, 1, 0);
	assert_int_equal(kept_end(k, NULL, NULL), 0);
}
